import { readRateLimit } from '../../upstream/rate-limit-gate.ts'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { ExpiringValues } from '../shared/expiring-values.ts'
import type { PamKey } from '../token/key-pauses.ts'
import { createMintLimit } from '../token/mint-limit.ts'
import type { AuthorizedCall } from '../token/token.ts'
import type { Group, ListRef } from '../upstream/group.ts'
import type { CallContext } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure, type PamOutcome } from '../upstream/pam-errors.ts'
import { type FetchPage, type ReadProgress, readPages } from './pages.ts'
import { observeRateLimit } from './refresh-interval.ts'

export interface PamClientOptions
  extends Pick<PamDeps, 'team' | 'clock' | 'monotonic' | 'tunables' | 'log' | 'metrics'> {
  readonly call: AuthorizedCall
  readonly mintLimits: ExpiringValues
  readonly keys: () => readonly PamKey[]
  /** The API's origin: the only one that a link may lead to. */
  readonly origin: string
  /** The API's path, without a slash at the end. */
  readonly basePath: string
}

const FIRST_PAGE_SUBJECT = { me: 'user', directory: 'team' } as const
/** They show nothing about the API: a rate limit, an open circuit breaker, or no free connection. */
const INCONCLUSIVE: ReadonlySet<PamOutcome> = new Set(['too_many_requests', 'held_back'])

export type PamClient = ReturnType<typeof createPamClient>

/** Reads whole lists from the API. */
export function createPamClient(options: PamClientOptions) {
  const { origin, basePath, team, monotonic, log, metrics } = options
  const { lists: limits } = options.tunables
  const teamPath = `${basePath}/v1/teams/${encodeURIComponent(team)}`
  let state: 'ok' | 'failing' | 'unknown' = 'unknown'

  return {
    /** The state of the API, by the last read. */
    state: () => state,

    /**
     * Continues where `read` has stopped, and updates it.
     *
     * @throws PamFailure
     */
    async groups(list: ListRef, context: CallContext, read: ReadProgress): Promise<Group[]> {
      const path =
        list.kind === 'me'
          ? `${teamPath}/users/${encodeURIComponent(list.user)}/groups`
          : `${teamPath}/groups`
      try {
        const fetchPage = createFetchPage(options, list, context, read)
        const groups = await readPages(path, fetchPage, { origin, team, limits, monotonic }, read)
        state = 'ok'
        return groups
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

function createFetchPage(
  { call, mintLimits, keys, clock, monotonic, tunables, metrics }: PamClientOptions,
  list: ListRef,
  context: CallContext,
  read: ReadProgress,
): FetchPage {
  const budget = { leftMs: tunables.rateLimit.maxWaitMs }
  const mintLimit = createMintLimit(list, mintLimits, keys)
  const lowPriority = list.kind === 'directory'
  const onAnswer = (answer: UpstreamResponse) => {
    const nowMs = clock.now()
    read.rate = observeRateLimit(read.rate, readRateLimit(answer, 'x-ratelimit', nowMs), nowMs)
  }

  return async function fetchPage(path, timeoutMs, isFirst) {
    const askedAt = monotonic()
    const subject = isFirst ? FIRST_PAGE_SUBJECT[list.kind] : 'later_page'
    const request = {
      method: 'GET',
      path,
      subject,
      lowPriority,
      ...context,
      budget,
      timeoutMs,
      onAnswer,
    } as const
    const answer = await call(request, mintLimit)
    if (isFirst) read.beganAtMs = clock.now() - (monotonic() - askedAt)
    metrics.pamPagesFetched.inc({ list: list.kind })
    return answer
  }
}
