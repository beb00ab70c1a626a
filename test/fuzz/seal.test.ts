import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createSeal, createSigner } from '../../src/crypto/keys.ts'
import { codePoint } from '../support/code-point.ts'
import { runs, SEED_LABEL } from './fuzz.ts'

/** A changed sealed value never opens, and a changed signature is never valid. */

const KEYS = [Buffer.alloc(32, 'plainly-fake-one'), Buffer.alloc(32, 'plainly-fake-two')]
const sealUnder = (label: string, keys = KEYS) => createSeal(keys, label)
const PLACE = 'gatehouse:txn:{name}'
const { seal, open } = sealUnder('transaction')

describe('a sealed value', () => {
  // shows: V11.3.3
  test('does not open with any bit flipped', () => {
    const bytes = Buffer.from(seal('a secret of some length', PLACE), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const turned = Buffer.from(bytes)
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect([bit, open(turned.toString('base64url'), PLACE)]).toEqual([bit, undefined])
    }
  })

  // shows: V11.3.3
  test('does not open if it was cut or extended', () => {
    const sealed = seal('', PLACE)
    const bytes = Buffer.from(sealed, 'base64url')
    for (let end = 0; end < bytes.length; end++) {
      expect(open(bytes.subarray(0, end).toString('base64url'), PLACE)).toBeUndefined()
      expect(open(bytes.subarray(bytes.length - end).toString('base64url'), PLACE)).toBeUndefined()
    }
    for (let byte = 0; byte < 256; byte++) {
      expect(open(Buffer.concat([bytes, Buffer.of(byte)]).toString('base64url'), PLACE)).toBeUndefined()
    }
  })

  test(`opens only with its own associated data, label and key ${SEED_LABEL}`, () => {
    const text = fc.string({ unit: codePoint, maxLength: 60 }).map((any) => Buffer.from(any).toString())
    const label = fc.constantFrom('session', 'transaction', 'offer', 'pam-token')
    fc.assert(
      fc.property(
        text,
        text,
        text,
        label,
        label,
        fc.nat(1),
        fc.nat(1),
        (value, at, from, one, other, mine, theirs) => {
          const sealed = sealUnder(one, KEYS.slice(mine)).seal(value, at)
          const opened = sealUnder(other, KEYS.slice(theirs, theirs + 1)).open(sealed, from)
          const fits = at === from && one === other && mine === theirs
          expect(opened).toBe(fits ? value : undefined)
          expect(sealUnder(one).open(sealed, at)).toBe(value)
        },
      ),
      runs(4000),
    )
  })
})

describe('a signature', () => {
  const { sign, verify } = createSigner(KEYS, 'device-cookie')
  const value = 'plainly-a-device.123'
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. '

  test('is invalid with any character changed, removed or added', () => {
    const signature = sign(value)
    for (let at = 0; at <= signature.length; at++) {
      const [before, after] = [signature.slice(0, at), signature.slice(at + 1)]
      expect(verify(value, before + after)).toBe(at === signature.length ? 'current' : 'wrong')
      for (const char of ALPHABET) {
        if (char !== signature[at]) expect(verify(value, before + char + after)).toBe('wrong')
        expect(verify(value, before + char + signature.slice(at))).toBe('wrong')
      }
    }
  })

  test(`is valid only for its own value, label and key ${SEED_LABEL}`, () => {
    const text = fc.string({ maxLength: 40 })
    const other = createSigner(KEYS, 'session-names')
    const foreign = createSigner([Buffer.alloc(32, 'plainly-fake-three')], 'device-cookie')
    fc.assert(
      fc.property(text, text, (one, two) => {
        expect(verify(one, sign(one))).toBe('current')
        expect(verify(two, sign(one))).toBe(one === two ? 'current' : 'wrong')
        expect(verify(one, other.sign(one))).toBe('wrong')
        expect(verify(one, foreign.sign(one))).toBe('wrong')
        expect(verify(one, two)).toBe('wrong')
      }),
      runs(3000),
    )
  })
})
