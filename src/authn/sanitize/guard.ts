import { upstreamUnavailable } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { Client } from '../browser/client.ts'
import { cutTokens } from './tokens.ts'

/** The last guard, over what is really sent: the body as text, without any of the tokens and without our own secrets. */
export type Guard = (body: unknown, tokens: readonly string[], client: Client) => string

export interface GuardParts {
  /** Secrets that must never be in an answer, whatever the upstream does. */
  readonly ownSecrets: () => readonly string[]
  readonly log: Logger
  readonly metrics: Metrics
}

export function createGuard({ ownSecrets, log, metrics }: GuardParts): Guard {
  return (body, tokens, { requestId }) => {
    const { text, cut } = cutTokens(JSON.stringify(body), [...tokens, ...ownSecrets()])
    if (cut > 0) {
      metrics.tokensCut.inc({ by: 'guard' }, cut)
      log.error('token_cut_by_guard', { requestId, count: cut })
    }
    return text
  }
}

/** What is nested so deep that it can't be walked, or written down, is no answer of the API. */
export function walked<Result>(walk: () => Result): Result {
  try {
    return walk()
  } catch (error) {
    throw asNoAnswer(error)
  }
}

/** What `walked` makes of an error. */
export function asNoAnswer(error: unknown): unknown {
  return error instanceof RangeError
    ? upstreamUnavailable(new UpstreamFailure('unusable', { code: 'too deep' }))
    : error
}
