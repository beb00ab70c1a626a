import { createECDH, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { isSameKey, type PublicJwk, parseProof, verifyProof } from '../../src/session/bound-session-proof.ts'
import { type BrowserKey, type ChangedProof, createBrowserKey } from './browser-key.ts'

const EC = createBrowserKey('ES256')
const RSA = createBrowserKey('RS256')

/** As a registration: the proof brings its own key. */
function verdictOf(key: BrowserKey, changed: ChangedProof = {}) {
  const header = { jwk: key.jwk, ...changed.header }
  const proof = parseProof(key.prove('challenge', { ...changed, header }))
  return proof?.jwk === undefined ? 'malformed' : verifyProof(proof, proof.jwk)
}

test.each([
  ['ES256', EC],
  ['RS256', RSA],
])('a proof with %s is parsed and verified, in quotes or not', (alg, key) => {
  const header = key.prove('the challenge', { header: { jwk: key.jwk } })
  for (const given of [header, header.slice(1, -1)]) {
    const proof = parseProof(given)
    expect(proof).toMatchObject({ alg, jwk: key.jwk, challenge: 'the challenge' })
    expect(proof && verifyProof(proof, key.jwk)).toBe('proved')
  }
})

test('members of a key that verification does not need are left out', () => {
  const jwk = { ...EC.jwk, kid: 'name', use: 'sig', key_ops: ['verify'] }
  expect(parseProof(EC.prove('challenge', { header: { jwk } }))?.jwk).toEqual(EC.jwk)
})

describe('malformed', () => {
  const privateJwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' })
  const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const smallExponent = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 })
  const ecJwk = (change: object) => ({ header: { jwk: { ...EC.jwk, ...change } } })
  const rsaJwk = (change: object) => ({ header: { jwk: { ...RSA.jwk, ...change } } })
  const bytes = (count: number, first = 255) => Buffer.alloc(count, 1).fill(first, 0, 1).toString('base64url')

  test.each<[string, BrowserKey, ChangedProof]>([
    ['alg: none', EC, { header: { alg: 'none' }, signature: () => Buffer.alloc(0) }],
    ['alg: HS256 with the public key as the secret', EC, { header: { alg: 'HS256' } }],
    ['no alg', EC, { header: { alg: undefined } }],
    ['alg of another kind of key', EC, { header: { alg: 'RS256' } }],
    ['alg of another kind of key, RSA', RSA, { header: { alg: 'ES256' } }],
    ['another typ', EC, { header: { typ: 'JWT' } }],
    ['no typ', EC, { header: { typ: undefined } }],
    ['a critical extension', EC, { header: { crit: ['b64'], b64: false } }],
    ['no challenge', EC, { payload: { jti: undefined } }],
    ['an empty challenge', EC, { payload: { jti: '' } }],
    ['a challenge that is no text', EC, { payload: { jti: 1 } }],
    ['a long challenge', EC, { payload: { jti: 'x'.repeat(257) } }],
    ['no key', EC, { header: { jwk: undefined } }],
    ['a key that is null', EC, { header: { jwk: null } }],
    ['a list of keys', EC, { header: { jwk: [EC.jwk] } }],
    ['a private key', EC, { header: { jwk: privateJwk } }],
    ['a key with an empty private member', EC, ecJwk({ d: '' })],
    ['a symmetric key', EC, { header: { jwk: { kty: 'oct', k: 'AAAA' } } }],
    ['a key on another curve', EC, { header: { jwk: otherCurve } }],
    ['an Ed25519 key', EC, { header: { jwk: ed25519 } }],
    ['a point that is not on the curve', EC, ecJwk({ y: bytes(32, 1) })],
    ['the point at infinity', EC, ecJwk({ x: bytes(32, 0), y: Buffer.alloc(32).toString('base64url') })],
    ['a compressed point', EC, ecJwk({ y: undefined })],
    ['a coordinate that is too long', EC, ecJwk({ x: bytes(33) })],
    ['RSA with 512 bits', createBrowserKey('RS256', 512), {}],
    ['RSA with 1024 bits', createBrowserKey('RS256', 1024), {}],
    ['RSA with 2040 bits', createBrowserKey('RS256', 2040), {}],
    ['RSA with 2048 bits of which the first eight are 0', RSA, rsaJwk({ n: `AA${'B'.repeat(340)}` })],
    ['RSA with 8192 bits', RSA, rsaJwk({ n: bytes(1024) })],
    [
      'RSA with the exponent 3',
      RSA,
      {
        header: { jwk: smallExponent.publicKey.export({ format: 'jwk' }) },
        signWith: (text) => sign('sha256', text, smallExponent.privateKey),
      },
    ],
    ['RSA with the exponent 1', RSA, rsaJwk({ e: 'AQ' })],
    ['a signature in DER', EC, { signWith: (text, key) => sign('sha256', text, key) }],
    ['a truncated signature', EC, { signature: (full) => full.subarray(1) }],
    ['a longer signature', EC, { signature: (full) => Buffer.concat([full, Buffer.of(0)]) }],
    ['a truncated signature, RSA', RSA, { signature: (full) => full.subarray(1) }],
  ])('%s', (_what, key, changed) => {
    expect(verdictOf(key, changed)).toBe('malformed')
  })

  const good = EC.prove('challenge', { header: { jwk: EC.jwk } })
  test.each<[string, unknown]>([
    ['no header', undefined],
    ['a list of one header', [good]],
    ['two headers', [good, good]],
    ['two headers, joined', `${good}, ${good}`],
    ['an opening quote only', good.slice(0, -1)],
    ['two parts', good.split('.').slice(0, 2).join('.')],
    ['four parts', `${good.slice(0, -1)}.AAAA"`],
    ['an empty text', '""'],
    ['a header that is no JSON', `${Buffer.from('{').toString('base64url')}.e30.AAAA`],
    ['a header that is a number', `MQ.e30.${'A'.repeat(86)}`],
    ['a parameter', `${good};a=1`],
    ['markup', good.replace('.', '.<b>')],
  ])('%s', (_what, header) => {
    expect(parseProof(header)).toBeUndefined()
  })
})

