import { type Allowance, type RateLimitPrefix, readAllowance } from './rate-limit-headers.ts'
import { createRateLimitProbes, PROBE_MS } from './rate-limit-probes.ts'
import {
  type Asking,
  type Closure,
  type Found,
  holdOn,
  type LimitRecord,
  withAnswer,
  withFound,
} from './rate-limit-record.ts'
import { createSharedLimit, type LimitStore } from './shared-limit.ts'
import type { UpstreamAnswer } from './upstream-client.ts'
import type { UpstreamClock } from './upstream-clock.ts'

/**
 * Holds calls back while an API's rate limit is used up, and leaves what little is left to those who have begun. A 429
 * holds back the caller that met it. 429s to two callers with nothing in common, or an answer with nothing left, close the gate
 * for all; one probe reopens it. What one replica reads in the answers' headers holds for all, through the store. All times are
 * the API's.
 */
export interface RateLimitGate {
  /** Begins to look at what other replicas know, so that `enter` finds it there. Never fails. */
  look(): void
  /** Resolves when a call may go out; throws `RateLimitRefusal` when that would take longer than the budget. */
  enter(caller: GateCaller): Promise<GatePass>
}

export interface GateCaller {
  /** `new` gives way when little is left; so does `background` work, which never waits either. */
  readonly priority: 'ongoing' | 'new' | 'background'
  /** What this caller may still spend waiting; counted down. */
  readonly budget: { leftMs: number }
  /** Whom the call is for, as keyed hashes: a limit may be one caller's alone. None: it is everybody's. */
  readonly parties?: () => readonly string[]
  /** What is asked for: an API may count that apart. */
  readonly kind?: string
}

export interface GatePass {
  /** Takes the answer in; `limited` when it is a refusal for the limit's sake. */
  observe(answer: Pick<UpstreamAnswer, 'headers'>, limited: boolean): Promise<void>
  /** To be called when the answer was observed, or there was none. */
  leave(): Promise<void>
}

/** Nothing was sent: the API would have refused it, or somebody else needs it more. */
export class RateLimitRefusal extends Error {
  override readonly name = 'RateLimitRefusal'
  readonly waitMs: number
  /** The API's own figure, when it said one. */
  readonly limit: number | undefined

  constructor(waitMs: number, limit: number | undefined) {
    super('held back by the rate limit')
    this.waitMs = waitMs
    this.limit = limit
  }
}

/** The part of the store that it needs; it goes on when these throw. */
export interface GateStore extends LimitStore {
  deleteIf(key: string, expected: string): Promise<boolean>
}

export interface RateLimitGateParts {
  readonly store: GateStore
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  /** Names the limit in the store: which API, and a keyed hash of which account there. */
  readonly api: string
  readonly scope: () => string
  readonly prefix: RateLimitPrefix
  /** At this share of the allowance and below it, `new` and `background` give way. */
  readonly lowShare: number
  /** The gate is never closed for longer, however far away a reset is said to be. */
  readonly maxClosedMs: number
  /** The most that a call is spread over after the allowance is back, in milliseconds. */
  readonly jitterMs: number
  readonly lookEveryMs: number
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly onOutcome: (outcome: GateOutcome) => void
  readonly onRemaining?: (remaining: number) => void
  readonly onUnreadable?: () => void
}

export type GateOutcome = 'waited' | 'gave_way' | 'refused' | 'probe'

/** A limit that names no time, or one in the past. */
const DEFAULT_CLOSED_MS = 1000
const POLL_MS = 50

export function createRateLimitGate(parts: RateLimitGateParts): RateLimitGate {
  const { store, clock, monotonic, jitterMs, onOutcome } = parts
  /** The version is part of it: replicas of another version keep their own record, and neither overwrites the other's. */
  const key = (what: string) => `gatehouse:limit:${parts.api}${what}:v2:${parts.scope()}`
  const shared = createSharedLimit({ ...parts, key: () => key(''), lingerMs: jitterMs + PROBE_MS })
  const probes = createRateLimitProbes({ store, monotonic, key })

  return {
    look: shared.look,

    async enter({ priority, budget, parties = () => [], kind = '' }) {
      const asking = () => ({ parties: parties(), kind })
      const spreadMs = parts.random() * jitterMs
      let waited = false
      shared.look()
      for (;;) {
        await shared.settled()
        const record = shared.record()
        const hold = record && holdOn(record, asking(), clock.now())
        if (hold === undefined || (hold.state === 'low' && priority === 'ongoing')) return passFor(asking)
        const { closure, leftMs } = hold
        const early = closure !== undefined && leftMs > 0 ? closure : undefined
        if (early !== undefined && (await mayProbe(early, asking()))) return passFor(asking)
        const isBeingFound = early?.confirmed === false && probes.isFinding() && budget.leftMs >= POLL_MS
        if (hold.state === 'low' && !isBeingFound) throw refusal('gave_way', leftMs, record)
        let waitMs = isBeingFound ? POLL_MS : leftMs + spreadMs
        if (waitMs <= 0) {
          const leave = await probes.goFirst()
          if (leave !== undefined) {
            onOutcome('probe')
            return { ...passFor(asking), leave }
          }
          waitMs = POLL_MS
        }
        if (priority === 'background') throw refusal('gave_way', waitMs, record)
        if (waitMs > budget.leftMs) throw refusal('refused', waitMs, record)
        if (!waited) onOutcome('waited')
        waited = true
        budget.leftMs -= waitMs
        await parts.sleep(waitMs)
        shared.refresh()
      }
    },
  }

  /** Before the time is over, one caller after the other may learn whether the closure is everybody's. */
  async function mayProbe(closure: Closure, { parties }: Asking): Promise<boolean> {
    if (parties.length === 0 || !(await probes.mayFindOut(closure))) return false
    onOutcome('probe')
    return true
  }

  function refusal(outcome: GateOutcome, waitMs: number, record: LimitRecord | undefined): RateLimitRefusal {
    onOutcome(outcome)
    return new RateLimitRefusal(waitMs, record?.limit)
  }

  function passFor(asking: () => Asking): GatePass {
    const under = shared.record()?.closure?.sinceMs
    return {
      leave: async () => {},
      async observe(answer, limited) {
        const nowMs = clock.now()
        const allowance = readAllowance(answer, parts.prefix, nowMs)
        if (allowance.remaining !== undefined) parts.onRemaining?.(limited ? 0 : allowance.remaining)
        const found = foundIn(allowance, limited, nowMs)
        const known = shared.record()
        if (found !== undefined) await shared.save(withFound(known, found, asking(), { nowMs, under }))
        else if (known !== undefined)
          await shared.save(withAnswer(known, allowance.untilMs, asking(), { nowMs, under }))
      },
    }
  }

  /** What an answer means; undefined: there is enough left, or it says nothing. */
  function foundIn(
    { limit, remaining, untilMs }: Allowance,
    isRefusal: boolean,
    nowMs: number,
  ): Found | undefined {
    const latestMs = nowMs + parts.maxClosedMs - jitterMs
    if (isRefusal || remaining === 0) {
      const toldMs = untilMs !== undefined && untilMs > nowMs ? untilMs : nowMs + DEFAULT_CLOSED_MS
      return { state: 'closed', untilMs: Math.min(toldMs, latestMs), limit, isRefusal }
    }
    if (remaining === undefined || limit === undefined || untilMs === undefined || untilMs <= nowMs)
      return undefined
    if (remaining > limit * parts.lowShare) return undefined
    return { state: 'low', untilMs: Math.min(untilMs, latestMs), limit, isRefusal }
  }
}
