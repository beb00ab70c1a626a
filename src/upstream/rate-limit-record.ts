import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { UpstreamClock } from './upstream-client.ts'

/** The state of an API's rate limit, shared by all replicas. Times are on the API's clock. */
export type RateLimitRecord = z.infer<typeof RateLimitRecord>

const RateLimitRecord = z.object({
  version: z.literal(3),
  /** `untilMs − wroteAtMs` limits the wait even if the reader's clock is wrong. */
  wroteAtMs: z.number(),
  limit: z.number().optional(),
  /** The callers that got a 429. Each is held until its own reset. */
  callers: z.array(z.object({ parties: z.array(z.string()), untilMs: z.number() })),
  /** The gate is closed for all callers. `confirmed`: a probe got a 429 too. */
  closed: z.object({ sinceMs: z.number(), untilMs: z.number(), confirmed: z.boolean() }).optional(),
  /** Until then, the last requests are reserved for sign-ins in progress. */
  lowUntilMs: z.number().optional(),
})

type Limits = Pick<RateLimitRecord, 'callers' | 'closed' | 'lowUntilMs'>

/** The record, as this process knows it. Without the store, each process uses only the responses that it has seen. */
export interface SharedRecord {
  record(): RateLimitRecord | undefined
  /** Reads the store unless the last read is at most `maxAgeMs` old. Undefined if there is nothing to wait for. Never fails. */
  refresh(maxAgeMs?: number): Promise<void> | undefined
  /** Undefined removes the record. An unchanged record is not written again. */
  save(record: RateLimitRecord | undefined): Promise<void>
}

export interface SharedRecordOptions {
  readonly store: RateLimitStore
  readonly key: () => string
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly refreshEveryMs: number
  /** How long the record of a closed gate is kept after its reset, for the probe. */
  readonly retainMs: number
  readonly onUnreadable?: () => void
}

export interface RateLimitStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number, when?: 'absent'): Promise<boolean>
  delete(key: string): Promise<boolean>
  deleteIf(key: string, expected: string): Promise<boolean>
}

export function createSharedRecord(options: SharedRecordOptions): SharedRecord {
  const { store, key, monotonic } = options
  let local: { readonly record: RateLimitRecord; readonly saved: boolean } | undefined
  let reading: Promise<void> | undefined
  let readAt = Number.NEGATIVE_INFINITY

  async function read(): Promise<void> {
    const before = local
    try {
      const text = await store.get(key())
      if (local !== before) return // this process has a newer record by now
      const record = parseLimitRecord(text, options)
      if (record !== undefined) local = { record, saved: true }
      else if (local?.saved) local = undefined
    } catch {
      // the store is unreachable: the local record is kept
    } finally {
      readAt = monotonic()
      reading = undefined
    }
  }

  return {
    record: () => local?.record,

    refresh(maxAgeMs = options.refreshEveryMs) {
      if (monotonic() - readAt >= maxAgeMs) reading ??= read()
      return reading
    },

    async save(record) {
      if (record === local?.record) return
      local = record && { record, saved: false }
      try {
        await write(record, options)
        if (record !== undefined && local?.record === record) local = { record, saved: true }
      } catch {
        // the store is unreachable: only this process uses the record, and the stored one expires
      }
    },
  }
}

/** An unreadable record is treated as missing. */
function parseLimitRecord(text: string | undefined, { onUnreadable }: SharedRecordOptions) {
  if (text === undefined) return undefined
  try {
    return RateLimitRecord.parse(JSON.parse(text))
  } catch {
    onUnreadable?.()
    return undefined
  }
}

async function write(record: RateLimitRecord | undefined, options: SharedRecordOptions): Promise<void> {
  const { store, key, clock, retainMs } = options
  if (record === undefined) return void (await store.delete(key()))
  const { callers, closed, lowUntilMs = 0 } = record
  const closedUntilMs = closed === undefined ? 0 : closed.untilMs + retainMs
  const untilMs = Math.max(closedUntilMs, lowUntilMs, ...callers.map((one) => one.untilMs))
  await store.set(key(), JSON.stringify(record), Math.max(1, untilMs - clock.now()))
}

/**
 * Why a call must not be sent now, and for how long. A caller is also held if its parties include all those of a caller that got a 429.
 * A closed gate stays closed after `leftMs`, until a probe gets a response.
 */
export function findHold(
  record: RateLimitRecord,
  { parties, isOngoing }: { parties: readonly string[]; isOngoing: boolean },
  nowMs: number,
): { readonly by: 'caller' | 'low' | 'closed'; readonly leftMs: number } | undefined {
  const { callers, closed, lowUntilMs = 0 } = record
  const leftUntil = (untilMs: number) => untilMs - Math.max(nowMs, record.wroteAtMs)
  const own = callers.find(
    (one) => leftUntil(one.untilMs) > 0 && one.parties.every((party) => parties.includes(party)),
  )
  if (own !== undefined) return { by: 'caller', leftMs: leftUntil(own.untilMs) }
  // before `closed`: the last requests, probes included, are for sign-ins in progress
  if (!isOngoing && leftUntil(lowUntilMs) > 0) return { by: 'low', leftMs: leftUntil(lowUntilMs) }
  return closed && { by: 'closed', leftMs: leftUntil(closed.untilMs) }
}

