import type { SealedRecords } from '../../store/sealed-records.ts'
import { inTime } from '../../upstream/start-timer.ts'
import type { Coalesce } from '../shared/coalescing.ts'
import type { ListRef } from '../upstream/group.ts'
import type { CallContext } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import type { GroupList, GroupLists, Place } from './group-lists.ts'
import { type ListPages, noPages } from './pages.ts'
import type { PamClient } from './pam-client.ts'
import type { Purges } from './purges.ts'

export interface LookupOptions {
  readonly requestId: string
  /** The greatest age that the data may have. If there is none that is new enough, it is an error. */
  readonly maxAgeMs?: number
}

export interface ServedList {
  /** The same object as long as the list is the same, so that results can be cached with it. */
  readonly list: GroupList
  readonly ageMs: number
  readonly stale: boolean
}

export interface GroupCacheOptions
  extends Pick<
    PamDeps,
    'keyOf' | 'clock' | 'monotonic' | 'startTimer' | 'tunables' | 'pageLimits' | 'maxWaitMs' | 'metrics'
  > {
  readonly lists: GroupLists
  readonly purges: Pick<Purges, 'checkTeam'>
  readonly client: PamClient
  readonly coalesce: Coalesce<GroupList>
  /** The pages of reads that a failure interrupted, such as a rate limit. Each replica can continue them. */
  readonly interrupted: Pick<SealedRecords<ListPages>, 'read' | 'write' | 'remove'>
}

export type GroupCache = ReturnType<typeof createGroupCache>

/** A directory is refreshed at most this often for each of its pages. */
const REFRESH_PAGE_EVERY_MS = 60_000
/** The shortest time between two background refreshes of a list by this process. */
const REFRESH_EVERY_MS = 2000

/** Serves lists: fresh, stale during a refresh, or stale after a failed refresh. */
export function createGroupCache(options: GroupCacheOptions) {
  const { lists, monotonic } = options
  const refreshedAt = new WeakMap<GroupList, number>()

  /** Returns at once. A failure is already logged and counted; callers get it once the list is too old to be served. */
  function refresh(ref: ListRef, { name, list }: Found, requestId: string): void {
    if (monotonic() < (refreshedAt.get(list) ?? Number.NEGATIVE_INFINITY) + REFRESH_EVERY_MS) return
    refreshedAt.set(list, monotonic())
    readShared(ref, { name, list }, { background: true, requestId }, options).catch(() => {})
  }

  return {
    /** @throws PamFailure */
    async get(
      ref: ListRef,
      { requestId, maxAgeMs = Number.POSITIVE_INFINITY }: LookupOptions,
    ): Promise<ServedList> {
      const { name, list } = await lists.find(ref)
      if (list === undefined)
        return serve(ref, 'miss', await read(ref, { name, list }, maxAgeMs, requestId, options), options)
      const ageMs = monotonic() - list.beganAt
      const limits = getAgeLimits(ref, list, options, maxAgeMs)
      if (ageMs <= limits.freshMs) return serve(ref, 'fresh', list, options)
      if (ageMs <= limits.staleMs) {
        refresh(ref, { name, list }, requestId)
        return serve(ref, 'stale', list, options)
      }
      const reading = read(ref, { name, list }, maxAgeMs, requestId, options)
      return ageMs <= limits.onErrorMs
        ? serveInTime(ref, reading, list, options)
        : serve(ref, 'miss', await reading, options)
    },
  }
}

type Found = Place & { readonly list: GroupList }

/**
 * The greatest age at which a list is served without a refresh, while it is refreshed, and after a failed refresh (docs/conformance.md
 * D-3). A list that is too old to be served after an error is not served during a refresh either, because the refresh may fail.
 */
/** How long PAM is not asked again about a user that it does not know. */
const UNKNOWN_USER_MS = 60_000

function getAgeLimits(
  { kind }: ListRef,
  { isUnknown, asked }: Pick<ListPages, 'isUnknown' | 'asked'>,
  { tunables, pageLimits }: Pick<GroupCacheOptions, 'tunables' | 'pageLimits'>,
  maxAgeMs = Number.POSITIVE_INFINITY,
) {
  if (isUnknown) return { freshMs: Math.min(UNKNOWN_USER_MS, maxAgeMs), staleMs: 0, onErrorMs: 0 }
  const { freshMs, staleMs, meOnErrorMs } = tunables.lists
  const onErrorMs = kind === 'me' ? meOnErrorMs : tunables.lists.onErrorMs
  const refreshMs = Math.min(staleMs, onErrorMs)
  // A list with many pages stays fresh for longer, but a refresh must still end before the list is too old to be served.
  const longMs =
    kind === 'me' ? 0 : Math.min(REFRESH_PAGE_EVERY_MS * asked.length, refreshMs - pageLimits.maxTotalMs)
  return {
    freshMs: Math.min(Math.max(freshMs, longMs), maxAgeMs),
    staleMs: Math.min(refreshMs, maxAgeMs),
    onErrorMs: Math.min(onErrorMs, maxAgeMs),
  }
}

