import { upstreamUnavailable } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Client } from './client.ts'
import { type HiddenFactors, withoutHidden } from './hidden-factors.ts'
import { type OfferedStep, rewriteAnswer } from './links.ts'
import type { Offers } from './offers.ts'
import { cutTokens } from './tokens.ts'
import type { Transaction } from './transaction.ts'

/** Makes of the upstream's answer in a transaction what the browser may see of it. */
export type ToBrowser = (
  answer: Readonly<Record<string, unknown>>,
  asked: { readonly before: Transaction; readonly handle: string },
  client: Client,
) => BrowserAnswer

export interface BrowserAnswer {
  /** JSON as it goes out. */
  readonly body: string
  readonly offered: readonly OfferedStep[]
  /** Every factor of a list was hidden. */
  readonly noneLeft: boolean
}

export interface ToBrowserParts {
  readonly offers: Pick<Offers, 'pictureHandle'>
  readonly upstreamOrigins: readonly [string, ...string[]]
  readonly publicOrigin: string
  /** Secrets that must never be in an answer, whatever the upstream does. */
  readonly ownSecrets: () => readonly string[]
  readonly hiddenFactors: HiddenFactors
  readonly log: Logger
  readonly metrics: Metrics
}

export function createToBrowser(parts: ToBrowserParts): ToBrowser {
  const { offers, upstreamOrigins, publicOrigin, hiddenFactors, log, metrics } = parts

  /** The last guard, over what is really sent. */
  const guarded = (body: unknown, tokens: readonly string[], client: Client): string => {
    const { text, cut } = cutTokens(JSON.stringify(body), [...tokens, ...parts.ownSecrets()])
    if (cut > 0) {
      metrics.tokensCut.inc({ by: 'guard' }, cut)
      log.error('token_cut_by_guard', { requestId: client.requestId, count: cut })
    }
    return text
  }

  return (answer, { before, handle }, client) => {
    const { answer: shown, noneLeft } = withoutHidden(answer, hiddenFactors)
    const { body, offered, cutFromLinks } = walked(() => {
      const made = rewriteAnswer(shown, {
        upstreamOrigins,
        publicOrigin,
        handle,
        knownTokens: [before.stateToken, ...before.retiredTokens],
        pictureHandle: (path) => offers.pictureHandle(client.device.id, path),
      })
      return { ...made, body: guarded(made.body, made.tokens, client) }
    })
    if (cutFromLinks > 0) metrics.tokensCut.inc({ by: 'link' }, cutFromLinks)
    return { body, offered, noneLeft }
  }
}

/** What is nested so deep that it can't be walked, or written down, is no answer of the API. */
function walked<Result>(walk: () => Result): Result {
  try {
    return walk()
  } catch (error) {
    throw error instanceof RangeError ? upstreamUnavailable(error) : error
  }
}
