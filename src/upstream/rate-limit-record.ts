import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { UpstreamClock } from './upstream-client.ts'

/** The state of an API's rate limit, shared by all replicas. Times are on the API's clock. */
type RateLimitRecord = Readonly<z.infer<typeof RateLimitRecord>>

const RateLimitRecord = z.object({
  /** Limits the wait even if the reader's clock is slow. */
  wroteAtMs: z.number(),
  limit: z.number().optional(),
  /** The callers whose response said that the limit is exhausted. Each is held until its own reset. */
  callers: z.array(z.object({ parties: z.array(z.string()), untilMs: z.number() })),
  /** Until then, the last requests are reserved for sign-ins in progress. */
  lowUntilMs: z.number(),
  /** The gate is closed for all callers, and the next probe is sent then. */
  probeAtMs: z.number().optional(),
})

const NO_LIMITS: RateLimitRecord = { wroteAtMs: 0, callers: [], lowUntilMs: 0 }

/** The rate limit in a response; a missing value is undefined. Times are in milliseconds since 1970, on the API's clock. */
export interface RateLimitStatus {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** When the next request is allowed: the earlier of `…-Reset` and `…-Retry-At`, else `Retry-After`. */
  readonly untilMs: number | undefined
  /** When the whole limit is available again. */
  readonly resetMs: number | undefined
}

export interface SharedRecordOptions {
  readonly store: RateLimitStore
  /** The limit's key in the store: the API, and an HMAC of the account there. */
  readonly api: string
  readonly scope: () => string
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly refreshEveryMs: number
  /** At this share of the limit or less, the remaining requests are reserved. */
  readonly reserveShare: number
  /** Resets further away are shortened to this. */
  readonly maxClosedMs: number
  /** The maximum random delay of a call after the reset. Part of `maxClosedMs`. */
  readonly jitterMs: number
  readonly onUnreadable?: () => void
}

interface RateLimitStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number, when?: 'absent'): Promise<boolean>
  deleteIf(key: string, expected: string): Promise<boolean>
}

export interface GateCaller {
  /** When few requests are left, `new` and `background` calls are refused. `background` calls never wait. */
  readonly priority: 'ongoing' | 'new' | 'background'
  /** The remaining time that this caller may wait; decreases as it waits. */
  readonly budget: { leftMs: number }
  /** HMACs that identify the caller, such as its address and user. If there are none, every limit applies to all callers. */
  readonly parties: () => readonly string[]
}

/** If the API gives no reset, or one in the past. */
const DEFAULT_CLOSED_MS = 1000
/** Longer than a call takes, so that other replicas know of a closed gate until the probe after the reset has a response. */
const RETAIN_MS = 15_000
const MAX_CALLERS = 20
/** The time until the next probe, if one was refused before the reset or has no response yet. */
const PROBE_MS = 5000
/** While a probe is in flight, waiting callers check for its result this often. */
export const POLL_MS = 50

/** The record, as this process knows it. Without the store, each process uses only the responses that it has seen. */
export function createSharedRecord(options: SharedRecordOptions) {
  const { store, monotonic, refreshEveryMs, jitterMs } = options
  let record = NO_LIMITS
  let reading: Promise<void> | undefined
  let readAt = Number.NEGATIVE_INFINITY
  /** Until then, a record of this process is kept even if the store does not have it. */
  let keptUntil = Number.NEGATIVE_INFINITY

  async function read(): Promise<void> {
    const before = record
    const stored = await readStored(options)
    const oursIsNewer = record !== before || (stored === NO_LIMITS && monotonic() < keptUntil)
    if (stored !== undefined && !oursIsNewer) record = stored
    readAt = monotonic()
    reading = undefined
  }

  return {
    current: () => record,
    acquireProbe: createProbeLock(options),

    /** Reads the store unless the last read is at most `maxAgeMs` old. Undefined if there is nothing to wait for. Never fails. */
    refresh(maxAgeMs = refreshEveryMs) {
      if (monotonic() - readAt >= maxAgeMs) reading ??= read()
      return reading
    },

    async update(seen: Observation): Promise<void> {
      const next = nextRecord(record, seen, options)
      if (next === record) return
      record = next
      const endMs = Math.max(seen.nowMs, next.lowUntilMs, ...next.callers.map((one) => one.untilMs))
      const ttlMs = endMs - seen.nowMs + jitterMs + RETAIN_MS
      keptUntil = monotonic() + ttlMs
      await store.set(keyOf(options, ''), JSON.stringify(record), ttlMs).catch(() => false)
    },
  }
}

/** Undefined if the store is unreachable or the record unreadable. */
async function readStored(options: SharedRecordOptions): Promise<RateLimitRecord | undefined> {
  let text: string | undefined
  try {
    text = await options.store.get(keyOf(options, ''))
    return text === undefined ? NO_LIMITS : RateLimitRecord.parse(JSON.parse(text))
  } catch {
    if (text !== undefined) options.onUnreadable?.()
    return undefined
  }
}