/** The rate limit in a response; a missing value is undefined. Times are in milliseconds since 1970, on the API's clock. */
export interface RateLimitStatus {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** When the next request is allowed. */
  readonly untilMs: number | undefined
  /** When the whole limit is available again. */
  readonly resetMs: number | undefined
}

/** A response and its call. */
export interface Observation {
  readonly nowMs: number
  readonly rateLimit: RateLimitStatus
  /** A 429. The API sends the same 429 for the limit of one client or user. */
  readonly isRefusal: boolean
  readonly parties: () => readonly string[]
  /** If the call was a probe: `sinceMs` of the closing that it probed. */
  readonly probed: number | undefined
}

export interface RateLimitRules {
  /** At this share of the limit or less, the remaining requests are reserved. */
  readonly lowShare: number
  /** Resets further away are shortened to this. */
  readonly maxClosedMs: number
}

/** If the API gives no reset, or one in the past. */
const DEFAULT_CLOSED_MS = 1000
const MAX_CALLERS = 20

/** The record after a response: the same object if nothing changed, undefined if no limit applies any more. */
export function nextRecord(
  known: RateLimitRecord | undefined,
  seen: Observation,
  rules: RateLimitRules,
): RateLimitRecord | undefined {
  const { nowMs, rateLimit, isRefusal } = seen
  const isExhausted = isRefusal || rateLimit.remaining === 0
  const isLow = isLowRemaining(rateLimit, nowMs, rules)
  if (known === undefined && !isExhausted && !isLow) return undefined
  const { callers, closed, lowUntilMs }: Limits = known ?? { callers: [] }
  const now = { callers: callers.filter((one) => one.untilMs > nowMs), closed, lowUntilMs }
  const after = isExhausted ? afterExhausted(now, seen, rules) : afterSuccess(now, isLow, seen, rules)
  if (isDeepStrictEqual(after, { callers, closed, lowUntilMs })) return known
  if (isDeepStrictEqual(after, NO_LIMITS)) return undefined
  return { version: 3, wroteAtMs: nowMs, limit: rateLimit.limit ?? known?.limit, ...after }
}

const NO_LIMITS: Limits = { callers: [], closed: undefined, lowUntilMs: undefined }

/** A 429 applies to its caller only, unless an unrelated caller has got one too. */
function afterExhausted(before: Limits, seen: Observation, { maxClosedMs }: RateLimitRules): Limits {
  const { nowMs, rateLimit, isRefusal } = seen
  const { untilMs: statedMs = 0 } = rateLimit
  const untilMs = Math.min(statedMs > nowMs ? statedMs : nowMs + DEFAULT_CLOSED_MS, nowMs + maxClosedMs)
  const parties = [...seen.parties()]
  const same = before.callers.find((one) => isDeepStrictEqual(one.parties, parties))
  const others = before.callers.filter((one) => one !== same)
  const self = { parties, untilMs: laterReset(same?.untilMs, untilMs) }
  const isUnrelated = others.some((one) => !one.parties.some((party) => parties.includes(party)))
  const isForAll = !isRefusal || parties.length === 0 || isUnrelated
  return {
    ...before,
    callers: parties.length === 0 ? others : [...others, self].slice(-MAX_CALLERS),
    closed: isForAll ? extendClosing(before.closed, untilMs, seen) : before.closed,
  }
}

function extendClosing(before: Limits['closed'], untilMs: number, { nowMs, probed }: Observation) {
  const known = before !== undefined && before.untilMs > nowMs ? before : undefined
  const isProbe = probed !== undefined && probed === before?.sinceMs
  return {
    sinceMs: known?.sinceMs ?? nowMs,
    untilMs: laterReset(known?.untilMs, untilMs),
    confirmed: isProbe || (known?.confirmed ?? false),
  }
}

/** The response to the probe opens the gate. A response from a new period ends the reservation of the last requests. */
function afterSuccess(before: Limits, isLow: boolean, seen: Observation, rules: RateLimitRules): Limits {
  const { callers, closed, lowUntilMs } = before
  const { nowMs, probed } = seen
  const { untilMs = 0 } = seen.rateLimit
  const isNewPeriod = lowUntilMs !== undefined && untilMs > lowUntilMs
  const stillLowUntilMs = laterReset(lowUntilMs, Math.min(untilMs, nowMs + rules.maxClosedMs))
  return {
    callers,
    closed: probed !== undefined && probed === closed?.sinceMs ? undefined : closed,
    lowUntilMs: isLow ? stillLowUntilMs : isNewPeriod ? undefined : lowUntilMs,
  }
}

function isLowRemaining(
  { limit = 0, remaining = limit + 1, untilMs = 0 }: RateLimitStatus,
  nowMs: number,
  rules: RateLimitRules,
) {
  return untilMs > nowMs && remaining <= limit * rules.lowShare
}

/** Resets less than a second apart count as the same reset: a reset that `maxClosedMs` shortens is relative to now, and drifts. */
function laterReset(knownMs: number | undefined, untilMs: number): number {
  return knownMs !== undefined && untilMs <= knownMs + 1000 ? knownMs : untilMs
}
