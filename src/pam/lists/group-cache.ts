import { inTime } from '../../upstream/start-timer.ts'
import type { ListRef } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { getAgeLimits, getAgeMs, getFreshMs } from './freshness.ts'
import type { GroupLists } from './group-lists.ts'
import type { ListReader } from './list-reader.ts'
import type { CachedList, GroupList } from './list-records.ts'

export interface LookupOptions {
  readonly requestId: string
  /**
   * The greatest age that the data may have at the time of the call. If there is none that is new enough, the answer is 503.
   * undefined: the configured limits apply.
   */
  readonly maxAgeMs: number | undefined
}

export interface ServedList {
  /** The same object as long as the list is the same, so that results can be memoized with it. */
  readonly list: GroupList
  readonly ageMs: number
  readonly stale: boolean
}

export interface GroupCacheOptions
  extends Pick<PamDeps, 'clock' | 'monotonic' | 'startTimer' | 'tunables' | 'metrics'> {
  readonly lists: GroupLists
  readonly reader: ListReader
}

export type GroupCache = ReturnType<typeof createGroupCache>

/** Serves lists: fresh, stale during a refresh, or stale after a failed refresh. */
export function createGroupCache(options: GroupCacheOptions) {
  const { lists, reader, tunables } = options

  /** undefined: the caller must wait for PAM. */
  function serveFromCache(
    list: ListRef,
    cached: CachedList | undefined,
    maxAgeMs: number,
    requestId: string,
  ): ServedList | undefined {
    if (cached === undefined || cached.isPurged) return undefined
    const ageMs = getAgeMs(cached, options)
    if (cached.groups === undefined) {
      if (ageMs <= Math.min(tunables.unknownUserMs, maxAgeMs)) throw new PamFailure('unknown_user')
      return undefined
    }
    if (ageMs <= Math.min(getFreshMs(list.kind, cached, tunables.lists), maxAgeMs))
      return serve(list, 'fresh', cached, options)
    if (ageMs > getAgeLimits(list.kind, tunables.lists, maxAgeMs).staleMs) return undefined
    reader.refresh(list, cached, requestId)
    return serve(list, 'stale', cached, options)
  }

  return {
    /** @throws PamFailure */
    async get(list: ListRef, { requestId, maxAgeMs = Number.POSITIVE_INFINITY }: LookupOptions) {
      const cached = await lists.get(list)
      const served = serveFromCache(list, cached, maxAgeMs, requestId)
      if (served !== undefined) return served
      const reading = reader.read(list, cached, maxAgeMs, requestId).then(requireGroups)
      const { onErrorMs } = getAgeLimits(list.kind, tunables.lists, maxAgeMs)
      return cached?.groups === undefined || getAgeMs(cached, options) > onErrorMs
        ? serve(list, 'miss', await reading, options)
        : serveInTime(list, reading, cached, options)
    },
  }
}

function requireGroups(list: CachedList): GroupList {
  if (list.groups === undefined) throw new PamFailure('unknown_user')
  return list
}

type Outcome = 'fresh' | 'stale' | 'miss' | 'stale_on_timeout' | 'stale_on_error'

function serve({ kind }: ListRef, outcome: Outcome, list: GroupList, options: GroupCacheOptions): ServedList {
  options.metrics.pamCacheRequests.inc({ list: kind, outcome })
  const ageMs = getAgeMs(list, options)
  return { list, ageMs, stale: ageMs > getFreshMs(kind, list, options.tunables.lists) }
}

/** Serves the cached list if the read takes too long, or fails with an error whose policy allows a stale list. */
async function serveInTime(
  list: ListRef,
  reading: Promise<GroupList>,
  cached: GroupList,
  options: GroupCacheOptions,
): Promise<ServedList> {
  const { startTimer, tunables } = options
  try {
    const found = await inTime(reading, tunables.rateLimit.maxWaitMs, startTimer)
    return found === undefined
      ? serve(list, 'stale_on_timeout', cached, options)
      : serve(list, 'miss', found, options)
  } catch (error) {
    if (!(error instanceof PamFailure) || !error.policy.stale) throw error
    return serve(list, 'stale_on_error', cached, options)
  }
}
