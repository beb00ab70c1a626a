import { LRUCache } from 'lru-cache'
import type { Logger } from '../../observability/logger.ts'
import type { UpstreamClock } from '../../upstream/response-headers.ts'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { Coalescing, SharedFetch } from '../shared/coalescing.ts'
import type { PamRecords } from '../shared/pam-records.ts'
import type { OnAccountOf, PamCall, PamRequest } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import type { MintLimit } from './mint-limit.ts'
import type { IssuedToken, Mint } from './mint-token.ts'

/**
 * The bearer token of the service user: from memory, else from the store, else minted, once over all replicas. It is refreshed in
 * the background before it expires; the old token serves meanwhile, even if the refresh fails (DESIGN §6).
 */
export interface ServiceToken {
  /** `limit` may refuse to have a token minted for this caller, or to give it one that exists. */
  get(account: OnAccountOf, limit: Pick<MintLimit, 'mint' | 'send'>): Promise<string>
  /** Discards this token here and in the store; a newer one stays. */
  discard(token: string): Promise<void>
  stop(): void
}

export interface ServiceTokenOptions
  extends Pick<PamDeps, 'names' | 'scope' | 'clock' | 'random' | 'tunables' | 'log' | 'metrics'> {
  readonly mint: Mint
  readonly records: PamRecords<IssuedToken>
  readonly coalescing: Coalescing<TokenInMemory>
}

/** Times are the API's. */
export interface TokenInMemory extends IssuedToken {
  /** From then on it is refreshed in the background. */
  readonly refreshAtMs: number
}

/** How often a process that serves no lookups checks whether its token is due for a refresh. */
const CHECK_EVERY_MS = 5000
/** Discarded tokens that may still be in a store that was out of reach then. */
const MAX_DISCARDED = 16

export function createServiceToken(options: ServiceTokenOptions): ServiceToken {
  const { names, scope, records, coalescing, clock } = options
  const lockKey = () => `gatehouse:lock:pam-token:${names.sign(scope)}`
  const discarded = new LRUCache<string, true>({ max: MAX_DISCARDED })
  const source = { ...options, discarded }
  let held: TokenInMemory | undefined
  const timer = setInterval(() => refreshIfDue(undefined), CHECK_EVERY_MS).unref()

  function hold(token: TokenInMemory): string {
    if (!discarded.has(token.token)) held = token
    return (held ?? token).token
  }

  function refreshIfDue(requestId: string | undefined): void {
    if (held === undefined || !clock.isSet() || clock.now() < held.refreshAtMs) return
    const fetch = fetchAfter(held, { background: true, requestId }, source)
    coalescing.refresh(lockKey(), fetch)?.then(hold, (error) => reportFailure(error, requestId, options))
  }

  return {
    async get(account, limit) {
      const fetch = fetchAfter(undefined, account, source)
      const known = held !== undefined && isAlive(held, clock) ? held : await fetch.read()
      if (known !== undefined) {
        const token = hold(known)
        refreshIfDue(account.requestId)
        await limit.send()
        return token
      }
      return limit.mint(async () => hold(await coalescing.run(lockKey(), fetch)))
    },

    async discard(token) {
      if (held?.token === token) held = undefined
      if (!discarded.has(token)) options.metrics.pamTokens.inc({ outcome: 'forgotten' })
      discarded.set(token, true)
      await records.removeIf(scope, (stored) => stored.token === token)
    },

    stop: () => clearInterval(timer),
  }
}

function reportFailure(error: unknown, requestId: string | undefined, options: ServiceTokenOptions): void {
  options.metrics.pamTokens.inc({ outcome: 'refresh_failed' })
  options.log.warn('pam_token_refresh_failed', { requestId, upstream: 'pam' }, error)
}

/** The token in the store serves if it expires later than `old`; otherwise a token is minted. */
function fetchAfter(
  old: IssuedToken | undefined,
  { background, requestId }: OnAccountOf,
  source: ServiceTokenOptions & { readonly discarded: LRUCache<string, true> },
): SharedFetch<TokenInMemory> {
  const { mint, records, discarded, scope, clock, log, metrics } = source
  return {
    background,
    async read() {
      const issued = await records.find(scope)
      if (issued === undefined || discarded.has(issued.token) || !isAlive(issued, clock)) return undefined
      if (old !== undefined && issued.expiresAtMs <= old.expiresAtMs) return undefined
      if (!background) metrics.pamTokens.inc({ outcome: 'shared' })
      return withRefreshTime(issued, source)
    },
    async fetch() {
      const issued = await mint({ background, requestId })
      discarded.delete(issued.token) // PAM may issue a token again that it has refused
      metrics.pamTokens.inc({ outcome: background ? 'refreshed' : 'minted' })
      log.info('pam_token_minted', { requestId, upstream: 'pam', lifetimeMs: issued.lifetimeMs })
      await records.write(scope, issued, issued.expiresAtMs - clock.now())
      return withRefreshTime(issued, source)
    },
  }
}

/** Before the first answer, the API's time is not known. A stored token is used then: the store removes it when it expires. */
function isAlive({ expiresAtMs }: IssuedToken, clock: UpstreamClock): boolean {
  return !clock.isSet() || clock.now() < expiresAtMs
}

function withRefreshTime(issued: IssuedToken, { tunables, random }: ServiceTokenOptions): TokenInMemory {
  const { refreshBeforeMs, refreshBeforeShare, jitterShare } = tunables.token
  const beforeMs = Math.min(refreshBeforeMs, issued.lifetimeMs * refreshBeforeShare)
  return { ...issued, refreshAtMs: issued.expiresAtMs - beforeMs * (1 + random() * jitterShare) }
}

export type AuthorizedCall = (request: PamRequest, limit: MintLimit) => Promise<UpstreamResponse>

/**
 * Sends a request with the service user's token. A 401 discards the token that was sent; if another token may help, the call is
 * repeated once (DESIGN §6).
 */
export function createAuthorizedCall(call: PamCall, token: ServiceToken, log: Logger): AuthorizedCall {
  return async function authorizedCall(request, limit) {
    for (let isRepeated = false; ; isRepeated = true) {
      const bearer = await token.get(request, limit)
      try {
        const answer = await call({ ...request, headers: { Authorization: `Bearer ${bearer}` } })
        await limit.accept()
        return answer
      } catch (error) {
        if (!isTokenRefused(error)) throw error
        await Promise.all([token.discard(bearer), limit.refuse(error.outcome)])
        if (!error.rule.renewsToken) throw error
        if (!isRepeated) continue
        const { requestId } = request
        log.error('pam_new_token_refused', { requestId, upstream: 'pam', name: error.outcome })
        throw error
      }
    }
  }
}

function isTokenRefused(error: unknown): error is PamFailure {
  return error instanceof PamFailure && (error.status === 401 || error.rule.renewsToken)
}
