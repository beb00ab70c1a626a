import type { Metrics } from '../../observability/metrics.ts'
import type { Client } from '../browser/client.ts'
import type { OfferedStep } from '../transaction/offered-steps.ts'
import type { Offers } from '../transaction/offers.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type Guard, walked } from './guard.ts'
import { type HiddenFactors, withoutHidden } from './hidden-factors.ts'
import { rewriteAnswer } from './links.ts'

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
  readonly guard: Guard
  readonly hiddenFactors: HiddenFactors
  readonly metrics: Metrics
}

export function createToBrowser(parts: ToBrowserParts): ToBrowser {
  const { offers, upstreamOrigins, publicOrigin, guard, hiddenFactors, metrics } = parts

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
      return { ...made, body: guard(made.body, made.tokens, client) }
    })
    if (cutFromLinks > 0) metrics.tokensCut.inc({ by: 'link' }, cutFromLinks)
    return { body, offered, noneLeft }
  }
}
