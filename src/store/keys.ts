/** What both stores demand of keys and times, so that a mistake shows with the embedded store too. */

/** Redis Cluster: keys of one command must share a slot, and two keys do when they have the same hash tag. */
export function assertOneSlot(...keys: readonly string[]): void {
  const [first, ...others] = keys
  const tag = hashTag(first ?? '')
  if (others.some((key) => hashTag(key) !== tag))
    throw new TypeError('the keys of one store operation must share a hash tag')
}

/** The part of the key that decides its slot: what stands in the first `{…}`, else the whole key. */
function hashTag(key: string): string {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : key
}

/** Redis takes whole milliseconds above zero: a fraction is rounded up, and zero or less becomes one. */
export function wholeMs(ttlMs: number): number {
  if (!Number.isFinite(ttlMs)) throw new TypeError('a time to live must be a finite number of milliseconds')
  return Math.max(1, Math.ceil(ttlMs))
}
