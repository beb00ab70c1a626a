import type { Metrics } from '../../observability/metrics.ts'
import type { UpstreamClock } from '../../upstream/answer-headers.ts'
import type { StartTimer } from '../../upstream/start-timer.ts'
import type { SharedFlight } from '../shared/shared-flight.ts'
import type { ListOf } from '../upstream/group.ts'
import type { OnAccountOf } from '../upstream/pam-call.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import type { CachedList, GroupLists, KnownList } from './group-lists.ts'
import type { ListReader } from './list-reader.ts'
import type { TeamSwitch } from './team-switch.ts'

/** Lists with their age: fresh, stale while one is fetched, stale when that fails, else the failure (DESIGN §6). */
export interface GroupCache {
  /** Throws `PamFailure`. With `maxAgeMs`, never a list that was older when it was asked for. */
  get(list: ListOf, options: { requestId: string; maxAgeMs?: number | undefined }): Promise<ServedList>
  /** Has the list fetched again, no more often than `maxAge` may. */
  purge(list: ListOf): Promise<void>
}

export interface ServedList {
  /** The same object as long as the list is: what is made of it can be kept. */
  readonly list: KnownList
  readonly ageMs: number
  readonly stale: boolean
}

export interface ListTunables {
  readonly freshMs: number
  readonly staleMs: number
  readonly onErrorMs: number
  readonly meOnErrorMs: number
  readonly maxTotalMs: number
}

export interface GroupCacheParts {
  readonly reader: ListReader
  readonly lists: GroupLists
  readonly flights: SharedFlight<CachedList>
  readonly team: TeamSwitch
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly startTimer: StartTimer
  readonly tunables: ListTunables
  /** A caller waits for so long at most while there is a list that can be served. */
  readonly maxWaitMs: number
  readonly unknownUserMs: number
  readonly metrics: Metrics
}

/** After a refresh in the background that failed, that list is left alone for a moment. */
const REFRESH_AGAIN_MS = 2000
/** A list from the near future is new; one from further away was dated by a clock that is wrong. */
const FUTURE_MS = 5000
/** `maxAge` may not have a list read more often than one page in this time. */
const READ_PAGE_EVERY_MS = 1000
const GROUPS_ON_PAGE = 100

