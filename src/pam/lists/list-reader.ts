import type { Coalescing, SharedFetch } from '../shared/coalescing.ts'
import type { Group, ListOf } from '../upstream/group.ts'
import type { OnAccountOf } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { ageLimitsOf, ageOf, earliestReadMs } from './freshness.ts'
import type { GroupLists } from './group-lists.ts'
import type { ListBackoff } from './list-backoff.ts'
import { type CachedList, type InterruptedReads, nameOf } from './list-records.ts'
import { newPageRead, type PageRead } from './pages.ts'
import type { PamClient } from './pam-client.ts'
import { refreshIntervalMs } from './refresh-interval.ts'
import type { TeamDisabled } from './team-disabled.ts'

/** Reads lists from the API and stores them, once over all replicas. Throws `PamFailure`. */
export interface ListReader {
  /** A list that is not `seen`, and was not older than `maxAgeMs` at the time of the call. */
  read(list: ListOf, seen: CachedList | undefined, maxAgeMs: number, requestId: string): Promise<CachedList>
  /** Reads in the background, and returns at once. After a failure, that list is not read again for a moment. */
  refresh(list: ListOf, seen: CachedList, requestId: string): void
}

export interface ListReaderOptions
  extends Pick<PamDeps, 'names' | 'scope' | 'clock' | 'monotonic' | 'tunables'> {
  readonly client: PamClient
  readonly lists: GroupLists
  readonly interrupted: InterruptedReads
  readonly backoff: ListBackoff
  readonly coalescing: Coalescing<CachedList>
  readonly team: TeamDisabled
}

export function createListReader(options: ListReaderOptions): ListReader {
  const { names, scope, monotonic, coalescing } = options
  const lockKeyOf = (list: ListOf) => `gatehouse:lock:pam-groups:${names.sign(nameOf(list, scope))}`

  return {
    async read(list, seen, maxAgeMs, requestId) {
      if (seen !== undefined) refuseEarlyRead(list, seen, options)
      const askedAt = monotonic()
      const readAfter = (newest: CachedList | undefined) => {
        const fetch = fetchAfter(newest, list, { background: false, requestId }, askedAt, options)
        return coalescing.run(lockKeyOf(list), fetch)
      }
      const found = await readAfter(seen)
      const isVoid = seen?.isPurged && found.generation !== seen.generation
      if (isVoid) refuseEarlyRead(list, found, options)
      else if (ageOf(found, options) <= maxAgeMs + monotonic() - askedAt) return found
      // That read began before this call, or it continued older pages. The next one does neither.
      return readAfter(found)
    },

    refresh(list, seen, requestId) {
      const fetch = fetchAfter(seen, list, { background: true, requestId }, monotonic(), options)
      // A failure is logged and counted where it happens. Callers see it once the list is too old to be served.
      coalescing.refresh(lockKeyOf(list), fetch)?.catch(() => {})
    },
  }
}

/** Throws if neither `maxAge` nor a purge may have the list read again yet. */
function refuseEarlyRead({ kind }: ListOf, last: CachedList, options: ListReaderOptions): void {
  const retryAfterMs = earliestReadMs(kind, last, options.tunables) - ageOf(last, options)
  if (retryAfterMs > 0) throw new PamFailure('too_many_requests', { retryAfterMs })
}

/** A list that another replica has stored since `seen` serves as well, unless it was too old to be served at `askedAt`. */
function fetchAfter(
  seen: CachedList | undefined,
  list: ListOf,
  account: OnAccountOf,
  askedAt: number,
  options: ListReaderOptions,
): SharedFetch<CachedList> {
  const { lists, clock, monotonic, tunables } = options
  const maxAgeMs = () => ageLimitsOf(list.kind, tunables.lists).staleMs + monotonic() - askedAt
  return {
    background: account.background,
    async read() {
      const newer = await lists.lookInStore(list)
      if (newer === undefined || newer.isPurged || newer.id === seen?.id) return undefined
      const limitMs = newer.groups === undefined ? tunables.unknownUserMs : maxAgeMs()
      return ageOf(newer, options) <= limitMs ? newer : undefined
    },
    // An interrupted read is continued whatever `maxAge` is: otherwise polling would keep a long list from completing.
    fetch: () =>
      readAndStore(list, account, Math.max(seen?.fetchedAtMs ?? 0, clock.now() - maxAgeMs()), options),
  }
}

/** Continues an interrupted read if that began after `beganAfterMs`. */
async function readAndStore(
  list: ListOf,
  account: OnAccountOf,
  beganAfterMs: number,
  options: ListReaderOptions,
): Promise<CachedList> {
  const { client, lists, interrupted, backoff, team, scope, clock, monotonic } = options
  const name = nameOf(list, scope)
  const voidBeforeMs = await team.check()
  backoff.check(name)
  const startedAt = monotonic()
  const generation = await lists.generation(list)
  const readName = `${name} ${generation}`
  const found = await interrupted.find(readName, Math.max(beganAfterMs, voidBeforeMs))
  const read = found ?? newPageRead()
  const pagesBefore = read.asked.length
  try {
    const groups = await client.groups(list, account, read)
    const stored = await lists.put(list, {
      groups: sorted(groups),
      fetchedAtMs: read.beganAtMs, // as old as the first page: changes since then may be missing
      generation,
      refreshAfterMs: refreshIntervalMs(read.asked.length, read.rate),
    })
    if (found !== undefined) await interrupted.drop(readName)
    backoff.succeeded(name)
    return stored
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    if (!error.rule.keepsPages) await interrupted.drop(readName)
    else if (read.asked.length !== pagesBefore) await interrupted.keep(readName, read)
    const begun = { generation, fetchedAtMs: clock.now() - (monotonic() - startedAt) }
    await afterFailure(list, error, read, begun, options)
    throw error
  }
}

async function afterFailure(
  list: ListOf,
  failure: PamFailure,
  { asked, rate }: PageRead,
  begun: Pick<CachedList, 'generation' | 'fetchedAtMs'>,
  { lists, team, backoff, scope }: ListReaderOptions,
): Promise<void> {
  const { outcome, rule, wasDeferred } = failure
  if (outcome === 'unknown_person') {
    backoff.succeeded(nameOf(list, scope))
    await lists.put(list, { ...begun, refreshAfterMs: refreshIntervalMs(1, rate) })
  } else if (!wasDeferred) {
    const pages = rule.keepsPages ? 0 : asked.length
    backoff.failed(nameOf(list, scope), failure, { pages, intervalMs: refreshIntervalMs(pages, rate) })
  }
  if (rule.purges === 'list') await lists.remove(list)
  if (rule.purges === 'team') {
    await team.begin()
    lists.clearMemory()
  }
}

/** By id, so that a cursor stays a place in the list when groups are added or removed. */
function sorted(groups: Group[]): Group[] {
  return groups.sort((one, other) => (one.id < other.id ? -1 : 1))
}
