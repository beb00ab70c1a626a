import { randomUUID } from 'node:crypto'
import {
  createSharedRecord,
  findHold,
  nextRecord,
  type RateLimitRecord,
  type RateLimitRules,
  type SharedRecord,
  type SharedRecordOptions,
} from './rate-limit-record.ts'
import { type RateLimitHeaderPrefix, readRateLimit } from './response-headers.ts'
import type { UpstreamResponse } from './upstream-client.ts'

/**
 * Holds calls back while an API's rate limit is used up, and keeps what little is left for those who have begun.
 *
 * - A 429 holds back its caller.
 * - 429s to two callers with nothing in common, or an answer with nothing left, close the gate for all callers.
 * - One probe reopens it: a single call, over all replicas. It is sent after the reset. If callers can be told apart,
 *   the limit may be one caller's own, so a probe is also sent at once, and again every `PROBE_MS`.
 *
 * What one replica reads in the answers' headers holds for all, through the store. All times are the API's.
 */
export interface RateLimitGate {
  /** Begins to read what other replicas know, so that `enter` finds it there. Never fails. */
  prefetch(): void
  /** Resolves when a call may go out; throws `RateLimitRefusal` if that would take longer than the budget. */
  enter(caller: GateCaller): Promise<GatePass>
}

export interface GateCaller {
  /** `new` gives way when little is left; so does `background` work, which never waits either. */
  readonly priority: 'ongoing' | 'new' | 'background'
  /** What this caller may still spend waiting; counted down. */
  readonly budget: { leftMs: number }
  /** Whom the call is for, as keyed hashes: a limit may be one caller's alone. None: every limit is everybody's. */
  readonly parties?: () => readonly string[]
}

export interface GatePass {
  /** Reads the answer's headers. `isRefusal`: the API refused the call because of its rate limit. */
  observe(answer: Pick<UpstreamResponse, 'headers'>, isRefusal: boolean): Promise<void>
  /** To be called after `observe`, or if there was no answer. */
  leave(): Promise<void>
}

/** Nothing was sent: the API would have refused the call, or what is left is for others. */
export class RateLimitRefusal extends Error {
  override readonly name = 'RateLimitRefusal'
  readonly waitMs: number
  /** The limit that the API named. */
  readonly limit: number | undefined

  constructor(waitMs: number, limit: number | undefined) {
    super('held back by the rate limit')
    this.waitMs = waitMs
    this.limit = limit
  }
}

export interface RateLimitGateOptions extends RateLimitRules, Omit<SharedRecordOptions, 'key' | 'lingerMs'> {
  /** Names the limit in the store: which API, and a keyed hash of which account there. */
  readonly api: string
  readonly scope: () => string
  readonly prefix: RateLimitHeaderPrefix
  /** The most that a call is spread over after the reset. Part of `maxClosedMs`. */
  readonly jitterMs: number
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly onOutcome: (outcome: GateOutcome) => void
  readonly onRemaining?: (remaining: number) => void
}

export type GateOutcome = 'waited' | 'deferred' | 'refused' | 'probe'

/** While a probe is out, waiting callers look for its answer this often. */
const POLL_MS = 50
/** A probe that has not come back, or was refused before the reset, keeps the next one from going out for so long. */
const PROBE_MS = 5000
/** Longer than a call takes: other replicas know of a closed gate until the probe after the reset is answered. */
const LINGER_MS = 15_000

export function createRateLimitGate(options: RateLimitGateOptions): RateLimitGate {
  const { jitterMs, random, sleep, onOutcome } = options
  const lingerMs = jitterMs + LINGER_MS
  const shared = createSharedRecord({ ...options, key: () => keyOf(options, ''), lingerMs })
  const claimProbe = createProbeClaim(options)
  const gate = { ...options, maxClosedMs: options.maxClosedMs - jitterMs, shared, claimProbe }

  return {
    prefetch: () => void shared.refresh(),

    async enter(caller) {
      const spreadMs = random() * jitterMs
      await shared.refresh()
      for (let waited = false; ; waited = true) {
        const record = shared.record()
        if (record === undefined) return createPass(gate, caller)
        const next = await passOrWait(gate, record, caller, spreadMs)
        if (typeof next !== 'number') return next
        if (!waited) onOutcome('waited')
        caller.budget.leftMs -= next
        await sleep(next)
        await shared.refresh(0)
      }
    },
  }
}

