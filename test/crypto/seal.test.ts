import { expect, test } from '@jest/globals'
import { createSeal } from '../../src/crypto/keys.ts'

const key = (fill: number) => Buffer.alloc(32, fill)
const sealUnder = (keys: Buffer[], label = 'transaction') => createSeal(keys, label)
const PLACE = 'gatehouse:txn:{abc}'

test('sealing the same text twice gives different values, and neither contains it', () => {
  const seal = sealUnder([key(1)])
  const [one, two] = [seal.seal('secret text', PLACE), seal.seal('secret text', PLACE)]
  expect(one).not.toBe(two)
  expect(Buffer.from(one, 'base64url').includes('secret text')).toBe(false)
})

// shows: V11.2.2
test('after a rotation, old values open and new ones are sealed with the new key; a removed key opens nothing', () => {
  const old = sealUnder([key(1)]).seal('x', PLACE)
  const rotated = sealUnder([key(2), key(1)])
  expect(rotated.open(old, PLACE)).toBe('x')
  expect(sealUnder([key(1)]).open(rotated.seal('y', PLACE), PLACE)).toBeUndefined()
  expect(sealUnder([key(2)]).open(old, PLACE)).toBeUndefined()
})

test('sealing without a key throws', () => {
  expect(() => sealUnder([]).seal('x', PLACE)).toThrow('no secret key is configured')
})
