import type { Coalescing, SharedFetch } from '../shared/coalescing.ts'
import type { PamRecords } from '../shared/pam-records.ts'
import type { Group, ListRef } from '../upstream/group.ts'
import type { CallContext } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { getAgeLimits, getAgeMs, getMinReadAgeMs } from './freshness.ts'
import type { GroupLists } from './group-lists.ts'
import type { ListBackoff } from './list-backoff.ts'
import { type CachedList, listName } from './list-records.ts'
import { newReadProgress, type ReadProgress } from './pages.ts'
import type { PamClient } from './pam-client.ts'
import { refreshIntervalMs } from './refresh-interval.ts'
import type { TeamDisabled } from './team-disabled.ts'

export interface ListReaderOptions
  extends Pick<PamDeps, 'names' | 'scope' | 'clock' | 'monotonic' | 'tunables'> {
  readonly client: PamClient
  readonly lists: GroupLists
  /** The progress of reads that a failure interrupted, such as a closed rate-limit gate. Each replica can continue them. */
  readonly interrupted: PamRecords<ReadProgress>
  readonly backoff: ListBackoff
  readonly coalescing: Coalescing<CachedList>
  readonly team: TeamDisabled
}

/** A user's status is read before the pages. */
const CALLS_BEFORE_PAGES = { directory: 0, me: 1 } as const

export type ListReader = ReturnType<typeof createListReader>

/** Reads lists from the API and stores them, once over all replicas. */
export function createListReader(options: ListReaderOptions) {
  const { names, scope, monotonic, coalescing } = options
  const lockKeyOf = (list: ListRef) => `gatehouse:lock:pam-groups:${names.sign(listName(list, scope))}`

  return {
    /**
     * Returns a list that is newer than `cached`, and was not older than `maxAgeMs` at the time of the call.
     *
     * @throws PamFailure
     */
    async read(
      list: ListRef,
      cached: CachedList | undefined,
      maxAgeMs: number,
      requestId: string,
    ): Promise<CachedList> {
      if (cached !== undefined) refuseEarlyRead(list, cached, options)
      const calledAt = monotonic()
      const readNewerThan = (known: CachedList | undefined) => {
        const fetch = createFetch(known, list, { background: false, requestId }, calledAt, options)
        return coalescing.run(lockKeyOf(list), fetch)
      }
      const found = await readNewerThan(cached)
      const isInvalid = cached?.isPurged && found.generation !== cached.generation
      if (isInvalid) refuseEarlyRead(list, found, options)
      else if (getAgeMs(found, options) <= maxAgeMs + monotonic() - calledAt) return found
      // That read started before this call, or continued older pages. A second read does neither.
      return readNewerThan(found)
    },

    /** Reads in the background, and returns at once. After a failure, the list is not refreshed again for a moment. */
    refresh(list: ListRef, cached: CachedList, requestId: string): void {
      const fetch = createFetch(cached, list, { background: true, requestId }, monotonic(), options)
      // The failure is already logged and counted. Callers get it once the list is too old to be served.
      coalescing.refresh(lockKeyOf(list), fetch)?.catch(() => {})
    },
  }
}

/** Throws if it is too early for `maxAge` or a purge to cause another read. */
function refuseEarlyRead({ kind }: ListRef, last: CachedList, options: ListReaderOptions): void {
  const retryAfterMs = getMinReadAgeMs(kind, last, options.tunables) - getAgeMs(last, options)
  if (retryAfterMs > 0) throw new PamFailure('too_many_requests', { retryAfterMs })
}

/** A list that another replica has stored after `known` is used, unless it was too old to be served at `calledAt`. */
function createFetch(
  known: CachedList | undefined,
  list: ListRef,
  context: CallContext,
  calledAt: number,
  options: ListReaderOptions,
): SharedFetch<CachedList> {
  const { lists, clock, monotonic, tunables } = options
  const maxAgeMs = () => getAgeLimits(list.kind, tunables.lists).staleMs + monotonic() - calledAt
  return {
    background: context.background,
    async read() {
      const newer = await lists.getFromStore(list)
      if (newer === undefined || newer.isPurged || newer.id === known?.id) return undefined
      const limitMs = newer.groups === undefined ? tunables.unknownUserMs : maxAgeMs()
      return getAgeMs(newer, options) <= limitMs ? newer : undefined
    },
    // An interrupted read is continued whatever `maxAge` is: otherwise polling would keep a long list from completing.
    fetch: () =>
      readAndStore(list, context, Math.max(known?.fetchedAtMs ?? 0, clock.now() - maxAgeMs()), options),
  }
}

/** Continues an interrupted read that started after `startedAfterMs`. */
async function readAndStore(
  list: ListRef,
  context: CallContext,
  startedAfterMs: number,
  options: ListReaderOptions,
): Promise<CachedList> {
  const { client, lists, interrupted, backoff, team, scope, clock, monotonic, tunables } = options
  const name = listName(list, scope)
  const invalidBeforeMs = await team.check()
  backoff.check(name)
  const startedAt = monotonic()
  const generation = await lists.getGeneration(list)
  const readName = `${name} ${generation} paused` // as in older versions
  const found = await interrupted.find(readName)
  const isRecent = found !== undefined && found.beganAtMs > Math.max(startedAfterMs, invalidBeforeMs)
  const read = isRecent ? found : newReadProgress()
  const pagesBefore = read.asked.length
  try {
    const { groups, isDisabled } = await client.groups(list, context, read)
    const stored = await lists.put(list, {
      groups: sortById(groups),
      isDisabled,
      fetchedAtMs: read.beganAtMs, // as old as the first page: later changes may be missing
      generation,
      refreshAfterMs: refreshIntervalMs(read.asked.length + CALLS_BEFORE_PAGES[list.kind], read.rate),
    })
    if (isRecent) await interrupted.remove(readName)
    backoff.recordSuccess(name)
    return stored
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    if (!error.policy.keepsPages) await interrupted.remove(readName)
    else if (read.asked.length !== pagesBefore)
      await interrupted.write(readName, read, tunables.lists.staleMs)
    const started = { generation, fetchedAtMs: clock.now() - (monotonic() - startedAt) }
    await applyPolicy(error, list, read, started, options)
    throw error
  }
}

async function applyPolicy(
  failure: PamFailure,
  list: ListRef,
  { asked, rate }: ReadProgress,
  started: Pick<CachedList, 'generation' | 'fetchedAtMs'>,
  { lists, team, backoff, scope }: ListReaderOptions,
): Promise<void> {
  const { outcome, policy, wasDeferred } = failure
  if (outcome === 'unknown_user') {
    backoff.recordSuccess(listName(list, scope))
    await lists.put(list, { ...started, refreshAfterMs: refreshIntervalMs(1, rate) })
  } else if (!wasDeferred) {
    const pages = policy.keepsPages ? 0 : asked.length
    const intervalMs = refreshIntervalMs(pages, rate)
    backoff.recordFailure(listName(list, scope), failure, { pages, intervalMs })
  }
  if (policy.purges === 'list') await lists.remove(list)
  if (policy.purges === 'team') {
    await team.pause()
    lists.clearMemory()
  }
}

/** So that a cursor keeps its position in the list when groups are added or removed. */
function sortById(groups: Group[]): Group[] {
  return groups.sort((one, other) => (one.id < other.id ? -1 : 1))
}
