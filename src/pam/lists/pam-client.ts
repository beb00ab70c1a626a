import type { Logger } from '../../observability/logger.ts'
import { readRateLimit } from '../../upstream/rate-limit-gate.ts'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { ExpiringValues } from '../shared/expiring-values.ts'
import type { PamKey } from '../token/key-pauses.ts'
import { createMintLimit } from '../token/mint-limit.ts'
import type { AuthorizedCall } from '../token/token.ts'
import { type Group, type ListRef, parseGroup } from '../upstream/group.ts'
import type { CallContext } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure, type PamOutcome, type PamSubject } from '../upstream/pam-errors.ts'
import { parseUserStatus } from '../upstream/user-status.ts'
import type { GroupList } from './list-records.ts'
import { type ReadProgress, readPages } from './pages.ts'
import { observeRateLimit } from './refresh-interval.ts'

export interface PamClientOptions
  extends Pick<
    PamDeps,
    'origin' | 'team' | 'teamPath' | 'clock' | 'monotonic' | 'tunables' | 'log' | 'metrics'
  > {
  readonly call: AuthorizedCall
  readonly mintLimits: ExpiringValues
  readonly keys: () => readonly PamKey[]
}

const FIRST_PAGE_SUBJECT = { me: 'user', directory: 'team' } as const
/** They show nothing about the API: a rate limit, an open circuit breaker, or no free connection. */
const INCONCLUSIVE: ReadonlySet<PamOutcome> = new Set(['too_many_requests', 'held_back'])

/** The result of a read. Groups are not sorted, and deleted ones are left out. */
type ListContent = Pick<GroupList, 'isDisabled'> & { readonly groups: Group[] }

export type PamClient = ReturnType<typeof createPamClient>

/** Reads whole lists from the API. */
export function createPamClient(options: PamClientOptions) {
  const { teamPath, tunables, log, metrics } = options
  let state: 'ok' | 'failing' | 'unknown' = 'unknown'

  return {
    /** The state of the API, by the last read. */
    state: () => state,

    /**
     * Continues where `read` has stopped, and updates it.
     *
     * @throws PamFailure
     */
    async groups(list: ListRef, context: CallContext, read: ReadProgress): Promise<ListContent> {
      const path = list.kind === 'me' ? `${teamPath}/users/${encodeURIComponent(list.user)}` : teamPath
      try {
        const { fetchUser, fetchPage, leftMs } = createCalls(options, list, context, read)
        const isDisabled = list.kind === 'me' && !isActiveUser(await fetchUser(path), context, log)
        const limits = { ...tunables.lists, maxTotalMs: leftMs() }
        const pages = { ...options, limits, parse: parseGroup }
        const groups = isDisabled ? [] : await readPages(`${path}/groups`, fetchPage, pages, read)
        state = 'ok'
        return { groups, isDisabled }
      } catch (error) {
        if (!(error instanceof PamFailure)) throw error
        const { outcome } = error
        if (!INCONCLUSIVE.has(outcome)) state = outcome === 'unknown_user' ? 'ok' : 'failing'
        if (outcome === 'unreadable') {
          metrics.pamErrors.inc({ name: outcome })
          const { requestId } = context
          log.error('pam_response_invalid', { requestId, upstream: 'pam', operation: list.kind }, error)
        }
        throw error
      }
    },
  }
}

/**
 * Whether the user may have groups. A user with a status that Okta's reference does not list has none, like a disabled one.
 *
 * @throws PamFailure `unknown_user` if PAM has deleted the user
 */
function isActiveUser({ json }: UpstreamResponse, { requestId }: CallContext, log: Logger): boolean {
  const status = parseUserStatus(json)
  if (status === 'deleted') throw new PamFailure('unknown_user')
  if (status === 'other') log.error('pam_user_status_unknown', { requestId, upstream: 'pam' })
  return status === 'active'
}

/** The calls of one read. They share the time that they may wait for the rate limit. */
function createCalls(
  { call, mintLimits, keys, clock, monotonic, tunables, metrics }: PamClientOptions,
  list: ListRef,
  context: CallContext,
  read: ReadProgress,
) {
  const startedAt = monotonic()
  const budget = { leftMs: tunables.rateLimit.maxWaitMs }
  const mintLimit = createMintLimit(list, mintLimits, keys)
  const lowPriority = list.kind === 'directory'
  const onAnswer = (answer: UpstreamResponse) => {
    const nowMs = clock.now()
    read.rate = observeRateLimit(read.rate, readRateLimit(answer, 'x-ratelimit', nowMs), nowMs)
  }
  const isFirst = () => read.asked.length === 0
  const get = async (path: string, subject: PamSubject, timeoutMs: number): Promise<UpstreamResponse> => {
    const request = { path, subject, lowPriority, ...context, budget, timeoutMs, onAnswer }
    const answer = await call(request, mintLimit)
    if (isFirst()) read.beganAtMs = clock.now() - (monotonic() - startedAt)
    return answer
  }

  return {
    leftMs: () => tunables.lists.maxTotalMs - (monotonic() - startedAt),
    fetchUser: (path: string) => get(path, 'user', tunables.lists.maxTotalMs),

    async fetchPage(path: string, timeoutMs: number): Promise<UpstreamResponse> {
      const answer = await get(path, isFirst() ? FIRST_PAGE_SUBJECT[list.kind] : 'later_page', timeoutMs)
      metrics.pamPagesFetched.inc({ list: list.kind })
      return answer
    },
  }
}
