import { LRUCache } from 'lru-cache'
import type { Logger } from '../../observability/logger.ts'
import type { UpstreamClock, UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { Coalescing, SharedFetch } from '../shared/coalescing.ts'
import type { PamRecords } from '../shared/pam-records.ts'
import type { CallContext, PamCall, PamRequest } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import type { MintLimit } from './mint-limit.ts'
import type { IssuedToken, Mint } from './mint-token.ts'

export interface ServiceTokenOptions
  extends Pick<PamDeps, 'names' | 'scope' | 'clock' | 'random' | 'tunables' | 'log' | 'metrics'> {
  readonly mint: Mint
  readonly records: PamRecords<IssuedToken>
  readonly coalescing: Coalescing<CachedToken>
  /** Called when this process begins to use another token. */
  readonly onNewToken: () => void
}

export interface CachedToken extends IssuedToken {
  /** By the API's clock. From then on, the token is refreshed in the background. */
  readonly refreshAtMs: number
}

/** How often a process without lookups checks whether its token is due for a refresh. */
const CHECK_EVERY_MS = 5000
/** Discarded tokens that the store may still have, if it was out of reach when they were discarded. */
const MAX_DISCARDED = 16

export type ServiceToken = ReturnType<typeof createServiceToken>

/**
 * The bearer token of the service user: from memory, else from the store, else minted, once over all replicas. It is refreshed in
 * the background before it expires. Until then the old token is used, even if the refresh fails.
 */
export function createServiceToken(options: ServiceTokenOptions) {
  const { names, scope, records, coalescing, clock, log, metrics } = options
  const lockKey = () => `gatehouse:lock:pam-token:${names.sign(scope)}`
  const memory = createTokenMemory(options)
  const source = { ...options, memory }
  const timer = setInterval(() => refreshIfDue(undefined), CHECK_EVERY_MS).unref()

  function refreshIfDue(requestId: string | undefined): void {
    const current = memory.current()
    if (current === undefined || !clock.isSet() || clock.now() < current.refreshAtMs) return
    const fetch = createFetch(current, { background: true, requestId }, source)
    coalescing.refresh(lockKey(), fetch)?.then(memory.use, (error) => {
      metrics.pamTokens.inc({ outcome: 'refresh_failed' })
      log.warn('pam_token_refresh_failed', { requestId, upstream: 'pam' }, error)
    })
  }

  return {
    /** @throws the last refusal if `limit` forbids minting, or sending an existing token */
    async get(context: CallContext, limit: TokenLimit = NO_LIMIT): Promise<string> {
      const fetch = createFetch(undefined, context, source)
      const known = memory.valid() ?? (await fetch.read())
      if (known === undefined)
        return limit.mint(async () => memory.use(await coalescing.run(lockKey(), fetch)))
      const token = memory.use(known)
      refreshIfDue(context.requestId)
      await limit.beforeSend()
      return token
    },

    /** Discards this token in memory and in the store. A newer token stays. */
    async discard(token: string): Promise<void> {
      if (memory.discard(token)) metrics.pamTokens.inc({ outcome: 'discarded' })
      await records.removeIf(scope, (stored) => stored.token === token)
    },

    /** The token in memory, if there is one that has not expired. */
    inMemory: () => memory.valid()?.token,

    stop: () => clearInterval(timer),
  }
}

type TokenLimit = Pick<MintLimit, 'mint' | 'beforeSend'>

/** For calls whose refusal does not discard the token. */
const NO_LIMIT: TokenLimit = { mint: (mint) => mint(), beforeSend: async () => {} }

type TokenMemory = ReturnType<typeof createTokenMemory>

/** The token that this process uses, and those that it has discarded. */
function createTokenMemory({ clock, onNewToken }: Pick<ServiceTokenOptions, 'clock' | 'onNewToken'>) {
  const discarded = new LRUCache<string, true>({ max: MAX_DISCARDED })
  let current: CachedToken | undefined

  return {
    /** It may have expired. */
    current: () => current,
    valid: () => (current !== undefined && isValid(current, clock) ? current : undefined),
    isDiscarded: (token: string) => discarded.has(token),

    /** Returns the token to send: another one if this one was discarded in the meantime. */
    use(token: CachedToken): string {
      if (!discarded.has(token.token)) {
        const isNew = token.token !== current?.token
        current = token
        if (isNew) onNewToken()
      }
      return (current ?? token).token
    },

    /** False if it was discarded before. */
    discard(token: string): boolean {
      if (current?.token === token) current = undefined
      const isNew = !discarded.has(token)
      discarded.set(token, true)
      return isNew
    },

    /** PAM may issue a token again that it has refused. */
    recordIssued: (token: string) => void discarded.delete(token),
  }
}

/** A stored token is used if it expires later than `old`. Otherwise a token is minted. */
function createFetch(
  old: IssuedToken | undefined,
  { background, requestId }: CallContext,
  source: ServiceTokenOptions & { readonly memory: TokenMemory },
): SharedFetch<CachedToken> {
  const { mint, records, memory, scope, clock, log, metrics } = source
  return {
    background,
    async read() {
      const issued = await records.find(scope)
      if (issued === undefined || memory.isDiscarded(issued.token) || !isValid(issued, clock))
        return undefined
      if (old !== undefined && issued.expiresAtMs <= old.expiresAtMs) return undefined
      if (!background) metrics.pamTokens.inc({ outcome: 'shared' })
      return withRefreshTime(issued, source)
    },
    async fetch() {
      const issued = await mint({ background, requestId })
      memory.recordIssued(issued.token)
      metrics.pamTokens.inc({ outcome: background ? 'refreshed' : 'minted' })
      log.info('pam_token_minted', { requestId, upstream: 'pam', lifetimeMs: issued.lifetimeMs })
      await records.write(scope, issued, issued.expiresAtMs - clock.now())
      return withRefreshTime(issued, source)
    },
  }
}

/** The API's clock is unknown before its first response. Until then a stored token is valid, for the store removes expired ones. */
function isValid({ expiresAtMs }: IssuedToken, clock: UpstreamClock): boolean {
  return !clock.isSet() || clock.now() < expiresAtMs
}

function withRefreshTime(issued: IssuedToken, { tunables, random }: ServiceTokenOptions): CachedToken {
  const { refreshBeforeMs, refreshBeforeShare, jitterShare } = tunables.token
  const beforeMs = Math.min(refreshBeforeMs, issued.lifetimeMs * refreshBeforeShare)
  return { ...issued, refreshAtMs: issued.expiresAtMs - beforeMs * (1 + random() * jitterShare) }
}

export type AuthorizedCall = (request: PamRequest, limit: MintLimit) => Promise<UpstreamResponse>

/**
 * Sends requests with the service user's token. A 401 discards the token that was sent. If another token may help, the request is
 * repeated once.
 */
export function createAuthorizedCall(call: PamCall, token: ServiceToken, log: Logger): AuthorizedCall {
  return async function authorizedCall(request, limit) {
    for (let isRepeated = false; ; isRepeated = true) {
      const bearer = await token.get(request, limit)
      try {
        const answer = await call({ ...request, bearer })
        await limit.recordSuccess()
        return answer
      } catch (error) {
        if (!isTokenRefused(error)) throw error
        await Promise.all([token.discard(bearer), limit.recordRefusal(error.outcome)])
        if (!error.policy.renewsToken) throw error
        if (!isRepeated) continue
        const { requestId } = request
        log.error('pam_new_token_refused', { requestId, upstream: 'pam', name: error.outcome })
        throw error
      }
    }
  }
}

function isTokenRefused(error: unknown): error is PamFailure {
  return error instanceof PamFailure && (error.status === 401 || error.policy.renewsToken)
}
