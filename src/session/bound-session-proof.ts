import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'

/**
 * The proof of possession of Device Bound Session Credentials (W3C draft): a JWS in compact form
 * (RFC 7515), in the header `Secure-Session-Response`. These functions only read and verify.
 */
export interface BoundSessionProof {
  readonly alg: BoundSessionAlg
  /** Only in a registration. */
  readonly jwk: PublicJwk | undefined
  readonly challenge: string
  readonly signedText: string
  readonly signature: Buffer
}

/** TPMs without elliptic curves have RSA only. The draft's `none` is never offered. */
export const BOUND_SESSION_ALGS = ['ES256', 'RS256'] as const
export type BoundSessionAlg = (typeof BOUND_SESSION_ALGS)[number]

const P256_COORDINATE = /^[\w-]{43}$/
/** 2048 to 4096 bits, in base64url. */
const RSA_MODULUS = /^[\w-]{342,683}$/

/** A public key, without members that verification does not need. */
export const PublicJwk = z.discriminatedUnion('kty', [
  z.object({
    kty: z.literal('EC'),
    crv: z.literal('P-256'),
    x: z.string().regex(P256_COORDINATE),
    y: z.string().regex(P256_COORDINATE),
  }),
  /** Every TPM has this exponent. */
  z.object({ kty: z.literal('RSA'), n: z.string().regex(RSA_MODULUS), e: z.literal('AQAB') }),
])
export type PublicJwk = Readonly<z.infer<typeof PublicJwk>>

const ALG_OF: Readonly<Record<PublicJwk['kty'], BoundSessionAlg>> = { EC: 'ES256', RSA: 'RS256' }

/** RFC 7517 and 7518: what no public key has, `k` of symmetric keys included. */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const Header = z.object({
  alg: z.enum(BOUND_SESSION_ALGS),
  typ: z.literal('dbsc+jwt'),
  jwk: z
    .record(z.string(), z.unknown())
    .refine((jwk) => !SECRET_MEMBERS.some((member) => member in jwk))
    .pipe(PublicJwk)
    .optional(),
  /** Extensions that a recipient must understand (RFC 7515, section 4.1.11): none is known here. */
  crit: z.undefined().optional(),
})
const Payload = z.object({ jti: z.string().min(1).max(256) })

/** A key of 4096 bits and its signature take 1.6 kB. */
const MAX_PROOF_CHARS = 4096
/** A string of RFC 9651, or the token itself. */
const COMPACT_JWS = /^("?)([\w-]+)\.([\w-]+)\.([\w-]+)\1$/

/** undefined: malformed, or an algorithm that is not offered. The signature is not verified. */
export function parseProof(header: unknown): BoundSessionProof | undefined {
  if (typeof header !== 'string' || header.length > MAX_PROOF_CHARS) return undefined
  const found = COMPACT_JWS.exec(header)
  if (found === null) return undefined
  const [, , first = '', second = '', third = ''] = found
  const { data: read } = Header.safeParse(parseJson(first))
  const { data: payload } = Payload.safeParse(parseJson(second))
  if (read === undefined || payload === undefined) return undefined
  return {
    alg: read.alg,
    jwk: read.jwk,
    challenge: payload.jti,
    signedText: `${first}.${second}`,
    signature: Buffer.from(third, 'base64url'),
  }
}

/**
 * - `malformed`: no verification can say anything about the sender, such as a signature of the
 *   wrong length;
 * - `other_key`: well-formed, and signed by another key.
 */
export type ProofVerdict = 'proved' | 'malformed' | 'other_key'

/** Whether the proof was made with this key. */
export function verifyProof({ alg, signedText, signature }: BoundSessionProof, jwk: PublicJwk): ProofVerdict {
  const key = importKey(jwk)
  if (key === undefined || alg !== ALG_OF[jwk.kty] || signature.length !== signatureBytes(key))
    return 'malformed'
  const isRight = verify('sha256', Buffer.from(signedText), { key, dsaEncoding: 'ieee-p1363' }, signature)
  return isRight ? 'proved' : 'other_key'
}

export function isSameKey(a: PublicJwk, b: PublicJwk): boolean {
  if (a.kty === 'EC') return b.kty === 'EC' && a.x === b.x && a.y === b.y
  return b.kty === 'RSA' && a.n === b.n
}

const MIN_MODULUS_BITS = 2048

/** undefined: not a point of the curve, or a modulus that begins with zeros and is too short. */
function importKey(jwk: PublicJwk): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }) // a key of this form
    const { modulusLength: bits = MIN_MODULUS_BITS } = key.asymmetricKeyDetails ?? {}
    return bits >= MIN_MODULUS_BITS ? key : undefined
  } catch {
    return undefined // OpenSSL refuses it
  }
}

/** Of RFC 7518, sections 3.3 and 3.4. DER has another length than ES256. */
function signatureBytes({ asymmetricKeyDetails: { modulusLength } = {} }: KeyObject): number {
  return modulusLength === undefined ? 64 : Math.ceil(modulusLength / 8)
}

function parseJson(encoded: string): unknown {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
