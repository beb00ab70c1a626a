import { randomBytes } from 'node:crypto'
import type { Counting } from './counting.ts'

/** What both forms of the store demand of keys, times and counts, so that a slip shows on the embedded one as well. */

/** Redis Cluster: keys of one command must share a slot, and two keys do when they have the same hash tag. */
export function assertOneSlot(...keys: readonly string[]): void {
  const [first, ...others] = keys
  const tag = hashTag(first ?? '')
  if (others.some((key) => hashTag(key) !== tag))
    throw new TypeError('the keys of one store operation must share a hash tag')
}

/** The part of the key that decides its slot: what stands in the first `{…}`, else the whole key. */
export function hashTag(key: string): string {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : key
}

/** Redis takes whole milliseconds above zero: a fraction is rounded up, and zero or less becomes one. */
export function wholeMs(ttlMs: number): number {
  if (!Number.isFinite(ttlMs)) throw new TypeError('a time to live must be a finite number of milliseconds')
  return Math.max(1, Math.ceil(ttlMs))
}

/**
 * More than a user with two devices has. In a key with so many, ended windows are removed before one is begun; with n windows, one time
 * in n / 32, so that beginning one costs the same however many there are.
 */
export const MANY_WINDOWS = 32

/** Tells a window from the one before it: short, as it is stored with each. */
export function newWindowId(): string {
  return randomBytes(4).toString('base64url')
}

/** Checks both lists of windows, whichever will count: a wrong figure must show before the day its list is used. */
export function assertCountable({ place, windows, instead, notAfterMs }: Counting): void {
  if (instead) assertOneSlot(place, instead.ifThere)
  for (const { most, ttlMs } of [...windows, ...(instead?.windows ?? [])]) {
    wholeMs(ttlMs)
    if (!Number.isSafeInteger(most) || most < 1)
      throw new TypeError('a window must let in a whole number of attempts, one or more')
  }
  if (notAfterMs !== undefined && !Number.isFinite(notAfterMs))
    throw new TypeError('when it is too late must be a finite number of milliseconds')
}
