import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { PublicJwk } from '../../src/session/bound-session-proof.ts'

/** The key of a browser, in software: how a browser proves that it has it. */
export interface BrowserKey {
  readonly alg: string
  readonly jwk: PublicJwk
  /** `Secure-Session-Response`. Members that are `undefined` are left out. */
  prove(challenge: string, changed?: ChangedProof): string
}

export interface ChangedProof {
  readonly header?: Readonly<Record<string, unknown>>
  readonly payload?: Readonly<Record<string, unknown>>
  readonly signature?: (signature: Buffer) => Buffer
  /** Instead of RFC 7518's. */
  readonly signWith?: (text: Buffer, key: KeyObject) => Buffer
}

export function createBrowserKey(alg: 'ES256' | 'RS256' = 'ES256', modulusLength = 2048): BrowserKey {
  const pair =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength })
  return {
    alg,
    jwk: pair.publicKey.export({ format: 'jwk' }) as PublicJwk, // of this kind
    prove(
      challenge,
      { header = {}, payload = {}, signature = (same: Buffer) => same, signWith = signJws } = {},
    ) {
      const text = [
        { alg, typ: 'dbsc+jwt', ...header },
        { jti: challenge, ...payload },
      ]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.')
      const signed = signature(signWith(Buffer.from(text), pair.privateKey))
      return `"${text}.${signed.toString('base64url')}"`
    },
  }
}

function signJws(text: Buffer, key: KeyObject): Buffer {
  return sign('sha256', text, { key, dsaEncoding: 'ieee-p1363' })
}
