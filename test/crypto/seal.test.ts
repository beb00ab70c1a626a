import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createSeal } from '../../src/crypto/keys.ts'

const key = (fill: number) => Buffer.alloc(32, fill)
const sealUnder = (keys: Buffer[], label = 'transaction') => createSeal(keys, label)
const PLACE = 'gatehouse:txn:{abc}'

test('a sealed value opens only with its own associated data', () => {
  const seal = sealUnder([key(1)])
  const sealed = seal.seal('state token', PLACE)
  expect(seal.open(sealed, PLACE)).toBe('state token')
  expect(seal.open(sealed, 'gatehouse:txn:{abd}')).toBeUndefined()
})

test('sealing the same text twice gives different values, and neither contains it', () => {
  const seal = sealUnder([key(1)])
  const [one, two] = [seal.seal('secret text', PLACE), seal.seal('secret text', PLACE)]
  expect(one).not.toBe(two)
  expect(Buffer.from(one, 'base64url').includes('secret text')).toBe(false)
})

test('a value of one label cannot be opened with another', () => {
  const sealed = sealUnder([key(1)], 'session').seal('x', PLACE)
  expect(sealUnder([key(1)], 'transaction').open(sealed, PLACE)).toBeUndefined()
})

test('after a rotation, old values open and new ones are sealed with the new key; a removed key opens nothing', () => {
  const old = sealUnder([key(1)]).seal('x', PLACE)
  const rotated = sealUnder([key(2), key(1)])
  expect(rotated.open(old, PLACE)).toBe('x')
  expect(sealUnder([key(1)]).open(rotated.seal('y', PLACE), PLACE)).toBeUndefined()
  expect(sealUnder([key(2)]).open(old, PLACE)).toBeUndefined()
})

test('flipped bits, truncation and noise are refused without throwing', () => {
  const seal = sealUnder([key(1)])
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.integer({ min: 0, max: 7 }), (text, at, bit) => {
      const bytes = Buffer.from(seal.seal(text, PLACE), 'base64url')
      const index = at % bytes.length
      const cut = bytes.subarray(0, index).toString('base64url')
      expect(seal.open(cut, PLACE)).toBeUndefined()
      bytes.writeUInt8(bytes.readUInt8(index) ^ (1 << bit), index)
      expect(seal.open(bytes.toString('base64url'), PLACE)).toBeUndefined()
    }),
  )
  fc.assert(fc.property(fc.string(), (noise) => seal.open(noise, PLACE) === undefined))
})

test('sealing without a key throws', () => {
  expect(() => sealUnder([]).seal('x', PLACE)).toThrow('no secret key is configured')
})
