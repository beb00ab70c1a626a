import { createECDH, createHash, createPrivateKey, createPublicKey, type JsonWebKey, sign } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type LabelledKey, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import type { Session } from '../session/session.ts'

export interface IdentityTokensOptions {
  readonly masterKeys: MasterKeys
  /** PUBLIC_URL. */
  readonly issuer: string
  readonly now: () => number
}

/** Names of groups and roles, as far as the request asks for them. */
export interface AccessClaims {
  readonly groups?: readonly string[]
  readonly roles?: readonly string[]
}

export type IdentityTokens = ReturnType<typeof createIdentityTokens>

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
  const issued = new LRUCache<string, { readonly token: string; readonly iat: number }>({
    maxSize: MAX_ISSUED_CHARS,
    sizeCalculation: ({ token }, name) => name.length + token.length,
  })

  return {
    /** The JWK Set (RFC 7517) with the public key of each master key. */
    keySet: { keys: [newest, ...rest.map(toSigningKey)].map(({ publicJwk }) => publicJwk) },

    issue(session: Session, aud: string, access: AccessClaims = {}): string {
      const { userId: sub, publicId: sid, amr, authenticatedAtMs } = session
      const iat = Math.floor(now() / 1000)
      const auth_time = Math.floor(authenticatedAtMs / 1000)
      const name = JSON.stringify([sub, sid, aud, amr, auth_time, access])
      const last = issued.get(name)
      if (last !== undefined && iat - last.iat < REUSE_SECONDS && iat >= last.iat) return last.token
      const claims = {
        iss: issuer,
        aud,
        sub,
        sid,
        amr,
        auth_time,
        ...access,
        iat,
        exp: iat + LIFETIME_SECONDS,
      }
      const token = newest.sign(claims)
      issued.set(name, { token, iat })
      return token
    },
  }
}

/** The order of the group of P-256 (NIST SP 800-186). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** A P-256 key whose private part is derived from this secret. */
function toSigningKey({ key: secret }: LabelledKey) {
  const wide = createHash('sha512').update(secret.export()).digest('hex') // with 256 additional bits, so that the rest is uniform (FIPS 186-5, A.2.1)
  const d = ((BigInt(`0x${wide}`) % (ORDER - 1n)) + 1n).toString(16).padStart(64, '0')
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(d, 'hex')
  const point = ecdh.getPublicKey()
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((bytes) => bytes.toString('base64url'))
  const jwk = { kty: 'EC', crv: 'P-256', x, y } as JsonWebKey
  const key = createPrivateKey({
    key: { ...jwk, d: Buffer.from(d, 'hex').toString('base64url') },
    format: 'jwk',
  })
  const thumbprint = JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x, y }) // RFC 7638
  const kid = createHash('sha256').update(thumbprint).digest('base64url')
  const header = encode({ alg: 'ES256', typ: 'JWT', kid })
  return {
    publicJwk: { ...createPublicKey(key).export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' },
    sign(claims: object): string {
      const input = `${header}.${encode(claims)}`
      const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
      return `${input}.${signature.toString('base64url')}`
    },
  }
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
