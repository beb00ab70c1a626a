import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares two secrets in a time that depends on neither their content nor their length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
