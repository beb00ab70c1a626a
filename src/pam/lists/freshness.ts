import type { ListOf } from '../upstream/group.ts'
import type { ListTunables, PamDeps, PamTunables } from '../upstream/pam-deps.ts'
import type { CachedList, KnownList } from './list-records.ts'

/** Until which age a list is served while it is refreshed, and if that fails (DESIGN §6, "Freshness"). */
export interface AgeLimits {
  readonly staleMs: number
  readonly onErrorMs: number
}

/** A list that is too old to be served on error is not served during a refresh either, for the refresh may fail. */
export function ageLimitsOf(
  kind: ListOf['kind'],
  { staleMs, onErrorMs, meOnErrorMs }: ListTunables,
  maxAgeMs = Number.POSITIVE_INFINITY,
): AgeLimits {
  const limitMs = Math.min(kind === 'me' ? meOnErrorMs : onErrorMs, maxAgeMs)
  return { staleMs: Math.min(staleMs, limitMs), onErrorMs: limitMs }
}

/** A list with many pages stays fresh for longer, but a refresh must still end before the list is too old to be served. */
export function freshMsOf(
  kind: ListOf['kind'],
  { refreshAfterMs = 0 }: Pick<KnownList, 'refreshAfterMs'>,
  tunables: ListTunables,
): number {
  const latestMs = ageLimitsOf(kind, tunables).staleMs - tunables.maxTotalMs
  return Math.max(tunables.freshMs, Math.min(refreshAfterMs, latestMs))
}

/** `maxAge` may not have a list read more often than one page in this time. */
const READ_PAGE_EVERY_MS = 1000
const GROUPS_ON_PAGE = 100

/** The age from which on `maxAge` and purges may have a list read again. */
export function earliestReadMs(
  kind: ListOf['kind'],
  list: CachedList,
  { lists, unknownUserMs }: Pick<PamTunables, 'lists' | 'unknownUserMs'>,
): number {
  const { groups, refreshAfterMs = 0 } = list
  if (groups === undefined) return Math.min(refreshAfterMs, unknownUserMs)
  const pagesMs = Math.ceil(groups.length / GROUPS_ON_PAGE) * READ_PAGE_EVERY_MS
  // Decisions need a user's own list at `freshMs` at the latest.
  const latestMs = kind === 'directory' ? freshMsOf(kind, list, lists) : lists.freshMs
  return Math.min(Math.max(pagesMs, refreshAfterMs), latestMs)
}

/**
 * A list that this process has read ages on the monotonic clock: the servers of the API may disagree about the time, and the
 * API's time is that of the last answer.
 */
export function ageOf(
  { fetchedAtMs, readAtMs }: Pick<CachedList, 'fetchedAtMs' | 'readAtMs'>,
  { clock, monotonic }: Pick<PamDeps, 'clock' | 'monotonic'>,
): number {
  return Math.max(0, readAtMs === undefined ? clock.now() - fetchedAtMs : monotonic() - readAtMs)
}
