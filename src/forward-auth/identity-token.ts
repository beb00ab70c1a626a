import { createECDH, createHash } from 'node:crypto'
import { calculateJwkThumbprint, importJWK, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import { type LabelledKey, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import type { Session } from '../session/session.ts'
import type { NamedAccess } from './named-access.ts'

export interface IdentityTokensOptions {
  readonly masterKeys: MasterKeys
  /** PUBLIC_URL. */
  readonly issuer: string
  readonly now: () => number
}

/** What the request asks for. */
export interface RequestedClaims extends NamedAccess {
  readonly email?: string | undefined
  readonly name?: string | undefined
}

export type IdentityTokens = ReturnType<typeof createIdentityTokens>

const ALG = 'ES256'
const LIFETIME_SECONDS = 60
/** A token is used again for this time, as a signature costs more than the rest of the request. */
const REUSE_SECONDS = 30
/** Of the issued tokens and their claims: some ten thousand without groups. */
const MAX_ISSUED_CHARS = 8_000_000

/**
 * JSON Web Tokens (RFC 7519) that name the user of a session, signed with ES256. The keys are
 * derived from the master keys, so all replicas sign with the same ones.
 */
export function createIdentityTokens({ masterKeys, issuer, now }: IdentityTokensOptions) {
  const [first, ...rest] = labelledKeys(masterKeys, 'sign/identity-token')
  const newest = toSigningKey(first)
  const all = Promise.all([newest, ...rest.map(toSigningKey)])
  const issued = new LRUCache<string, { readonly token: string; readonly iat: number }>({
    maxSize: MAX_ISSUED_CHARS,
    sizeCalculation: ({ token }, name) => name.length + token.length,
  })

  return {
    /** The JWK Set (RFC 7517) with the public key of each master key. */
    keySet: async () => ({ keys: (await all).map(({ publicJwk }) => publicJwk) }),

    async issue(session: Session, aud: string, requested: RequestedClaims = {}): Promise<string> {
      const { userId: sub, publicId: sid, login, amr, authenticatedAtMs } = session
      const iat = Math.floor(now() / 1000)
      const claims = {
        iss: issuer,
        aud,
        sub,
        sid,
        preferred_username: login,
        amr,
        auth_time: Math.floor(authenticatedAtMs / 1000),
        ...requested,
      }
      const name = JSON.stringify(claims)
      const last = issued.get(name)
      if (last !== undefined && iat - last.iat < REUSE_SECONDS && iat >= last.iat) return last.token
      const { key, kid } = await newest
      const token = await new SignJWT({ ...claims, iat, exp: iat + LIFETIME_SECONDS })
        .setProtectedHeader({ alg: ALG, typ: 'JWT', kid })
        .sign(key)
      issued.set(name, { token, iat })
      return token
    },
  }
}

/** The order of the group of P-256 (NIST SP 800-186). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** A P-256 key whose private part is derived from this secret. */
async function toSigningKey({ key: secret }: LabelledKey) {
  // with 256 additional bits, so that the rest is uniform (FIPS 186-5, A.2.1)
  const wide = createHash('sha512').update(secret.export()).digest('hex')
  const d = ((BigInt(`0x${wide}`) % (ORDER - 1n)) + 1n).toString(16).padStart(64, '0')
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(d, 'hex')
  const point = ecdh.getPublicKey()
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.toString('base64url', 1, 33),
    y: point.toString('base64url', 33),
  }
  const kid = await calculateJwkThumbprint(jwk) // RFC 7638
  const key = await importJWK({ ...jwk, d: Buffer.from(d, 'hex').toString('base64url') }, ALG)
  return { key, kid, publicJwk: { ...jwk, kid, alg: ALG, use: 'sig' } }
}