test('a proof of up to 4096 characters is read', () => {
  /** Its payload has as much more as is needed. */
  const proofOf = (chars: number): string => {
    for (let more = 2500; more < 3000; more += 1) {
      const proof = EC.prove('challenge', { header: { jwk: EC.jwk }, payload: { more: 'x'.repeat(more) } })
      for (const spelled of [proof, proof.slice(1, -1)]) if (spelled.length === chars) return spelled
    }
    throw new Error(`no proof has ${chars} characters`)
  }
  expect(parseProof(proofOf(4096))).toMatchObject({ challenge: 'challenge' })
  expect(parseProof(proofOf(4097))).toBeUndefined()
})

describe('a key', () => {
  const parsed = (key: BrowserKey, change: object) =>
    parseProof(key.prove('challenge', { header: { jwk: { ...key.jwk, ...change } } }))?.jwk
  const { x, y } = EC.jwk as { x: string; y: string } // of this kind
  const { n } = RSA.jwk as { n: string }
  const MODULUS = 'A'.repeat(683)

  test.each<[string, BrowserKey, object]>([
    ['x with more before it', EC, { x: `A${x}` }],
    ['x with more after it', EC, { x: `${x}A` }],
    ['y with padding', EC, { y: `${y}=` }],
    ['y with a space before it', EC, { y: ` ${y}` }],
    ['n with padding', RSA, { n: `${n}==` }],
    ['n with a space before it', RSA, { n: ` ${n}` }],
    ['n of more than 4096 bits', RSA, { n: `${MODULUS}A` }],
  ])('has one spelling, so that it is never taken for another one: %s is refused', (_what, key, change) => {
    expect(parsed(key, {})).toEqual(key.jwk)
    expect(parsed(key, change)).toBeUndefined()
  })

  test('can have up to 4096 bits', () => {
    expect(parsed(RSA, { n: MODULUS })).toMatchObject({ n: MODULUS })
  })

  test.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])(
    'with the member %s of a secret key is refused: the browser must not tell it',
    (member) => {
      for (const key of [EC, RSA]) expect(parsed(key, { [member]: 'AAAA' })).toBeUndefined()
    },
  )

  test('whose modulus begins with zeros is too short, even for a signature of its own length', () => {
    // 8 bits that are 0, and 2040 others
    const jwk: PublicJwk = { kty: 'RSA', e: 'AQAB', n: `AP${'_'.repeat(340)}` }
    const proof = parseProof(RSA.prove('challenge', { signature: (full) => full.subarray(1) }))
    expect(proof?.signature).toHaveLength(255)
    expect(proof && verifyProof(proof, jwk)).toBe('malformed')
  })

  test.each<[string, PublicJwk, PublicJwk, boolean]>([
    ['itself', EC.jwk, { ...EC.jwk }, true],
    ['itself, RSA', RSA.jwk, { ...RSA.jwk }, true],
    ['a key with another x', EC.jwk, { ...EC.jwk, x: y } as PublicJwk, false],
    ['a key with another y', EC.jwk, { ...EC.jwk, y: x } as PublicJwk, false],
    ['a key with another modulus', RSA.jwk, { ...RSA.jwk, n: MODULUS } as PublicJwk, false],
    ['an RSA key', EC.jwk, RSA.jwk, false],
    ['an EC key', RSA.jwk, EC.jwk, false],
    ['an RSA key with the same coordinates', EC.jwk, { ...RSA.jwk, x, y } as PublicJwk, false],
    ['an EC key with the same modulus', RSA.jwk, { ...EC.jwk, n } as PublicJwk, false],
  ])('is compared with %s', (_what, one, other, isSame) => {
    expect(isSameKey(one, other)).toBe(isSame)
  })
})

test.each<[string, BrowserKey, BrowserKey]>([
  ['ES256', EC, createBrowserKey('ES256')],
  ['RS256', RSA, createBrowserKey('RS256')],
])('a well-formed proof that another key has signed is told apart, %s', (_alg, key, other) => {
  const proof = parseProof(other.prove('challenge'))
  expect(proof && verifyProof(proof, key.jwk)).toBe('other_key')
  const changed = parseProof(key.prove('challenge', { signature: flipLastByte }))
  expect(changed && verifyProof(changed, key.jwk)).toBe('other_key')
})

test('a proof with a key of another kind is malformed, not signed by another key', () => {
  const proof = parseProof(RSA.prove('challenge'))
  expect(proof && verifyProof(proof, EC.jwk)).toBe('malformed')
})

test('a key that its sender has not proved is not taken', () => {
  const ecdh = createECDH('prime256v1')
  const point = ecdh.generateKeys()
  const coordinate = (start: number) => point.subarray(start, start + 32).toString('base64url')
  const jwk: PublicJwk = { kty: 'EC', crv: 'P-256', x: coordinate(1), y: coordinate(33) }
  expect(verdictOf(EC, { header: { jwk } })).toBe('other_key')
})

function flipLastByte(signature: Buffer): Buffer {
  const flipped = Buffer.from(signature)
  flipped.writeUInt8((flipped.at(-1) ?? 0) ^ 1, flipped.length - 1)
  return flipped
}
