/** Keys with the same hash tag are in the same Redis Cluster slot. */
export function assertOneSlot(...keys: readonly string[]): void {
  const [first, ...others] = keys
  const tag = hashTag(first ?? '')
  if (others.some((key) => hashTag(key) !== tag))
    throw new TypeError('the keys of one store operation must share a hash tag')
}

/**
 * The part of a key that determines its slot: the content of the first `{…}`, else the whole key.
 */
function hashTag(key: string): string {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : key
}
