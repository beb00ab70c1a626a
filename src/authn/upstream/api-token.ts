import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'

/** What is known of our SSWS tokens: which one is taken, since when, and whether any is. */
export interface ApiToken {
  /**
   * The tokens as one call tries them. That is the order of the list, until the upstream has refused the first one
   * and taken another: then that one leads, for a first token that is refused costs every call a second one. The
   * first is tried first again when the list has changed, and every `FIRST_AGAIN_MS`, for it may have been mended
   * at the upstream.
   */
  inTurn(): Turn
  /** The upstream takes none of them: somebody must act. */
  refused(): void
  /** `unknown` until the upstream has taken or refused a token of the list. */
  state(): 'ok' | 'failing' | 'unknown'
  wasTakenWithin(ms: number): boolean
}

export interface Turn {
  readonly tokens: readonly string[]
  /** The upstream has taken this one. It is no news once the list has changed: the new list's first is not tried yet. */
  taken(token: string): void
}

export interface ApiTokenParts {
  readonly tokens: () => readonly string[]
  readonly monotonic: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

const FIRST_AGAIN_MS = 600_000

/** What is known of one list; another list begins anew. */
interface Known {
  readonly all: readonly string[]
  /** Another list was in use before. */
  readonly isChange: boolean
  last?: { readonly token: string; readonly at: number }
  firstTriedAt: number
}

export function createApiToken({ tokens, monotonic, log, metrics }: ApiTokenParts): ApiToken {
  let known: Known = { all: tokens(), isChange: false, firstTriedAt: monotonic() }
  let isRefused = false

  const setRefused = (now: boolean) => {
    if (now && !isRefused) log.error('upstream_token_refused', { upstream: 'authn' })
    if (!now && isRefused) log.warn('upstream_token_accepted_again', { upstream: 'authn' })
    isRefused = now
    metrics.upstreamTokenRefused.set(now ? 1 : 0)
  }

  const lookAtList = (): Known => {
    const all = tokens()
    if (all !== known.all && !isSameList(all, known.all))
      known = { all, isChange: true, firstTriedAt: monotonic() }
    return known
  }

  const take = (list: Known, token: string) => {
    const isFirst = token === list.all[0]
    const isProof = list.isChange && list.last === undefined && isFirst
    const name = isFirst ? 'first' : 'standby'
    if (token !== (list.last?.token ?? list.all[0]))
      log.warn('upstream_token_switched', { upstream: 'authn', name })
    else if (isProof) log.info('upstream_token_proved', { upstream: 'authn', name })
    list.last = { token, at: monotonic() }
    metrics.upstreamTokenStandby.set(isFirst ? 0 : 1)
    setRefused(false)
  }

  return {
    state() {
      const { last } = lookAtList()
      if (isRefused) return 'failing'
      return last === undefined ? 'unknown' : 'ok'
    },

    wasTakenWithin(ms) {
      const { last } = lookAtList()
      return last !== undefined && !isRefused && monotonic() - last.at <= ms
    },

    inTurn() {
      const list = lookAtList()
      return {
        tokens: inOrder(list, monotonic()),
        taken(token) {
          if (lookAtList() === list) take(list, token)
        },
      }
    },

    refused() {
      delete known.last
      metrics.upstreamTokenStandby.set(0)
      setRefused(true)
    },
  }
}

function inOrder(list: Known, now: number): readonly string[] {
  const { all, last } = list
  const leads = last === undefined || last.token === all[0] || now - list.firstTriedAt >= FIRST_AGAIN_MS
  if (leads) {
    list.firstTriedAt = now
    return all
  }
  return [last.token, ...all.filter((token) => token !== last.token)]
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((token, at) => token === other[at])
}