export function createGroupCache(parts: GroupCacheParts): GroupCache {
  const {
    reader,
    lists,
    flights,
    team,
    clock,
    monotonic,
    startTimer,
    tunables,
    maxWaitMs,
    unknownUserMs,
    metrics,
  } = parts
  const refreshNotBefore = new Map<string, number>()

  return {
    purge: lists.purge,

    async get(list, { requestId, maxAgeMs = Number.POSITIVE_INFINITY }) {
      const { kind } = list
      const { voidBeforeMs } = await team.check()
      const limits = limitsOf(kind, maxAgeMs)
      const cached = usable(await lists.look(list), voidBeforeMs)

      if (cached?.groups === undefined) {
        const isUnknown = cached !== undefined && !cached.isPurged
        if (isUnknown && ageOf(cached) <= Math.min(unknownUserMs, maxAgeMs))
          throw new PamFailure('unknown_person')
      } else {
        const ageMs = ageOf(cached)
        if (ageMs <= Math.min(freshMsOf(kind, cached), maxAgeMs)) return serve(kind, 'fresh', cached)
        if (ageMs <= limits.staleMs) {
          refreshInBackground(list, cached, requestId)
          return serve(kind, 'stale', cached)
        }
      }
      if (cached !== undefined) refuseEarlyRead(kind, cached)
      const servable = cached?.groups !== undefined && ageOf(cached) <= limits.onErrorMs ? cached : undefined
      try {
        const refreshing = refresh(list, cached, maxAgeMs, { background: false, requestId })
        if (servable === undefined) return serve(kind, 'miss', known(await refreshing))
        const found = await withinMaxWait(refreshing)
        return found === undefined ? serve(kind, 'slow', servable) : serve(kind, 'miss', known(found))
      } catch (error) {
        if (!(error instanceof PamFailure) || !error.rule.stale || servable === undefined) throw error
        return serve(kind, 'error', servable)
      }
    },
  }

  /** A list that is too old to be served on error is not served during a refresh either, for the refresh may fail. */
  function limitsOf(kind: ListOf['kind'], maxAgeMs: number) {
    const onErrorMs = Math.min(kind === 'me' ? tunables.meOnErrorMs : tunables.onErrorMs, maxAgeMs)
    return { staleMs: Math.min(tunables.staleMs, onErrorMs), onErrorMs }
  }

  /** A list with many pages stays fresh for longer, but a refresh must still end before it is too old to be served. */
  function freshMsOf(kind: ListOf['kind'], { refreshAfterMs = 0 }: KnownList): number {
    const latestMs = limitsOf(kind, Number.POSITIVE_INFINITY).staleMs - tunables.maxTotalMs
    return Math.max(tunables.freshMs, Math.min(refreshAfterMs, latestMs))
  }

  function refuseEarlyRead(kind: ListOf['kind'], last: CachedList): void {
    const retryAfterMs = earliestReadMs(kind, last) - ageOf(last)
    if (retryAfterMs > 0) throw new PamFailure('too_many_requests', { retryAfterMs })
  }

  /** The age from which on `maxAge` and purges may have a list read anew. */
  function earliestReadMs(kind: ListOf['kind'], list: CachedList): number {
    const { groups, refreshAfterMs = 0 } = list
    if (groups === undefined) return Math.min(refreshAfterMs, unknownUserMs)
    const pagesMs = Math.ceil(groups.length / GROUPS_ON_PAGE) * READ_PAGE_EVERY_MS
    // Decisions need a user's own list at `freshMs` at the latest.
    const latestMs = kind === 'directory' ? freshMsOf(kind, list) : tunables.freshMs
    return Math.min(Math.max(pagesMs, refreshAfterMs), latestMs)
  }

  function ageOf({ fetchedAtMs }: CachedList): number {
    return Math.max(0, clock.now() - fetchedAtMs)
  }

  function usable(cached: CachedList | undefined, voidBeforeMs: number): CachedList | undefined {
    if (cached === undefined || cached.fetchedAtMs <= voidBeforeMs) return undefined
    return cached.fetchedAtMs > clock.now() + FUTURE_MS ? undefined : cached
  }

  function serve(
    kind: ListOf['kind'],
    outcome: 'fresh' | 'stale' | 'miss' | 'slow' | 'error',
    list: KnownList,
  ): ServedList {
    metrics.pamCache.inc({ list: kind, outcome })
    const ageMs = ageOf(list)
    return { list, ageMs, stale: ageMs > freshMsOf(kind, list) }
  }

  /** undefined: it takes longer, and goes on without this caller. */
  function withinMaxWait<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const stopTimer = startTimer(() => resolve(undefined), maxWaitMs)
      work.finally(stopTimer).then(resolve, reject)
    })
  }

  function refreshInBackground(list: ListOf, cached: CachedList, requestId: string): void {
    const name = lists.nameOf(list)
    if (monotonic() < (refreshNotBefore.get(name) ?? Number.NEGATIVE_INFINITY)) return
    refreshNotBefore.set(name, Number.POSITIVE_INFINITY)
    refresh(list, cached, Number.POSITIVE_INFINITY, { background: true, requestId }).then(
      () => refreshNotBefore.delete(name),
      (error: unknown) => {
        // Logged and counted where it happened; whoever comes later than the stale time sees it.
        const pauseMs = error instanceof PamFailure ? (error.retryAfterMs ?? 0) : 0
        refreshNotBefore.set(name, monotonic() + Math.max(pauseMs, REFRESH_AGAIN_MS))
        forgetPauses()
      },
    )
  }

  function forgetPauses(): void {
    for (const [name, until] of refreshNotBefore) if (until <= monotonic()) refreshNotBefore.delete(name)
  }

  /** One read over all replicas: what another one has stored since `seen` serves as well, unless it is too old for the caller. */
  async function refresh(
    list: ListOf,
    seen: CachedList | undefined,
    maxAgeMs: number,
    account: OnAccountOf,
  ): Promise<CachedList> {
    const askedAt = monotonic()
    /** The caller's limit counts from the time when it asked. */
    const sinceAskedMs = () => monotonic() - askedAt
    const usableMs = () => limitsOf(list.kind, Number.POSITIVE_INFINITY).staleMs + sinceAskedMs()
    const readAfter = (newest: CachedList | undefined) =>
      flights.run(lists.lockKeyOf(list), {
        background: account.background,
        async read() {
          const stored = await lists.lookAgain(list)
          const { voidBeforeMs } = await team.check()
          const newer = usable(stored, voidBeforeMs)
          if (newer === undefined || newer.isPurged || newer.id === newest?.id) return undefined
          return ageOf(newer) <= (newer.groups === undefined ? unknownUserMs : usableMs()) ? newer : undefined
        },
        async fetch() {
          const { voidBeforeMs } = await team.check()
          const seenAtMs = newest?.fetchedAtMs ?? Number.NEGATIVE_INFINITY
          // Whatever `maxAgeMs` is, an interrupted read is continued: else polling would keep a long list from completing.
          return reader.read(list, account, Math.max(voidBeforeMs, seenAtMs, clock.now() - usableMs()))
        },
      })

    const found = await readAfter(seen)
    const isVoid = seen?.isPurged && found.generation !== seen.generation
    if (isVoid) refuseEarlyRead(list.kind, found)
    else if (ageOf(found) <= maxAgeMs + sinceAskedMs()) return found
    // That read began before this caller asked, or it continued older pages. The next one does neither.
    return readAfter(found)
  }
}

function known(cached: CachedList): KnownList {
  if (cached.groups === undefined) throw new PamFailure('unknown_person')
  return cached
}
