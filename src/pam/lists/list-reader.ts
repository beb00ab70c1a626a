import type { ListRef } from '../upstream/group.ts'
import type { CallContext, PamCall } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure, type PamOutcome } from '../upstream/pam-errors.ts'
import type { ListStore, Place } from './list-store.ts'
import { type FetchPage, ListPages, noPages, readPages } from './pages.ts'

/** The greatest age at which a list is served while it is refreshed, and after a failed refresh. */
type AgeLimits = Readonly<Record<'staleMs' | 'onErrorMs', number>>

export interface ListReaderOptions extends PamDeps {
  /** With the service user's token. */
  readonly call: PamCall
  readonly lists: ListStore
}

/** How long PAM is not asked again about a user that it does not know. */
export const UNKNOWN_USER_MS = 60_000
/** How long PAM is not asked again if the team is disabled. */
const TEAM_DISABLED_MS = 5 * 60_000

const FIRST_PAGE_SUBJECT = { me: 'user', directory: 'team' } as const
/**
 * They show nothing about the API: a rate limit, an open circuit breaker, or no free connection.
 */
const INCONCLUSIVE: ReadonlySet<PamOutcome> = new Set(['too_many_requests', 'held_back'])
/** The pages that were read are not of one list, or do not lead to its end. */
const DISCARDS_PAGES: ReadonlySet<PamOutcome> = new Set(['page_gone', 'unreadable'])

export type ListReader = ReturnType<typeof createListReader>

/** Reads whole lists from the API, and stores them. */
export function createListReader(options: ListReaderOptions) {
  const { store, lists, clock } = options
  const pauseKey = options.keyOf('pamTeamPause')
  /**
   * The pages of reads that a failure interrupted, such as a rate limit. Each replica can continue
   * them.
   */
  const interrupted = options.recordsOf('pamGroups', ListPages)
  let state: 'ok' | 'failing' | 'unknown' = 'unknown'

  return {
    /** The state of the API, by the last read. */
    state: () => state,

    /**
     * Continues an interrupted read if it is newer than the known list, and its result could still
     * be served.
     *
     * @throws PamFailure
     */
    async read(ref: ListRef, { name, list: known }: Place, context: CallContext, limits: AgeLimits) {
      if ((await store.get(pauseKey)) !== undefined) throw new PamFailure('disabled_team')
      const interruptedName = `${name} interrupted`
      const found = (await interrupted.read(interruptedName))?.value
      const notBefore = Math.max(known?.beganAtMs ?? 0, clock.now() - limits.staleMs)
      const pages = found && found.beganAtMs > notBefore ? found : noPages()
      try {
        await readRemaining(ref, pages, context, options)
      } catch (error) {
        if (!(error instanceof PamFailure)) throw error
        const { outcome, policy } = error
        if (!INCONCLUSIVE.has(outcome)) state = outcome === 'unknown_user' ? 'ok' : 'failing'
        if (!policy.stale || DISCARDS_PAGES.has(outcome)) await interrupted.remove(interruptedName)
        else if (pages.asked.length > 0) await interrupted.write(interruptedName, pages, limits.staleMs)
        if (policy.purges === 'list') await lists.purge(ref)
        if (policy.purges === 'team')
          await Promise.all([store.set(pauseKey, '', TEAM_DISABLED_MS), lists.purgeAll()])
        if (outcome !== 'unknown_user') throw error
        return lists.put(ref, name, { ...noPages(clock.now()), isUnknown: true }, UNKNOWN_USER_MS)
      }
      state = 'ok'
      return lists.put(ref, name, pages, limits.onErrorMs)
    },
  }
}

/** The calls of one read share the time that they may wait. */
async function readRemaining(
  ref: ListRef,
  pages: ListPages,
  context: CallContext,
  { call, teamPath, ...deps }: ListReaderOptions,
): Promise<void> {
  const { clock, monotonic, maxWaitMs, log, metrics } = deps
  const startedAt = monotonic()
  const budget = { leftMs: maxWaitMs }
  const fetchPage: FetchPage = async (path, timeoutMs) => {
    const isFirst = pages.asked.length === 0
    const subject = isFirst ? FIRST_PAGE_SUBJECT[ref.kind] : 'later_page'
    const lowPriority = ref.kind === 'directory'
    const answer = await call({ path, subject, lowPriority, ...context, budget, timeoutMs })
    if (isFirst) pages.beganAtMs = clock.now() - (monotonic() - startedAt)
    metrics.pamPagesFetched.inc({ list: ref.kind })
    return answer
  }
  const owner = ref.kind === 'me' ? `${teamPath}/users/${encodeURIComponent(ref.user)}` : teamPath
  try {
    await readPages(`${owner}/groups`, fetchPage, deps, pages)
  } catch (error) {
    if (error instanceof PamFailure && error.outcome === 'unreadable') {
      metrics.pamErrors.inc({ name: error.outcome })
      const { requestId } = context
      log.error('pam_response_invalid', { requestId, upstream: 'pam', operation: ref.kind }, error)
    }
    throw error
  }
}
