import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { readAllowance, type UpstreamClock } from '../../upstream/answer-headers.ts'
import type { UpstreamAnswer } from '../../upstream/upstream-client.ts'
import type { MintLimit } from '../token/mint-limit.ts'
import type { PamToken } from '../token/token.ts'
import type { Group, ListOf } from '../upstream/group.ts'
import type { OnAccountOf, PamCall, PamRequest } from '../upstream/pam-call.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { type FetchPage, type PageLimits, type PageRead, readPages } from './pages.ts'
import { addRateSeen } from './refresh-interval.ts'

/** Reads whole lists from the API. Throws `PamFailure`. */
export interface PamClient {
  /** Reads on from where `read` stands, and leaves there how far it came. */
  groups(list: ListOf, account: OnAccountOf, read: PageRead): Promise<Group[]>
}

export interface PamClientParts {
  readonly call: PamCall
  readonly token: PamToken
  readonly mintLimitOf: (list: ListOf) => MintLimit
  /** Of the API: the only one that a link may lead to. */
  readonly origin: string
  /** Of the API, if it is served under one; without a slash at the end. */
  readonly basePath: string
  readonly team: string
  readonly limits: PageLimits
  readonly maxWaitMs: number
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

const FIRST_PAGE_SUBJECT = { me: 'person', directory: 'team' } as const

export function createPamClient(parts: PamClientParts): PamClient {
  const { call, token, mintLimitOf, origin, basePath, team, limits, maxWaitMs, clock, monotonic } = parts
  const { log, metrics } = parts
  const teamPath = `${basePath}/v1/teams/${encodeURIComponent(team)}`

  return {
    async groups(list, account, read) {
      const budget = { leftMs: maxWaitMs }
      const mintLimit = mintLimitOf(list)
      const onAnswer = (answer: UpstreamAnswer) => {
        const nowMs = clock.now()
        read.rate = addRateSeen(read.rate, readAllowance(answer, 'x-ratelimit', nowMs), nowMs)
      }
      const fetchPage: FetchPage = async (path, timeoutMs, isFirst) => {
        const askedAt = monotonic()
        const subject = isFirst ? FIRST_PAGE_SUBJECT[list.kind] : 'later_page'
        const yields = list.kind === 'directory'
        const answer = await withToken(
          { method: 'GET', path, subject, yields, ...account, budget, timeoutMs, onAnswer },
          mintLimit,
        )
        if (isFirst) read.beganAtMs = clock.now() - (monotonic() - askedAt)
        metrics.pamPages.inc({ list: list.kind })
        return answer
      }
      try {
        return await readPages(pathOf(list), fetchPage, { origin, team, limits, monotonic }, read)
      } catch (error) {
        if (error instanceof PamFailure && error.trouble === 'unreadable') {
          metrics.pamErrors.inc({ name: 'unreadable' })
          const { requestId } = account
          log.error('pam_answer_unreadable', { requestId, upstream: 'pam', operation: list.kind }, error)
        }
        throw error
      }
    },
  }

  function pathOf(list: ListOf): string {
    return list.kind === 'me'
      ? `${teamPath}/users/${encodeURIComponent(list.user)}/groups`
      : `${teamPath}/groups`
  }

  /** A 401 discards the token that was sent; where another one may help, the call is repeated once (DESIGN §6). */
  async function withToken(request: PamRequest, mintLimit: MintLimit): Promise<UpstreamAnswer> {
    for (let isRepeated = false; ; isRepeated = true) {
      const bearer = await token.get(request, mintLimit)
      try {
        const answer = await call(withBearer(request, bearer))
        await mintLimit.accept()
        return answer
      } catch (error) {
        if (!isTokenRefused(error)) throw error
        await Promise.all([token.forget(bearer), mintLimit.refuse(error.trouble)])
        if (!error.rule.renewsToken) throw error
        if (!isRepeated) continue
        const { requestId } = request
        log.error('pam_new_token_refused', { requestId, upstream: 'pam', name: error.trouble })
        throw error
      }
    }
  }
}

function withBearer(request: PamRequest, token: string): PamRequest {
  return { ...request, headers: { Authorization: `Bearer ${token}` } }
}

function isTokenRefused(error: unknown): error is PamFailure {
  return error instanceof PamFailure && (error.status === 401 || error.rule.renewsToken)
}
