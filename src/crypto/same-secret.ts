import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares two secrets in a time that depends on neither their content nor their length. */
export function isSameSecret(a: string, b: string): boolean {
  const digest = (secret: string) => createHash('sha256').update(secret).digest()
  return timingSafeEqual(digest(a), digest(b))
}
