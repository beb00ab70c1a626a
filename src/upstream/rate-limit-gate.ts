import { randomUUID } from 'node:crypto'
import {
  createSharedRecord,
  findHold,
  nextRecord,
  type RateLimitRecord,
  type RateLimitRules,
  type RateLimitStatus,
  type SharedRecord,
  type SharedRecordOptions,
} from './rate-limit-record.ts'
import { CLOCK_TOLERANCE_MS, type UpstreamResponse } from './upstream-client.ts'

/**
 * Holds calls while an API's rate limit is exhausted, and reserves the last requests of a limit for sign-ins in progress.
 *
 * - A 429 holds the calls of its caller until the limit's reset, for at most `maxClosedMs`; for a second if the API names no
 *   reset (rate-limit-record.ts).
 * - 429s to two unrelated callers, or a response with no requests remaining, close the gate for all callers.
 * - A probe, one call over all replicas, reopens the gate. It is sent after the reset. If callers can be told apart, the limit may
 *   apply to one caller only, so a probe is also sent at once, and again every `PROBE_MS`.
 *
 * Replicas share the state through the store. All times are on the API's clock.
 */
export interface RateLimitGate {
  /** Starts to read the state of other replicas, so that `enter` need not wait for it. Never fails. */
  prefetch(): void
  /** Resolves when the call may be sent; throws `RateLimitRefusal` if that would take longer than the budget. */
  enter(caller: GateCaller): Promise<GatePass>
}

export interface GateCaller {
  /** When few requests are left, `new` and `background` calls are refused. `background` calls never wait. */
  readonly priority: 'ongoing' | 'new' | 'background'
  /** The remaining time that this caller may wait; decreases as it waits. */
  readonly budget: { leftMs: number }
  /** HMACs that identify the caller, such as its address and user. Without them, every limit applies to all callers. */
  readonly parties?: () => readonly string[]
}

export interface GatePass {
  /** Reads the headers of the response. `isRefusal`: the API refused the call because of its rate limit. */
  observe(response: Pick<UpstreamResponse, 'headers'>, isRefusal: boolean): Promise<void>
  /** Must be called after `observe`, or if there was no response. */
  leave(): Promise<void>
}

/** The call was not sent: the API would have refused it, or the last requests are reserved for other calls. */
export class RateLimitRefusal extends Error {
  override readonly name = 'RateLimitRefusal'
  readonly waitMs: number
  /** The limit in the API's headers. */
  readonly limit: number | undefined

  constructor(waitMs: number, limit: number | undefined) {
    super('not sent because of the rate limit')
    this.waitMs = waitMs
    this.limit = limit
  }
}

export interface RateLimitGateOptions extends RateLimitRules, Omit<SharedRecordOptions, 'key' | 'retainMs'> {
  /** The limit's key in the store: the API, and an HMAC of the account there. */
  readonly api: string
  readonly scope: () => string
  readonly prefix: RateLimitHeaderPrefix
  /** The maximum random delay of a call after the reset. Part of `maxClosedMs`. */
  readonly jitterMs: number
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly onOutcome: (outcome: GateOutcome) => void
  readonly onRemaining?: (remaining: number) => void
}

export type GateOutcome = 'waited' | 'deferred' | 'refused' | 'probe'

/** While a probe is in flight, waiting callers check for its result this often. */
const POLL_MS = 50
/** The time until the next probe, if one has no response yet or was refused before the reset. */
const PROBE_MS = 5000
/** Longer than a call takes, so that other replicas know of a closed gate until the probe after the reset has a response. */
const RETAIN_MS = 15_000

export function createRateLimitGate(options: RateLimitGateOptions): RateLimitGate {
  const { jitterMs, random, sleep, onOutcome } = options
  const retainMs = jitterMs + RETAIN_MS
  const shared = createSharedRecord({ ...options, key: () => keyOf(options, ''), retainMs })
  const acquireProbe = createProbeLock(options)
  const gate = { ...options, maxClosedMs: options.maxClosedMs - jitterMs, shared, acquireProbe }

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

type Gate = RateLimitGateOptions & { readonly shared: SharedRecord; readonly acquireProbe: AcquireProbe }

/** A pass, or the time until the next check, in milliseconds. */
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
    const release = await gate.acquireProbe(isEarly ? Math.min(PROBE_MS, opensInMs) : PROBE_MS)
    if (release !== undefined) {
      gate.onOutcome('probe')
      return createPass(gate, caller, { closedSinceMs: record.closed?.sinceMs, isEarly, release })
    }
    if (!isEarly || !record.closed?.confirmed) waitMs = POLL_MS // another caller's probe is in flight
  }
  const mustNotWait = hold.by === 'low' || priority === 'background'
  if (!mustNotWait && waitMs <= budget.leftMs) return waitMs
  gate.onOutcome(mustNotWait ? 'deferred' : 'refused')
  throw new RateLimitRefusal(Math.max(waitMs, opensInMs), record.limit)
}

