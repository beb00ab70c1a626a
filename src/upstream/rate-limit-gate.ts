import { type Allowance, type RateLimitPrefix, readAllowance } from './rate-limit-headers.ts'
import {
  type Asking,
  concerns,
  isAnother,
  type LimitRecord,
  metBy,
  parseLimitRecord,
} from './rate-limit-record.ts'
import { createRateLimitScouts, PROBE_MS } from './rate-limit-scouts.ts'
import type { UpstreamAnswer } from './upstream-client.ts'
import type { UpstreamClock } from './upstream-clock.ts'

/**
 * Holds calls back while an API's rate limit is used up, and leaves what little is left to those who have begun.
 * What one replica reads in the answers' headers holds for all, through the store; without the store each process
 * goes by what it saw itself. All times are the API's.
 *
 * The store is written only when little or nothing is left, and read at most once in `lookEveryMs`.
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
  /** Whom the call is for, as keyed hashes: a limit may be one client's alone. None: it is everybody's. */
  readonly parties?: () => readonly string[]
  /** What is asked for: somebody else's answer counts only where it was for the same. */
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
export interface GateStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number, when?: 'absent'): Promise<boolean>
  delete(key: string): Promise<boolean>
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
/** Reset times closer than this are the same limit: one capped by `maxClosedMs` is recomputed from now and drifts. */
const SAME_MS = 1000

