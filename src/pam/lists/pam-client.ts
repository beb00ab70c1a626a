import type { UpstreamResponse } from '../../upstream/http-api.ts'
import type { ListRef } from '../upstream/group.ts'
import type { CallContext, PamCall } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure, type PamOutcome } from '../upstream/pam-errors.ts'
import { type ListPages, readPages } from './pages.ts'

export interface PamClientOptions
  extends Pick<
    PamDeps,
    'origin' | 'team' | 'teamPath' | 'clock' | 'monotonic' | 'pageLimits' | 'maxWaitMs' | 'log' | 'metrics'
  > {
  readonly call: PamCall
}

const FIRST_PAGE_SUBJECT = { me: 'user', directory: 'team' } as const
/** They show nothing about the API: a rate limit, an open circuit breaker, or no free connection. */
const INCONCLUSIVE: ReadonlySet<PamOutcome> = new Set(['too_many_requests', 'held_back'])

export type PamClient = ReturnType<typeof createPamClient>

/** Reads whole lists from the API. */
export function createPamClient(options: PamClientOptions) {
  const { teamPath, pageLimits, log, metrics } = options
  let state: 'ok' | 'failing' | 'unknown' = 'unknown'

  return {
    /** The state of the API, by the last read. */
    state: () => state,

    /**
     * Reads the pages that are missing.
     *
     * @throws PamFailure
     */
    async read(list: ListRef, context: CallContext, pages: ListPages): Promise<void> {
      const path = list.kind === 'me' ? `${teamPath}/users/${encodeURIComponent(list.user)}` : teamPath
      try {
        const fetchPage = createFetchPage(options, list, context, pages)
        await readPages(`${path}/groups`, fetchPage, { ...options, limits: pageLimits }, pages)
        state = 'ok'
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

/** The calls of one read. They share the time that they may wait. */
function createFetchPage(
  { call, clock, monotonic, maxWaitMs, metrics }: PamClientOptions,
  list: ListRef,
  context: CallContext,
  pages: ListPages,
) {
  const startedAt = monotonic()
  const budget = { leftMs: maxWaitMs }

  return async (path: string, timeoutMs: number): Promise<UpstreamResponse> => {
    const isFirst = pages.asked.length === 0
    const subject = isFirst ? FIRST_PAGE_SUBJECT[list.kind] : 'later_page'
    const lowPriority = list.kind === 'directory'
    const answer = await call({ path, subject, lowPriority, ...context, budget, timeoutMs })
    if (isFirst) pages.beganAtMs = clock.now() - (monotonic() - startedAt)
    metrics.pamPagesFetched.inc({ list: list.kind })
    return answer
  }
}
