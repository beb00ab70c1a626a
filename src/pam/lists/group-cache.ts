import type { ListOf } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { ageLimitsOf, ageOf, freshMsOf } from './freshness.ts'
import type { GroupLists } from './group-lists.ts'
import type { ListReader } from './list-reader.ts'
import type { CachedList, KnownList } from './list-records.ts'

/** Lists with their age: fresh, stale during a refresh, stale if the refresh fails, else the failure (DESIGN §6). */
export interface GroupCache {
  /** Throws `PamFailure`. With `maxAgeMs`, the list was not older at the time of the call. */
  get(list: ListOf, options: { requestId: string; maxAgeMs?: number | undefined }): Promise<ServedList>
}

export interface ServedList {
  /** The same object as long as the list is the same, so that what is made from it can be kept. */
  readonly list: KnownList
  readonly ageMs: number
  readonly stale: boolean
}

export interface GroupCacheOptions
  extends Pick<PamDeps, 'clock' | 'monotonic' | 'startTimer' | 'tunables' | 'metrics'> {
  readonly lists: GroupLists
  readonly reader: ListReader
}

export function createGroupCache(options: GroupCacheOptions): GroupCache {
  const { lists, reader, tunables } = options

  /** undefined: there is no list that may be served without waiting for PAM. */
  function fromCache(
    list: ListOf,
    cached: CachedList | undefined,
    maxAgeMs: number,
    requestId: string,
  ): ServedList | undefined {
    if (cached === undefined || cached.isPurged) return undefined
    const ageMs = ageOf(cached, options)
    if (cached.groups === undefined) {
      if (ageMs <= Math.min(tunables.unknownUserMs, maxAgeMs)) throw new PamFailure('unknown_person')
      return undefined
    }
    if (ageMs <= Math.min(freshMsOf(list.kind, cached, tunables.lists), maxAgeMs))
      return serve(list, 'fresh', cached, options)
    if (ageMs > ageLimitsOf(list.kind, tunables.lists, maxAgeMs).staleMs) return undefined
    reader.refresh(list, cached, requestId)
    return serve(list, 'stale', cached, options)
  }

  return {
    async get(list, { requestId, maxAgeMs = Number.POSITIVE_INFINITY }) {
      const cached = await lists.look(list)
      const served = fromCache(list, cached, maxAgeMs, requestId)
      if (served !== undefined) return served
      const running = reader.read(list, cached, maxAgeMs, requestId).then(knownList)
      const { onErrorMs } = ageLimitsOf(list.kind, tunables.lists, maxAgeMs)
      return cached?.groups === undefined || ageOf(cached, options) > onErrorMs
        ? serve(list, 'miss', await running, options)
        : serveInTime(list, running, cached, options)
    },
  }
}

function knownList(cached: CachedList): KnownList {
  if (cached.groups === undefined) throw new PamFailure('unknown_person')
  return cached
}

type Outcome = 'fresh' | 'stale' | 'miss' | 'slow' | 'error'

function serve({ kind }: ListOf, outcome: Outcome, list: KnownList, options: GroupCacheOptions): ServedList {
  options.metrics.pamCache.inc({ list: kind, outcome })
  const ageMs = ageOf(list, options)
  return { list, ageMs, stale: ageMs > freshMsOf(kind, list, options.tunables.lists) }
}

/** The list that is being read; the older one if the read takes too long, or fails for a reason that permits it. */
async function serveInTime(
  list: ListOf,
  running: Promise<KnownList>,
  older: KnownList,
  options: GroupCacheOptions,
): Promise<ServedList> {
  const { startTimer, tunables } = options
  try {
    const found = await new Promise<KnownList | undefined>((resolve, reject) => {
      const stopTimer = startTimer(() => resolve(undefined), tunables.rateLimit.maxWaitMs)
      running.finally(stopTimer).then(resolve, reject)
    })
    return found === undefined ? serve(list, 'slow', older, options) : serve(list, 'miss', found, options)
  } catch (error) {
    if (!(error instanceof PamFailure) || !error.rule.stale) throw error
    return serve(list, 'error', older, options)
  }
}
