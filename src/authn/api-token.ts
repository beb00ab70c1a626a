import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'

/** What is known of our SSWS tokens: which one is taken, since when, and whether any is. */
export interface ApiToken {
  /** The one that was taken last first, then the others: current before standby. */
  inTurn(): readonly string[]
  /** The upstream has taken this one. */
  taken(token: string): void
  /** The upstream takes none of them: somebody must act. */
  refused(): void
  isRefused(): boolean
  wasTakenWithin(ms: number): boolean
}

export interface ApiTokenParts {
  readonly tokens: () => readonly string[]
  readonly monotonic: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

export function createApiToken({ tokens, monotonic, log, metrics }: ApiTokenParts): ApiToken {
  let last: { readonly token: string; readonly at: number } | undefined
  let isRefused = false

  const setRefused = (now: boolean) => {
    if (now && !isRefused) log.error('upstream_token_refused', { upstream: 'authn' })
    if (!now && isRefused) log.warn('upstream_token_accepted_again', { upstream: 'authn' })
    isRefused = now
    metrics.upstreamTokenRefused.set(now ? 1 : 0)
  }

  return {
    isRefused: () => isRefused,
    wasTakenWithin: (ms) => last !== undefined && !isRefused && monotonic() - last.at <= ms,

    inTurn() {
      const all = tokens()
      const first = all.find((token) => token === last?.token)
      return first === undefined ? all : [first, ...all.filter((token) => token !== first)]
    },

    taken(token) {
      if (last !== undefined && last.token !== token)
        log.warn('upstream_token_switched', { upstream: 'authn' })
      last = { token, at: monotonic() }
      setRefused(false)
    },

    refused() {
      last = undefined
      setRefused(true)
    },
  }
}
