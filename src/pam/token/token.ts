import { createCoalescing } from '../upstream/coalescing.ts'
import type { CallContext, PamCall } from '../upstream/pam-call.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { createMint, IssuedToken, MINT_EVERY_MS, type MintOptions, type MintPurpose } from './mint-token.ts'

interface CachedToken extends IssuedToken {
  /** By the API's clock. From then on, the token is refreshed in the background. */
  readonly refreshAtMs: number
}

/**
 * A token is refreshed this long before it expires, or this share of its lifetime if that is
 * shorter.
 */
const REFRESH_BEFORE_MS = 5 * 60_000
const REFRESH_BEFORE_SHARE = 0.2
/** Replicas refresh earlier by a random part of this share of that time. */
const JITTER_SHARE = 0.1
/** The shortest time between two refreshes. */
const REFRESH_EVERY_MS = 15_000

/**
 * Sends requests with the service user's token. After a 401, the request is repeated with another
 * token, a stored one or a new one, if there is one and it may help.
 */
export function createAuthorizedCall(options: MintOptions): PamCall {
  const { call, log } = options
  const token = createServiceToken(options)

  return async function authorizedCall(request) {
    for (let bearer = await token.get(request); ; ) {
      try {
        return await call({ ...request, bearer })
      } catch (error) {
        if (!(error instanceof PamFailure) || error.status !== 401) throw error
        token.refuse(bearer)
        if (!error.policy.renewsToken) throw error
        const other = await token.get(request)
        if (other === bearer) {
          const { requestId } = request
          log.error('pam_new_token_refused', { requestId, upstream: 'pam', name: error.outcome })
          throw error
        }
        bearer = other
      }
    }
  }
}

/**
 * The bearer token of the service user: from memory, else from the store, else minted, once over
 * all replicas. It is refreshed in the background before it expires. Until then the old token is
 * used, even if the refresh fails.
 */
function createServiceToken(options: MintOptions) {
  const { clock, monotonic, random, log, metrics } = options
  const obtainShared = createTokenSource(options)
  let current: CachedToken | undefined
  let refused: string | undefined
  let refreshedAt = Number.NEGATIVE_INFINITY
  const isUsable = ({ token, expiresAtMs }: IssuedToken) =>
    token !== refused && (!clock.isSet() || clock.now() < expiresAtMs)

  /** If no token may be minted now, the current one stays in use. */
  async function obtain(context: CallContext, isEnough: IsEnough): Promise<string> {
    const isRefused = current !== undefined && current.token === refused
    const issued = await obtainShared(context, isEnough, isRefused ? 'replacement' : 'first or next')
    if (issued !== undefined) current = withRefreshTime(issued, random())
    if (current === undefined) throw new PamFailure('held_back', { retryAfterMs: MINT_EVERY_MS })
    return current.token
  }

  function refreshIfDue({ requestId }: CallContext, old: CachedToken): void {
    const isDue = clock.isSet() && clock.now() >= old.refreshAtMs
    if (!isDue || monotonic() < refreshedAt + REFRESH_EVERY_MS) return
    refreshedAt = monotonic()
    const isNewer = ({ expiresAtMs }: IssuedToken) => expiresAtMs > old.expiresAtMs
    obtain({ background: true, requestId }, isNewer).catch((error) => {
      metrics.pamTokens.inc({ outcome: 'refresh_failed' })
      log.warn('pam_token_refresh_failed', { requestId, upstream: 'pam' }, error)
    })
  }

  return {
    async get(context: CallContext): Promise<string> {
      if (current === undefined || !isUsable(current)) return obtain(context, isUsable)
      refreshIfDue(context, current)
      return current.token
    },
    /** PAM has refused this token with a 401. It is replaced if it is still in use. */
    refuse(token: string): void {
      refused = token
    },
  }
}

type IsEnough = (token: IssuedToken) => boolean

/**
 * A stored token for which `isEnough` is true, else a new one. undefined: none may be minted now.
 */
function createTokenSource(options: MintOptions) {
  const { scope, keyOf, clock, log, metrics } = options
  const mint = createMint(options)
  const records = options.recordsOf('pamToken', IssuedToken)
  const coalesce = createCoalescing<IssuedToken | undefined>(options)

  return ({ background, requestId }: CallContext, isEnough: IsEnough, purpose: MintPurpose) =>
    coalesce(keyOf('pamTokenLock'), {
      background,
      async read() {
        const stored = (await records.read(scope))?.value
        if (stored === undefined || !isEnough(stored)) return undefined
        if (!background) metrics.pamTokens.inc({ outcome: 'shared' })
        return stored
      },
      async fetch() {
        const issued = await mint({ background, requestId }, purpose)
        if (issued === undefined) return undefined
        metrics.pamTokens.inc({ outcome: background ? 'refreshed' : 'minted' })
        log.info('pam_token_minted', { requestId, upstream: 'pam', lifetimeMs: issued.lifetimeMs })
        await records.write(scope, issued, issued.expiresAtMs - clock.now())
        return issued
      },
    })
}

function withRefreshTime(issued: IssuedToken, random: number): CachedToken {
  const beforeMs = Math.min(REFRESH_BEFORE_MS, issued.lifetimeMs * REFRESH_BEFORE_SHARE)
  return { ...issued, refreshAtMs: issued.expiresAtMs - beforeMs * (1 + random * JITTER_SHARE) }
}
