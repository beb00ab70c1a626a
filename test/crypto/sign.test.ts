import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createSigner } from '../../src/crypto/keys.ts'

const key = (fill: number) => Buffer.alloc(32, fill)
const signerUnder = (keys: Buffer[], label = 'device-cookie') => createSigner(keys, label)

test('a signature is valid only for its value and label', () => {
  const signer = signerUnder([key(1)])
  const signature = signer.sign('device')
  expect(signature).toMatch(/^[\w-]{43}$/)
  expect(signer.verify('device', signature)).toBe('current')
  expect(signer.verify('devicf', signature)).toBe('wrong')
  expect(signerUnder([key(1)], 'other').verify('device', signature)).toBe('wrong')
})

test('a signature of a retired key is reported as retired, one of a removed key as wrong', () => {
  const signature = signerUnder([key(1)]).sign('device')
  expect(signerUnder([key(2), key(1)]).verify('device', signature)).toBe('retired')
  expect(signerUnder([key(2)]).verify('device', signature)).toBe('wrong')
})

test('signAll returns the signatures of all keys, newest first', () => {
  const all = signerUnder([key(2), key(1)]).signAll('handle')
  expect(all).toEqual([signerUnder([key(2)]).sign('handle'), signerUnder([key(1)]).sign('handle')])
})

test('noise is not a valid signature, nor is another encoding of the same bytes', () => {
  const signer = signerUnder([key(1)])
  fc.assert(fc.property(fc.string(), (noise) => signer.verify('device', noise) === 'wrong'))
  expect(signer.verify('device', `${signer.sign('device')}=`)).toBe('wrong')
  expect(signer.verify('device', ` ${signer.sign('device')}`)).toBe('wrong')
})