/** Resolves with the function that releases the probe; undefined while another one is in flight. */
function createProbeLock(options: SharedRecordOptions) {
  const { store, monotonic } = options
  let nextAt = Number.NEGATIVE_INFINITY

  return async (): Promise<(() => Promise<void>) | undefined> => {
    if (monotonic() < nextAt) return undefined
    nextAt = monotonic() + PROBE_MS
    const [key, token] = [keyOf(options, '-probe'), randomUUID()]
    // without the store, each process sends its own probe
    const isAcquired = await store.set(key, token, PROBE_MS, 'absent').catch(() => true)
    if (!isAcquired) nextAt = monotonic() + POLL_MS
    const release = async () => {
      nextAt = Number.NEGATIVE_INFINITY
      await store.deleteIf(key, token).catch(() => false) // the key expires
    }
    return isAcquired ? release : undefined
  }
}

/** The key contains the version of the record, so that replicas of different versions do not overwrite each other's record. */
function keyOf({ api, scope }: SharedRecordOptions, kind: '' | '-probe'): string {
  return `gatehouse:limit:${api}${kind}:v4:${scope()}`
}

/**
 * Why a call must not be sent now. A caller is also held if its parties include all those of a held caller. A closed gate stays
 * closed, even after `leftMs`, until a probe gets a response.
 */
export function findHold(record: RateLimitRecord, { priority, parties }: GateCaller, clockMs: number) {
  const { wroteAtMs, callers, lowUntilMs, probeAtMs } = record
  const nowMs = Math.max(clockMs, wroteAtMs)
  const own = callers.length > 0 ? parties() : []
  const leftOf = (some: RateLimitRecord['callers']) => Math.max(0, ...some.map((one) => one.untilMs)) - nowMs
  const leftMs = leftOf(callers.filter((one) => one.parties.every((party) => own.includes(party))))
  if (leftMs > 0) return { leftMs, probeInMs: Infinity, isReserved: false }
  // before the closed gate: the last requests, probes included, are for sign-ins in progress
  if (priority !== 'ongoing' && lowUntilMs > nowMs)
    return { leftMs: lowUntilMs - nowMs, probeInMs: Infinity, isReserved: true }
  if (probeAtMs === undefined) return undefined
  return { leftMs: leftOf(callers), probeInMs: probeAtMs - nowMs, isReserved: false }
}

/** A response and its call. */
interface Observation extends Pick<GateCaller, 'parties'> {
  readonly nowMs: number
  readonly rateLimit: RateLimitStatus
  /** A 429. The API sends the same 429 for the limit of one client or user. */
  readonly isRefusal: boolean
  /** If the call was a probe: `probeAtMs` of the record when it was sent. */
  readonly probed: number | undefined
}

/** The same record if the response changes nothing. */
function nextRecord(before: RateLimitRecord, seen: Observation, rules: SharedRecordOptions): RateLimitRecord {
  const { nowMs, rateLimit, isRefusal } = seen
  const isExhausted = isRefusal || rateLimit.remaining === 0
  const change = isExhausted ? afterExhausted(before, seen, rules) : afterSuccess(before, seen, rules)
  if (change === undefined) return before
  return { ...before, ...change, limit: rateLimit.limit ?? before.limit, wroteAtMs: nowMs }
}

/** A 429 applies to its caller only, unless an unrelated caller has got one too. */
function afterExhausted(before: RateLimitRecord, seen: Observation, rules: SharedRecordOptions) {
  const { nowMs, isRefusal, probed } = seen
  const { untilMs: statedMs = 0 } = seen.rateLimit
  const resetMs = statedMs > nowMs ? statedMs : nowMs + DEFAULT_CLOSED_MS
  const untilMs = Math.min(resetMs, nowMs + rules.maxClosedMs - rules.jitterMs)
  const parties = [...seen.parties()]
  const others = before.callers.filter((one) => one.untilMs > nowMs)
  const isUnrelated = others.some((one) => !one.parties.some((party) => parties.includes(party)))
  const isForAll = !isRefusal || parties.length === 0 || isUnrelated
  const nextProbeMs = probed === undefined ? nowMs : nowMs + PROBE_MS
  return {
    callers: [...others, { parties, untilMs }].slice(-MAX_CALLERS),
    probeAtMs: isForAll ? Math.max(before.probeAtMs ?? 0, nextProbeMs) : before.probeAtMs,
  }
}

/** The response to the probe opens the gate. A response from a new period ends the reservation of the last requests. */
function afterSuccess(before: RateLimitRecord, seen: Observation, rules: SharedRecordOptions) {
  const { probeAtMs, lowUntilMs } = before
  const { nowMs, probed } = seen
  const { limit = 0, remaining = limit + 1, untilMs = 0 } = seen.rateLimit
  const isLow = untilMs > nowMs && remaining <= limit * rules.reserveShare
  const resetMs = Math.min(untilMs, nowMs + rules.maxClosedMs)
  const isNewPeriod = untilMs > lowUntilMs
  const newLowMs = isLow ? Math.max(resetMs, lowUntilMs) : isNewPeriod ? 0 : lowUntilMs
  const opens = probed !== undefined && probed === probeAtMs
  if (!opens && newLowMs === lowUntilMs) return undefined
  return { probeAtMs: opens ? undefined : probeAtMs, lowUntilMs: newLowMs }
}
