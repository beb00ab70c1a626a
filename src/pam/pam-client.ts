import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { UpstreamAnswer } from '../upstream/upstream-client.ts'
import type { Group } from './group.ts'
import { type PageLimits, readPages } from './pages.ts'
import type { OnAccountOf, PamCall, PamRequest } from './pam-call.ts'
import { PamFailure } from './pam-errors.ts'
import type { PamToken } from './token.ts'

/** Which list: the team's groups, or those of one person. */
export type ListOf = { readonly kind: 'directory' } | { readonly kind: 'me'; readonly user: string }

/** Reads whole lists from the API. Throws `PamFailure`. */
export interface PamClient {
  groups(list: ListOf, account: OnAccountOf): Promise<Group[]>
}

export interface PamClientParts {
  readonly call: PamCall
  readonly token: PamToken
  readonly team: string
  /** Of the API: the only one that a link may lead to. */
  readonly origin: string
  readonly limits: PageLimits
  readonly maxWaitMs: number
  readonly monotonic: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

/** A token that was refused although it is new: minting again at every call would help nobody. */
const REFUSED_ANEW_MS = 60_000

export function createPamClient(parts: PamClientParts): PamClient {
  const { call, token, team, origin, limits, maxWaitMs, monotonic, log, metrics } = parts
  let refusedAnew: { readonly token: string; readonly until: number } | undefined

  return {
    async groups(list, account) {
      const budget = { leftMs: maxWaitMs }
      const subject = list.kind === 'me' ? 'person' : 'team'
      const fetchPage = async (path: string, timeoutMs: number) => {
        const answer = await withToken({ method: 'GET', path, subject, ...account, budget, timeoutMs })
        metrics.pamPages.inc({ list: list.kind })
        return answer
      }
      try {
        return await readPages(pathOf(list), fetchPage, { origin, limits, monotonic })
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
    const ofTeam = `/v1/teams/${encodeURIComponent(team)}`
    return list.kind === 'me' ? `${ofTeam}/users/${encodeURIComponent(list.user)}/groups` : `${ofTeam}/groups`
  }

  /** A 401: forget that very token, mint once, repeat once (DESIGN §6). */
  async function withToken(request: PamRequest): Promise<UpstreamAnswer> {
    const bearer = await token.get(request)
    try {
      return await call(withBearer(request, bearer))
    } catch (error) {
      if (!asksForNewToken(error)) throw error
      if (refusedAnew?.token === bearer && monotonic() < refusedAnew.until) throw error
      await token.forget(bearer)
    }
    const renewed = await token.get(request)
    try {
      return await call(withBearer(request, renewed))
    } catch (error) {
      if (asksForNewToken(error)) {
        refusedAnew = { token: renewed, until: monotonic() + REFUSED_ANEW_MS }
        const { requestId } = request
        log.error('pam_new_token_refused', { requestId, upstream: 'pam', name: error.trouble })
      }
      throw error
    }
  }
}

function withBearer(request: PamRequest, token: string): PamRequest {
  return { ...request, headers: { Authorization: `Bearer ${token}` } }
}

function asksForNewToken(error: unknown): error is PamFailure {
  return error instanceof PamFailure && error.rule.renewsToken
}