type Gate = RateLimitGateOptions & { readonly shared: SharedRecord; readonly claimProbe: ClaimProbe }

/** A pass, or how long to wait before the next look, in milliseconds. */
async function passOrWait(
  gate: Gate,
  record: RateLimitRecord,
  caller: GateCaller,
  spreadMs: number,
): Promise<GatePass | number> {
  const { priority, budget } = caller
  const parties = caller.parties?.() ?? []
  const hold = findHold(record, { parties, isOngoing: priority === 'ongoing' }, gate.clock.now())
  if (hold === undefined) return createPass(gate, caller)

  const opensInMs = hold.leftMs + spreadMs
  const isEarly = opensInMs > 0
  let waitMs = opensInMs
  if (hold.by === 'closed' && (!isEarly || parties.length > 0)) {
    const release = await gate.claimProbe(isEarly ? Math.min(PROBE_MS, opensInMs) : PROBE_MS)
    if (release !== undefined) {
      gate.onOutcome('probe')
      return createPass(gate, caller, { closedSinceMs: record.closed?.sinceMs, isEarly, release })
    }
    if (!isEarly || !record.closed?.confirmed) waitMs = POLL_MS // another caller's probe is out
  }
  const givesWay = hold.by === 'low' || priority === 'background'
  if (!givesWay && waitMs <= budget.leftMs) return waitMs
  gate.onOutcome(givesWay ? 'deferred' : 'refused')
  throw new RateLimitRefusal(Math.max(waitMs, opensInMs), record.limit)
}

interface Probe {
  /** Of the closed gate. */
  readonly closedSinceMs: number | undefined
  /** It goes out before the reset. */
  readonly isEarly: boolean
  readonly release: () => Promise<void>
}

function createPass(gate: Gate, { parties = () => [] }: GateCaller, probe?: Probe): GatePass {
  let isConfirmed = false
  return {
    async observe(answer, isRefusal) {
      const nowMs = gate.clock.now()
      const allowance = readRateLimit(answer, gate.prefix, nowMs)
      if (allowance.remaining !== undefined) gate.onRemaining?.(isRefusal ? 0 : allowance.remaining)
      const seen = { nowMs, allowance, isRefusal, parties, probed: probe?.closedSinceMs }
      const record = nextRecord(gate.shared.record(), seen, gate)
      isConfirmed = record?.closed?.confirmed ?? false
      await gate.shared.save(record)
    },
    async leave() {
      if (!(probe?.isEarly && isConfirmed)) await probe?.release()
    },
  }
}

/** Resolves with the function that lets the next probe go out; undefined while another one is out. */
type ClaimProbe = (ttlMs: number) => Promise<(() => Promise<void>) | undefined>

function createProbeClaim(options: RateLimitGateOptions): ClaimProbe {
  const { store, monotonic } = options
  let nextAt = Number.NEGATIVE_INFINITY

  return async (ttlMs) => {
    if (monotonic() < nextAt) return undefined
    nextAt = monotonic() + ttlMs
    const [key, claim] = [keyOf(options, '-probe'), randomUUID()]
    // without the store, each process has a probe of its own
    const isOurs = await store.set(key, claim, ttlMs, 'absent').catch(() => true)
    if (!isOurs) {
      nextAt = monotonic() + POLL_MS
      return undefined
    }
    return async () => {
      nextAt = Number.NEGATIVE_INFINITY
      await store.deleteIf(key, claim).catch(() => false) // it ends by itself
    }
  }
}

/** Names the version: replicas of another version have a record of their own, and neither overwrites the other's. */
function keyOf({ api, scope }: RateLimitGateOptions, what: '' | '-probe'): string {
  return `gatehouse:limit:${api}${what}:v3:${scope()}`
}
