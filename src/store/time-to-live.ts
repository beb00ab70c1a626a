/** Redis accepts only positive integers. */
export function roundUpTtl(ttlMs: number): number {
  if (!Number.isFinite(ttlMs)) throw new TypeError('a time to live must be a finite number of milliseconds')
  return Math.max(1, Math.ceil(ttlMs))
}
