import { createHmac, timingSafeEqual } from 'node:crypto'
import { type LabelledKey, labelledKeys, type MasterKeys } from './keys.ts'

/** HMAC-SHA-256 under labelled keys: signatures of cookies, and the names under which things lie in the store. */
export interface Signer {
  /** base64url, 43 characters, by the newest key. */
  sign(value: string): string
  /** By every key, newest first: where a thing may lie that was written before a rotation. */
  signAll(value: string): readonly [string, ...string[]]
  /** `current`: by the newest key; `retired`: by an older one, so that it should be signed anew. */
  verify(value: string, signature: string): 'current' | 'retired' | 'wrong'
}

export function createSigner(masterKeys: MasterKeys, label: string): Signer {
  const keys = labelledKeys(masterKeys, `sign/${label}`)

  return {
    sign: (value) => hmac(keys()[0], value).toString('base64url'),

    signAll(value) {
      const [newest, ...older] = keys()
      return [
        hmac(newest, value).toString('base64url'),
        ...older.map((key) => hmac(key, value).toString('base64url')),
      ]
    },

    verify(value, signature) {
      const given = Buffer.from(signature, 'base64url')
      const index = keys().findIndex((key) => {
        const expected = hmac(key, value)
        return given.length === expected.length && timingSafeEqual(given, expected)
      })
      if (index < 0 || given.toString('base64url') !== signature) return 'wrong'
      return index === 0 ? 'current' : 'retired'
    },
  }
}

function hmac({ key }: LabelledKey, value: string): Buffer {
  return createHmac('sha256', key).update(value).digest()
}
