import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { labelledKeys, type MasterKeys } from './keys.ts'

/**
 * Seals what the store keeps: AES-256-GCM (NIST SP 800-38D) under a labelled key, a random 96-bit nonce, and the
 * place where the value lies as associated data, so that a value copied to another key does not open.
 *
 * Form: base64url of `version (1) ‖ key id (4) ‖ nonce (12) ‖ ciphertext ‖ tag (16)`.
 */
export interface Seal {
  seal(plaintext: string, place: string): string
  /** undefined: forged, truncated, moved, or sealed with a key that is no longer configured. */
  open(sealed: string, place: string): string | undefined
}

const VERSION = 1
const VERSION_BYTE = Buffer.of(VERSION)
const KEY_ID_END = 5
const NONCE_BYTES = 12
const NONCE_END = KEY_ID_END + NONCE_BYTES
const TAG_BYTES = 16

export function createSeal(masterKeys: MasterKeys, label: string): Seal {
  const keys = labelledKeys(masterKeys, `seal/${label}`)

  return {
    seal(plaintext, place) {
      const { id, key } = keys()[0]
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(Buffer.from(place))
      const body = [cipher.update(plaintext, 'utf8'), cipher.final()]
      return Buffer.concat([VERSION_BYTE, id, nonce, ...body, cipher.getAuthTag()]).toString('base64url')
    },

    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < NONCE_END + TAG_BYTES || bytes[0] !== VERSION) return undefined
      const id = bytes.subarray(1, KEY_ID_END)
      const match = keys().find((candidate) => candidate.id.equals(id))
      if (match === undefined) return undefined
      const decipher = createDecipheriv('aes-256-gcm', match.key, bytes.subarray(KEY_ID_END, NONCE_END))
      decipher.setAAD(Buffer.from(place))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        const body = bytes.subarray(NONCE_END, -TAG_BYTES)
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
      } catch {
        return undefined // the tag does not fit: forged, damaged or moved
      }
    },
  }
}
