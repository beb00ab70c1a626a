import { expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'

const key = (fill: number) => Buffer.alloc(32, fill)
const signerUnder = (keys: Buffer[], label = 'device-cookie') => createSigner(keys, label)

test('a signature of a retired key is reported as retired, one of a removed key as wrong', () => {
  const signature = signerUnder([key(1)]).sign('device')
  expect(signerUnder([key(2), key(1)]).verify('device', signature)).toBe('retired')
  expect(signerUnder([key(2)]).verify('device', signature)).toBe('wrong')
})

test('signAll returns the signatures of all keys, newest first', () => {
  const all = signerUnder([key(2), key(1)]).signAll('handle')
  expect(all).toEqual([signerUnder([key(2)]).sign('handle'), signerUnder([key(1)]).sign('handle')])
})
