import { inTime } from '../../upstream/timer.ts'
import { createCoalescing } from '../upstream/coalescing.ts'
import type { ListRef } from '../upstream/group.ts'
import type { CallContext } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { type ListReader, UNKNOWN_USER_MS } from './list-reader.ts'
import type { GroupList, ListStore, Place } from './list-store.ts'

export interface ServedList {
  readonly list: GroupList
  readonly ageMs: number
  readonly stale: boolean
}

export interface GroupCacheOptions extends PamDeps {
  readonly lists: ListStore
  readonly reader: ListReader
}

/** A directory is refreshed at most this often for each of its pages. */
const REFRESH_PAGE_EVERY_MS = 60_000
/** The shortest time between two background refreshes of a list by this process. */
const REFRESH_EVERY_MS = 2000

export type GroupCache = ReturnType<typeof createGroupCache>

/** Serves lists: fresh, stale during a refresh, or stale after a failed refresh. */
export function createGroupCache(options: GroupCacheOptions) {
  const { lists, monotonic } = options
  const read = createSharedRead(options)
  const refreshedAt = new WeakMap<GroupList, number>()

  /**
   * Returns at once. A failure is already logged and counted; callers get it once the list is too
   * old to be served.
   */
  function refresh(ref: ListRef, place: Place, list: GroupList, requestId: string): void {
    if (monotonic() < (refreshedAt.get(list) ?? Number.NEGATIVE_INFINITY) + REFRESH_EVERY_MS) return
    refreshedAt.set(list, monotonic())
    read(ref, place, { background: true, requestId }).catch(() => {})
  }

  return {
    /**
     * A cached list that is older than `maxAgeMs` is not served. One that was just read may be
     * older, if its read was interrupted (list-reader.ts).
     *
     * @throws PamFailure
     */
    async get(ref: ListRef, requestId: string, maxAgeMs = Number.POSITIVE_INFINITY): Promise<ServedList> {
      const place = await lists.find(ref)
      const { list } = place
      const context = { background: false, requestId }
      const ageMs = list === undefined ? Number.POSITIVE_INFINITY : monotonic() - list.beganAt
      const limits = getAgeLimits(ref, list, options)
      if (list === undefined || ageMs > Math.min(limits.onErrorMs, maxAgeMs))
        return serve(ref, 'miss', await read(ref, place, context), options)
      if (ageMs > limits.staleMs) return serveInTime(ref, read(ref, place, context), list, options)
      if (ageMs <= limits.freshMs) return serve(ref, 'fresh', list, options)
      refresh(ref, place, list, requestId)
      return serve(ref, 'stale', list, options)
    },
  }
}

/** Reads a list from the API and stores it, once over all replicas. */
function createSharedRead({ lists, reader, ...deps }: GroupCacheOptions) {
  const coalesce = createCoalescing<GroupList>(deps)

  return function read(ref: ListRef, place: Place, context: CallContext): Promise<GroupList> {
    const calledAt = deps.monotonic()
    return coalesce(deps.keyOf('pamGroupsLock', [place.name]), {
      background: context.background,
      async read() {
        const { list } = await lists.load(ref, place.name)
        if (list === undefined || list.beganAtMs === place.list?.beganAtMs) return undefined
        return calledAt - list.beganAt <= getAgeLimits(ref, list, deps).staleMs ? list : undefined
      },
      fetch: () => reader.read(ref, place, context, getAgeLimits(ref, undefined, deps)),
    })
  }
}

type Outcome = 'fresh' | 'stale' | 'miss' | 'stale_on_timeout' | 'stale_on_error'

function serve(ref: ListRef, outcome: Outcome, list: GroupList, deps: PamDeps): ServedList {
  if (list.isUnknown) throw new PamFailure('unknown_user')
  deps.metrics.pamCacheRequests.inc({ list: ref.kind, outcome })
  const ageMs = deps.monotonic() - list.beganAt
  return { list, ageMs, stale: ageMs > getAgeLimits(ref, list, deps).freshMs }
}

/**
 * Serves the cached list if the read takes too long, or fails with an error whose policy allows a
 * stale list.
 */
async function serveInTime(
  ref: ListRef,
  reading: Promise<GroupList>,
  cached: GroupList,
  deps: PamDeps,
): Promise<ServedList> {
  try {
    const found = await inTime(reading, deps.maxWaitMs, deps.startTimer)
    return serve(ref, found === undefined ? 'stale_on_timeout' : 'miss', found ?? cached, deps)
  } catch (error) {
    if (!(error instanceof PamFailure) || !error.policy.stale) throw error
    return serve(ref, 'stale_on_error', cached, deps)
  }
}

/**
 * The greatest age at which a list is served without a refresh, while it is refreshed, and after a
 * failed refresh (docs/conformance.md D-3). A list that is too old to be served after an error is
 * not served during a refresh either, because the refresh may fail.
 */
function getAgeLimits({ kind }: ListRef, list: GroupList | undefined, { tunables, pageLimits }: PamDeps) {
  if (list?.isUnknown)
    return { freshMs: UNKNOWN_USER_MS, staleMs: UNKNOWN_USER_MS, onErrorMs: UNKNOWN_USER_MS }
  const onErrorMs = kind === 'me' ? tunables.lists.meOnErrorMs : tunables.lists.onErrorMs
  const staleMs = Math.min(tunables.lists.staleMs, onErrorMs)
  // A list with many pages stays fresh for longer, but a refresh must still end before the list is
  // too old to be served.
  const pages = kind === 'me' ? 0 : (list?.asked.length ?? 0)
  const longMs = Math.min(REFRESH_PAGE_EVERY_MS * pages, staleMs - pageLimits.maxTotalMs)
  return { freshMs: Math.max(tunables.lists.freshMs, longMs), staleMs, onErrorMs }
}