type Outcome = 'fresh' | 'stale' | 'miss' | 'stale_on_timeout' | 'stale_on_error'

function serve(ref: ListRef, outcome: Outcome, list: GroupList, options: GroupCacheOptions): ServedList {
  if (list.isUnknown) throw new PamFailure('unknown_user')
  options.metrics.pamCacheRequests.inc({ list: ref.kind, outcome })
  const ageMs = options.monotonic() - list.beganAt
  return { list, ageMs, stale: ageMs > getAgeLimits(ref, list, options).freshMs }
}

/** Serves the cached list if the read takes too long, or fails with an error whose policy allows a stale list. */
async function serveInTime(
  ref: ListRef,
  reading: Promise<GroupList>,
  cached: GroupList,
  options: GroupCacheOptions,
): Promise<ServedList> {
  const { startTimer, maxWaitMs } = options
  try {
    const found = await inTime(reading, maxWaitMs, startTimer)
    return serve(ref, found === undefined ? 'stale_on_timeout' : 'miss', found ?? cached, options)
  } catch (error) {
    if (!(error instanceof PamFailure) || !error.policy.stale) throw error
    return serve(ref, 'stale_on_error', cached, options)
  }
}

/** Returns another list than the known one. It was not older than `maxAgeMs` at the time of the call. */
async function read(
  ref: ListRef,
  { name, list: known }: Place,
  maxAgeMs: number,
  requestId: string,
  options: GroupCacheOptions,
): Promise<GroupList> {
  const notBefore = options.monotonic() - maxAgeMs
  const context = { background: false, requestId }
  const list = await readShared(ref, { name, list: known }, context, options)
  // That read may have continued older pages: otherwise, polling would keep a long list from completing. A second read does not.
  return list.beganAt >= notBefore ? list : readShared(ref, { name, list }, context, options)
}

/** Reads a list from the API and stores it, once over all replicas. */
function readShared(
  ref: ListRef,
  { name, list: known }: Place,
  context: CallContext,
  options: GroupCacheOptions,
): Promise<GroupList> {
  const { lists, coalesce, keyOf, monotonic } = options
  const calledAt = monotonic()
  return coalesce(keyOf('lock:pam-groups', [name]), {
    background: context.background,
    async read() {
      const { list } = await lists.load(ref, name)
      if (list === undefined || list.beganAtMs === known?.beganAtMs) return undefined
      const { freshMs, staleMs } = getAgeLimits(ref, list, options)
      return calledAt - list.beganAt <= Math.max(freshMs, staleMs) ? list : undefined
    },
    fetch: () => readAndStore(ref, { name, list: known }, context, options),
  })
}

/** Continues an interrupted read if it is newer than the known list, and its result could still be served. */
async function readAndStore(
  ref: ListRef,
  { name, list: known }: Place,
  context: CallContext,
  options: GroupCacheOptions,
): Promise<GroupList> {
  const { lists, client, interrupted, clock, monotonic, tunables } = options
  await options.purges.checkTeam()
  const startedAt = monotonic()
  const interruptedName = `${name} interrupted`
  const found = (await interrupted.read(interruptedName).catch(() => undefined))?.value
  const { staleMs, onErrorMs } = getAgeLimits(ref, noPages(), options)
  const isUsable = found && found.beganAtMs > Math.max(known?.beganAtMs ?? 0, clock.now() - staleMs)
  const pages = isUsable ? found : noPages()
  const askedBefore = pages.asked.length
  const forget = () => interrupted.remove(interruptedName).catch(() => false)
  try {
    await client.read(ref, context, pages)
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    const { outcome, policy } = error
    if (!policy.keepsPages) await forget()
    else if (pages.asked.length !== askedBefore)
      await interrupted.write(interruptedName, pages, tunables.lists.staleMs).catch(() => {})
    if (policy.purges === 'list') await lists.purge(ref)
    if (policy.purges === 'team') await lists.pauseTeam()
    if (outcome !== 'unknown_user') throw error
    const unknown = { ...noPages(clock.now() - (monotonic() - startedAt)), isUnknown: true as const }
    return lists.put(ref, name, unknown, UNKNOWN_USER_MS)
  }
  if (found !== undefined) await forget()
  return lists.put(ref, name, pages, Math.max(onErrorMs, tunables.lists.freshMs))
}
