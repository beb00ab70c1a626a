import { readRateLimit } from '../../upstream/response-headers.ts'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { SharedValues } from '../shared/shared-values.ts'
import type { PamKey } from '../token/key-pauses.ts'
import { createMintLimit } from '../token/mint-limit.ts'
import type { AuthorizedCall } from '../token/token.ts'
import type { Group, ListOf } from '../upstream/group.ts'
import type { OnAccountOf } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure, type PamOutcome } from '../upstream/pam-errors.ts'
import { type FetchPage, type PageRead, readPages } from './pages.ts'
import { addRateSeen } from './refresh-interval.ts'

/** Reads whole lists from the API. */
export interface PamClient {
  /** Continues where `read` has stopped, and leaves there how far it came. Throws `PamFailure`. */
  groups(list: ListOf, account: OnAccountOf, read: PageRead): Promise<Group[]>
  /** What the last read has proved. */
  state(): 'ok' | 'failing' | 'unknown'
}

export interface PamClientOptions
  extends Pick<PamDeps, 'team' | 'clock' | 'monotonic' | 'tunables' | 'log' | 'metrics'> {
  readonly call: AuthorizedCall
  readonly mintLimits: SharedValues
  readonly keys: () => readonly PamKey[]
  /** Of the API: the only origin that a link may lead to. */
  readonly origin: string
  /** Of the API, if it has one; without a slash at the end. */
  readonly basePath: string
}

const FIRST_PAGE_SUBJECT = { me: 'person', directory: 'team' } as const
/** The call waited in vain, or was not sent. */
const PROVES_NOTHING: ReadonlySet<PamOutcome> = new Set(['too_many_requests', 'held_back'])

export function createPamClient(options: PamClientOptions): PamClient {
  const { origin, basePath, team, monotonic, log, metrics } = options
  const { lists: limits } = options.tunables
  const teamPath = `${basePath}/v1/teams/${encodeURIComponent(team)}`
  let state: ReturnType<PamClient['state']> = 'unknown'

  return {
    state: () => state,

    async groups(list, account, read) {
      const path =
        list.kind === 'me'
          ? `${teamPath}/users/${encodeURIComponent(list.user)}/groups`
          : `${teamPath}/groups`
      try {
        const fetchPage = pageFetcher(options, list, account, read)
        const groups = await readPages(path, fetchPage, { origin, team, limits, monotonic }, read)
        state = 'ok'
        return groups
      } catch (error) {
        if (!(error instanceof PamFailure)) throw error
        const { outcome } = error
        if (!PROVES_NOTHING.has(outcome)) state = outcome === 'unknown_person' ? 'ok' : 'failing'
        if (outcome === 'unreadable') {
          metrics.pamErrors.inc({ name: outcome })
          const { requestId } = account
          log.error('pam_answer_unreadable', { requestId, upstream: 'pam', operation: list.kind }, error)
        }
        throw error
      }
    },
  }
}

function pageFetcher(
  { call, mintLimits, keys, clock, monotonic, tunables, metrics }: PamClientOptions,
  list: ListOf,
  account: OnAccountOf,
  read: PageRead,
): FetchPage {
  const budget = { leftMs: tunables.rateLimit.maxWaitMs }
  const mintLimit = createMintLimit(list, mintLimits, keys)
  const yields = list.kind === 'directory'
  const onAnswer = (answer: UpstreamResponse) => {
    const nowMs = clock.now()
    read.rate = addRateSeen(read.rate, readRateLimit(answer, 'x-ratelimit', nowMs), nowMs)
  }

  return async function fetchPage(path, timeoutMs, isFirst) {
    const askedAt = monotonic()
    const subject = isFirst ? FIRST_PAGE_SUBJECT[list.kind] : 'later_page'
    const request = { method: 'GET', path, subject, yields, ...account, budget, timeoutMs, onAnswer } as const
    const answer = await call(request, mintLimit)
    if (isFirst) read.beganAtMs = clock.now() - (monotonic() - askedAt)
    metrics.pamPages.inc({ list: list.kind })
    return answer
  }
}
