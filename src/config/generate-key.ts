import { randomBytes } from 'node:crypto'

/** A fresh key for `SECRET_KEYS`: 32 random bytes in base64. */
export function generateKey(): string {
  return randomBytes(32).toString('base64')
}