interface Probe {
  /** Identifies the closing that it probes. */
  readonly closedSinceMs: number | undefined
  /** Sent before the reset. */
  readonly isEarly: boolean
  readonly release: () => Promise<void>
}

function createPass(gate: Gate, { parties = () => [] }: GateCaller, probe?: Probe): GatePass {
  let isConfirmed = false
  return {
    async observe(response, isRefusal) {
      const nowMs = gate.clock.now()
      const rateLimit = readRateLimit(response, gate.prefix, nowMs)
      if (rateLimit.remaining !== undefined) gate.onRemaining?.(isRefusal ? 0 : rateLimit.remaining)
      const seen = { nowMs, rateLimit, isRefusal, parties, probed: probe?.closedSinceMs }
      const record = nextRecord(gate.shared.record(), seen, gate)
      isConfirmed = record?.closed?.confirmed ?? false
      await gate.shared.save(record)
    },
    async leave() {
      if (!(probe?.isEarly && isConfirmed)) await probe?.release()
    },
  }
}

/** Resolves with the function that releases the probe; undefined while another one is in flight. */
type AcquireProbe = (ttlMs: number) => Promise<(() => Promise<void>) | undefined>

function createProbeLock(options: RateLimitGateOptions): AcquireProbe {
  const { store, monotonic } = options
  let nextAt = Number.NEGATIVE_INFINITY

  return async (ttlMs) => {
    if (monotonic() < nextAt) return undefined
    nextAt = monotonic() + ttlMs
    const [key, token] = [keyOf(options, '-probe'), randomUUID()]
    // without the store, each process sends its own probe
    const isAcquired = await store.set(key, token, ttlMs, 'absent').catch(() => true)
    if (!isAcquired) {
      nextAt = monotonic() + POLL_MS
      return undefined
    }
    return async () => {
      nextAt = Number.NEGATIVE_INFINITY
      await store.deleteIf(key, token).catch(() => false) // the key expires
    }
  }
}

/** The key contains the version of the record, so that replicas of different versions do not overwrite each other's record. */
function keyOf({ api, scope }: RateLimitGateOptions, kind: '' | '-probe'): string {
  return `gatehouse:limit:${api}${kind}:v3:${scope()}`
}

/** The Authentication API sends `X-Rate-Limit-…`, the PAM API `X-RateLimit-…`. */
export type RateLimitHeaderPrefix = 'x-rate-limit' | 'x-ratelimit'

/** `untilMs` is the earlier of `…-Reset` and `…-Retry-At`, else `Retry-After`. */
export function readRateLimit(
  { headers }: Pick<UpstreamResponse, 'headers'>,
  prefix: RateLimitHeaderPrefix,
  nowMs: number,
): RateLimitStatus {
  const resetMs = parseTime(headers[`${prefix}-reset`])
  const retryAtMs = parseTime(headers[`${prefix}-retry-at`])
  const earliestMs = Math.min(futureOnly(resetMs, nowMs), futureOnly(retryAtMs, nowMs))
  return {
    limit: parseNumber(headers[`${prefix}-limit`]),
    remaining: parseNumber(headers[`${prefix}-remaining`]),
    untilMs: earliestMs < Infinity ? earliestMs : parseRetryAfter(headers['retry-after'], nowMs),
    resetMs,
  }
}

/** A time in the past is ignored. */
function futureOnly(timeMs: number | undefined, nowMs: number): number {
  return timeMs !== undefined && timeMs > nowMs - CLOCK_TOLERANCE_MS ? timeMs : Infinity
}

/** Unix times from here on are in milliseconds: in seconds, they would be after the year 5000. */
const MIN_MILLISECONDS = 1e11

function parseTime(header: UpstreamResponse['headers'][string]): number | undefined {
  const time = parseNumber(header)
  return time === undefined || time >= MIN_MILLISECONDS ? time : time * 1000
}

/** A number of seconds, or an HTTP date in one of its three forms (RFC 9110, sections 5.6.7 and 10.2.3). */
function parseRetryAfter(header: UpstreamResponse['headers'][string], nowMs: number): number | undefined {
  const seconds = parseNumber(header)
  if (seconds !== undefined) return nowMs + seconds * 1000
  if (typeof header !== 'string' || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(header)) return undefined
  const time = Date.parse(header.endsWith(' GMT') ? header : `${header} GMT`)
  return Number.isNaN(time) ? undefined : time
}

function parseNumber(header: UpstreamResponse['headers'][string]): number | undefined {
  return typeof header === 'string' && /^\d{1,15}(\.\d{1,9})?$/.test(header.trim())
    ? Number(header)
    : undefined
}
