import { setTimeout as delay } from 'node:timers/promises'
import type { Signer } from '../../crypto/sign.ts'
import { rateLimited } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { createFailFastStore } from '../../store/fail-fast-store.ts'
import type { Store } from '../../store/store.ts'
import { createUpstreamClock } from '../../upstream/answer-headers.ts'
import { createRateLimitGate, type GateCaller, RateLimitRefusal } from '../../upstream/rate-limit-gate.ts'
import type { UpstreamAnswer } from '../../upstream/upstream-client.ts'

/**
 * The sign-in API's rate limit, shared by all replicas. The specification knows one limit for the whole API, so that is
 * what is kept. What is held back is answered as the API itself would answer it: 429 E0000047.
 */
export interface AuthnLimit {
  /** To be called where a step begins: what other replicas know comes along with the step's own record. */
  look(): void
  /** Sends when the limit allows it; throws 429 E0000047 otherwise, and nothing is sent. */
  send(caller: LimitedCaller, send: () => Promise<UpstreamAnswer>): Promise<UpstreamAnswer>
}

export interface LimitedCaller {
  /** `ongoing`: what has begun already goes before what is `new`, when little is left. */
  readonly priority: 'ongoing' | 'new'
  /** Whom the call is for: the client's address, and the person's name or what stands for it. */
  readonly parties: readonly string[]
}

/** `authn.rateLimit` in `config/default.json`. */
export interface AuthnLimitTunables {
  readonly reserveShare: number
  readonly maxWaitMs: number
  readonly jitterMs: number
  readonly maxClosedMs: number
  readonly lookEveryMs: number
}

export interface AuthnLimitParts {
  readonly tunables: AuthnLimitTunables
  readonly store: Store
  /** Of the API: names its limit. */
  readonly baseUrl: string
  /** Names in the store are HMACs. */
  readonly names: Signer
  readonly metrics: Metrics
  readonly now: () => number
  readonly monotonic?: () => number
  readonly random?: () => number
  readonly sleep?: (ms: number) => Promise<void>
}

/** A text message or a call was made in the last 30 seconds: not the limit that the rate headers speak of. */
const SENT_RECENTLY: ReadonlySet<unknown> = new Set(['E0000109', 'E0000133'])

export function createAuthnLimit(parts: AuthnLimitParts): AuthnLimit {
  const { tunables, names, metrics, now, monotonic = () => performance.now() } = parts
  const clock = createUpstreamClock({ now, monotonic })
  const gate = createRateLimitGate({
    store: createFailFastStore({ store: parts.store, monotonic }),
    clock,
    monotonic,
    api: 'authn',
    scope: () => names.sign(parts.baseUrl),
    prefix: 'x-rate-limit',
    lowShare: tunables.reserveShare,
    maxClosedMs: tunables.maxClosedMs,
    jitterMs: tunables.jitterMs,
    lookEveryMs: tunables.lookEveryMs,
    random: parts.random ?? Math.random,
    sleep: parts.sleep ?? ((ms) => delay(ms)),
    onOutcome: (outcome) => metrics.authnGateWaits.inc({ outcome }),
    onRemaining: (remaining) => metrics.authnLimitRemaining.set(remaining),
    onUnreadable: () => metrics.unreadableRecords.inc({ kind: 'limit' }),
  })

  const enter = async (caller: GateCaller) => {
    try {
      return await gate.enter(caller)
    } catch (error) {
      if (!(error instanceof RateLimitRefusal)) throw error
      const { waitMs, limit = 0 } = error
      throw rateLimited({
        limit,
        resetAtSeconds: Math.ceil((now() + waitMs) / 1000),
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      })
    }
  }

  return {
    look: gate.look,

    async send({ priority, parties }, send) {
      const hashed = () => parties.map((party) => names.sign(party))
      const pass = await enter({ priority, parties: hashed, budget: { leftMs: tunables.maxWaitMs } })
      try {
        const answer = await send()
        clock.observe(answer)
        if (!wasSentRecently(answer)) await pass.observe(answer, answer.status === 429)
        return answer
      } finally {
        await pass.leave()
      }
    },
  }
}

/** Whether a 429 says only that a code is on its way already. */
export function wasSentRecently({ json }: Pick<UpstreamAnswer, 'json'>): boolean {
  return typeof json === 'object' && json !== null && 'errorCode' in json && SENT_RECENTLY.has(json.errorCode)
}
