import type { ListRef } from '../upstream/group.ts'
import type { ListTunables, PamDeps, PamTunables } from '../upstream/pam-deps.ts'
import type { CachedList, GroupList } from './list-records.ts'

/**
 * The greatest age at which a list is served while it is refreshed, and after a failed refresh (docs/conformance.md D-3.2, D-3.3). A
 * list that is too old to be served after an error is not served during a refresh either, because the refresh may fail.
 */
export function getAgeLimits(
  kind: ListRef['kind'],
  { staleMs, onErrorMs, meOnErrorMs }: ListTunables,
  maxAgeMs = Number.POSITIVE_INFINITY,
): { staleMs: number; onErrorMs: number } {
  const limitMs = Math.min(kind === 'me' ? meOnErrorMs : onErrorMs, maxAgeMs)
  return { staleMs: Math.min(staleMs, limitMs), onErrorMs: limitMs }
}

/** A list with many pages stays fresh for longer, but a refresh must still end before the list is too old to be served. */
export function getFreshMs(
  kind: ListRef['kind'],
  { refreshAfterMs = 0 }: Pick<GroupList, 'refreshAfterMs'>,
  tunables: ListTunables,
): number {
  const latestMs = getAgeLimits(kind, tunables).staleMs - tunables.maxTotalMs
  return Math.max(tunables.freshMs, Math.min(refreshAfterMs, latestMs))
}

/** `maxAge` causes at most one page to be read in this time. */
const READ_PAGE_EVERY_MS = 1000
const GROUPS_ON_PAGE = 100

/** The age that a list must have before `maxAge` or a purge may cause another read. */
export function getMinReadAgeMs(
  kind: ListRef['kind'],
  list: CachedList,
  { lists, unknownUserMs }: Pick<PamTunables, 'lists' | 'unknownUserMs'>,
): number {
  const { groups, refreshAfterMs = 0 } = list
  if (groups === undefined) return Math.min(refreshAfterMs, unknownUserMs)
  const pagesMs = Math.ceil(groups.length / GROUPS_ON_PAGE) * READ_PAGE_EVERY_MS
  // Access decisions need a user's own list that is at most `freshMs` old.
  const latestMs = kind === 'directory' ? getFreshMs(kind, list, lists) : lists.freshMs
  return Math.min(Math.max(pagesMs, refreshAfterMs), latestMs)
}

/**
 * The age of a list that this process has read is measured on the monotonic clock: the clocks of the API's servers may differ, and
 * the API's time is that of its last response.
 */
export function getAgeMs(
  { fetchedAtMs, readAtMs }: Pick<CachedList, 'fetchedAtMs' | 'readAtMs'>,
  { clock, monotonic }: Pick<PamDeps, 'clock' | 'monotonic'>,
): number {
  return Math.max(0, readAtMs === undefined ? clock.now() - fetchedAtMs : monotonic() - readAtMs)
}