export function createRateLimitGate(parts: RateLimitGateParts): RateLimitGate {
  const { store, clock, monotonic, jitterMs, random, sleep, onOutcome } = parts
  /** The version is part of it: replicas of another version keep their own record, and neither overwrites the other's. */
  const key = (what: string) => `gatehouse:limit:${parts.api}${what}:v1:${parts.scope()}`
  let local: { readonly record: LimitRecord; readonly saved: boolean } | undefined
  let looking: Promise<void> | undefined
  let lookedAt = Number.NEGATIVE_INFINITY
  const scouts = createRateLimitScouts({ store, monotonic, key })

  return {
    look,

    async enter({ priority, budget, parties = () => [], kind = '' }) {
      const asking = () => ({ parties: parties(), kind })
      const spreadMs = random() * jitterMs
      let waited = false
      look()
      for (;;) {
        await looking
        const record = local?.record
        if (record === undefined || !concerns(record, asking())) return passFor(record, asking)
        let waitMs = Math.min(record.untilMs - clock.now(), record.untilMs - record.wroteAtMs)
        const givesWay = record.state === 'low' && priority !== 'ongoing' && waitMs > 0
        if (record.state === 'low' && !givesWay) return passFor(record, asking)
        const isOther = waitMs > 0 && isAnother(record, asking())
        if (isOther && (await scouts.mayFindOut(record))) {
          onOutcome('probe')
          return passFor(record, asking)
        }
        const isInDoubt = isOther && !record.confirmed
        const willBeKnown = isInDoubt && scouts.isFinding() && budget.leftMs >= POLL_MS
        if (givesWay && !willBeKnown) throw refuse('gave_way', waitMs, record)
        waitMs = willBeKnown ? POLL_MS : waitMs + spreadMs
        if (waitMs <= 0) {
          const leave = await scouts.goFirst()
          if (leave !== undefined) {
            onOutcome('probe')
            return { ...passFor(record, asking), leave }
          }
          waitMs = POLL_MS
        }
        if (priority === 'background') throw refuse('gave_way', waitMs, record)
        if (waitMs > budget.leftMs) throw refuse('refused', waitMs, record)
        if (!waited) onOutcome('waited')
        waited = true
        budget.leftMs -= waitMs
        await sleep(waitMs)
        looking ??= read()
      }
    },
  }

  function look(): void {
    if (looking === undefined && monotonic() - lookedAt >= parts.lookEveryMs) looking = read()
  }

  async function read(): Promise<void> {
    const before = local
    try {
      const text = await store.get(key(''))
      if (local !== before) return // what this process was told meanwhile is newer
      const record = parseLimitRecord(text)
      if (text !== undefined && record === undefined) parts.onUnreadable?.()
      if (record !== undefined) local = { record, saved: true }
      else if (local?.saved) local = undefined
    } catch {
      // The store is away: what this process saw itself still holds.
    } finally {
      lookedAt = monotonic()
      looking = undefined
    }
  }

  function refuse(outcome: GateOutcome, waitMs: number, { limit }: LimitRecord): RateLimitRefusal {
    onOutcome(outcome)
    return new RateLimitRefusal(waitMs, limit)
  }

  function passFor(under: LimitRecord | undefined, asking: () => Asking): GatePass {
    return { observe: (answer, limited) => observe(answer, limited, under, asking), leave: async () => {} }
  }

  async function observe(
    answer: Pick<UpstreamAnswer, 'headers'>,
    limited: boolean,
    under: LimitRecord | undefined,
    asking: () => Asking,
  ): Promise<void> {
    const nowMs = clock.now()
    const allowance = readAllowance(answer, parts.prefix, nowMs)
    if (allowance.remaining !== undefined) parts.onRemaining?.(limited ? 0 : allowance.remaining)
    const found = recordOf(allowance, limited, nowMs)
    const known = local?.record
    // The answer to a call from before the gate was closed says nothing; to a call that went out since, it does.
    const isUnder = known !== undefined && known.wroteAtMs === under?.wroteAtMs
    if (found !== undefined) return tighten(known, found, asking(), isUnder)
    if (known === undefined) return
    if (nowMs >= known.untilMs || (known.state === 'low' && isLater(allowance, known))) return reopen()
    if (isUnder && isAnother(known, asking()) && concerns(known, asking()))
      await save({ ...known, reach: known.kind === asking().kind ? 'met' : 'kind' })
  }

  async function tighten(
    known: LimitRecord | undefined,
    found: Found,
    asking: Asking,
    isUnder: boolean,
  ): Promise<void> {
    const nowMs = clock.now()
    const record: LimitRecord = {
      ...found,
      version: 1,
      wroteAtMs: nowMs,
      met: metBy([], asking),
      kind: asking.kind,
      reach: 'everybody',
      confirmed: false,
    }
    if (known === undefined || nowMs >= known.untilMs) return save(record)
    const met = metBy(known.met, asking)
    if (!concerns(known, asking)) return save({ ...record, met })
    if (isAnother(known, asking)) {
      if (known.confirmed && found.state === 'low') return // each of those who have begun sees it
      const severest = known.state === 'closed' ? known : { ...record, wroteAtMs: known.wroteAtMs }
      const reach = known.kind === asking.kind ? known.reach : 'everybody'
      // two who were on their way at once may each have met a limit of their own
      return save({ ...severest, met, reach, kind: known.kind, confirmed: known.confirmed || isUnder })
    }
    const isWorse =
      known.state === found.state ? found.untilMs > known.untilMs + SAME_MS : found.state === 'closed'
    if (isWorse) await save({ ...record, met, reach: known.reach, confirmed: known.confirmed })
  }

  /** What an answer means; undefined: there is enough left, or it says nothing. */
  function recordOf(
    { limit, remaining, untilMs }: Allowance,
    limited: boolean,
    nowMs: number,
  ): Found | undefined {
    const latestMs = nowMs + parts.maxClosedMs - jitterMs
    if (limited || remaining === 0) {
      const isTold = untilMs !== undefined && untilMs > nowMs
      return {
        state: 'closed',
        untilMs: Math.min(isTold ? untilMs : nowMs + DEFAULT_CLOSED_MS, latestMs),
        limit,
      }
    }
    if (remaining === undefined || limit === undefined || untilMs === undefined || untilMs <= nowMs)
      return undefined
    if (remaining > limit * parts.lowShare) return undefined
    return { state: 'low', untilMs: Math.min(untilMs, latestMs), limit }
  }

  async function save(record: LimitRecord): Promise<void> {
    local = { record, saved: false }
    const ttlMs = record.untilMs - clock.now() + (record.state === 'closed' ? jitterMs + PROBE_MS : 0)
    try {
      await store.set(key(''), JSON.stringify(record), ttlMs)
      if (local?.record === record) local = { record, saved: true }
    } catch {
      // The store is away: the gate is closed for this process alone.
    }
  }

  async function reopen(): Promise<void> {
    local = undefined
    try {
      await store.delete(key(''))
    } catch {
      // The store is away: the record ends by itself.
    }
  }
}

type Found = Pick<LimitRecord, 'state' | 'untilMs' | 'limit'>

/** The allowance has come back since: it speaks of a later time. */
function isLater({ untilMs }: Allowance, known: LimitRecord): boolean {
  return untilMs !== undefined && untilMs > known.untilMs
}
