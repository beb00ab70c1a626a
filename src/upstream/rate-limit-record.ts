import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { RateLimitStatus, UpstreamClock } from './response-headers.ts'

/** What the replicas tell each other about an API's rate limit. Times are the API's. */
export type RateLimitRecord = z.infer<typeof RateLimitRecord>

const RateLimitRecord = z.object({
  version: z.literal(3),
  /** When it was written. `untilMs − wroteAtMs` bounds the wait even if the reader's clock is wrong. */
  wroteAtMs: z.number(),
  limit: z.number().optional(),
  /** The callers that got a 429, by keyed hashes of their parties. Each is held back until its own reset. */
  callers: z.array(z.object({ parties: z.array(z.string()), untilMs: z.number() })),
  /** The gate is closed for all callers. `confirmed`: a probe has met the limit too. */
  closed: z.object({ sinceMs: z.number(), untilMs: z.number(), confirmed: z.boolean() }).optional(),
  /** Until then, what is left is for sign-ins that have begun. */
  lowUntilMs: z.number().optional(),
})

type Limits = Pick<RateLimitRecord, 'callers' | 'closed' | 'lowUntilMs'>

/** The record, as this process knows it. Without the store, each process goes by what it has seen itself. */
export interface SharedRecord {
  record(): RateLimitRecord | undefined
  /** Reads it from the store if that was done longer ago; undefined if there is nothing to wait for. Never fails. */
  refresh(maxAgeMs?: number): Promise<void> | undefined
  /** undefined: there is no limit any more. A record that is known already is not written again. */
  save(record: RateLimitRecord | undefined): Promise<void>
}

export interface SharedRecordOptions {
  readonly store: RateLimitStore
  readonly key: () => string
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly lookEveryMs: number
  /** A closed gate stays in the store for so much longer than its time, until a probe is back. */
  readonly lingerMs: number
  readonly onUnreadable?: () => void
}

/** The part of the store that the gate needs. */
export interface RateLimitStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number, when?: 'absent'): Promise<boolean>
  delete(key: string): Promise<boolean>
  deleteIf(key: string, expected: string): Promise<boolean>
}

export function createSharedRecord(options: SharedRecordOptions): SharedRecord {
  const { store, key, monotonic } = options
  let local: { readonly record: RateLimitRecord; readonly saved: boolean } | undefined
  let looking: Promise<void> | undefined
  let lookedAt = Number.NEGATIVE_INFINITY

  async function read(): Promise<void> {
    const before = local
    try {
      const text = await store.get(key())
      if (local !== before) return // what this process has learned meanwhile is newer
      const record = parseLimitRecord(text, options)
      if (record !== undefined) local = { record, saved: true }
      else if (local?.saved) local = undefined
    } catch {
      // the store is unreachable: what this process has seen itself still holds
    } finally {
      lookedAt = monotonic()
      looking = undefined
    }
  }

  return {
    record: () => local?.record,

    refresh(maxAgeMs = options.lookEveryMs) {
      if (monotonic() - lookedAt >= maxAgeMs) looking ??= read()
      return looking
    },

    async save(record) {
      if (record === local?.record) return
      local = record && { record, saved: false }
      try {
        await write(record, options)
        if (record !== undefined && local?.record === record) local = { record, saved: true }
      } catch {
        // the store is unreachable: this process alone goes by it, and what is stored ends by itself
      }
    },
  }
}

/** One that cannot be read counts as none. */
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
  const { store, key, clock, lingerMs } = options
  if (record === undefined) return void (await store.delete(key()))
  const { callers, closed, lowUntilMs = 0 } = record
  const closedUntilMs = closed === undefined ? 0 : closed.untilMs + lingerMs
  const untilMs = Math.max(closedUntilMs, lowUntilMs, ...callers.map((one) => one.untilMs))
  await store.set(key(), JSON.stringify(record), Math.max(1, untilMs - clock.now()))
}

/**
 * Why a call may not go out now, and for how long: a caller is held back by the 429s of those whose parties it all has. A
 * closed gate stays closed after that time, until a probe is answered.
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
  // before `closed`: the last calls of a limit, probes too, are for those who have begun
  if (!isOngoing && leftUntil(lowUntilMs) > 0) return { by: 'low', leftMs: leftUntil(lowUntilMs) }
  return closed && { by: 'closed', leftMs: leftUntil(closed.untilMs) }
}

/** An answer, and the call that it answers. */
export interface Observation {
  readonly nowMs: number
  readonly allowance: RateLimitStatus
  /** It is a 429, which the API also sends to a single client or user, in the same words. */
  readonly isRefusal: boolean
  readonly parties: () => readonly string[]
  /** `sinceMs` of the closed gate that the call was a probe of. */
  readonly probed: number | undefined
}

export interface RateLimitRules {
  /** At this share of the limit and below it, little is left. */
  readonly lowShare: number
  /** No reset counts that is further away. */
  readonly maxClosedMs: number
}

/** For a limit that names no time, or one in the past. */
const DEFAULT_CLOSED_MS = 1000
/** So many callers are remembered. */
const MAX_CALLERS = 20

/** The record after an answer; the same object if it adds nothing, undefined if no limit is left. */
export function nextRecord(
  known: RateLimitRecord | undefined,
  seen: Observation,
  rules: RateLimitRules,
): RateLimitRecord | undefined {
  const { nowMs, allowance, isRefusal } = seen
  const isUsedUp = isRefusal || allowance.remaining === 0
  const isLow = isLittleLeft(allowance, nowMs, rules)
  if (known === undefined && !isUsedUp && !isLow) return undefined
  const { callers, closed, lowUntilMs }: Limits = known ?? { callers: [] }
  const now = { callers: callers.filter((one) => one.untilMs > nowMs), closed, lowUntilMs }
  const after = isUsedUp ? usedUp(now, seen, rules) : answered(now, isLow, seen, rules)
  if (isDeepStrictEqual(after, { callers, closed, lowUntilMs })) return known
  if (isDeepStrictEqual(after, NO_LIMITS)) return undefined
  return { version: 3, wroteAtMs: nowMs, limit: allowance.limit ?? known?.limit, ...after }
}

const NO_LIMITS: Limits = { callers: [], closed: undefined, lowUntilMs: undefined }

/** A 429 is the caller's own, unless another caller with nothing in common has got one. */
function usedUp(before: Limits, seen: Observation, { maxClosedMs }: RateLimitRules): Limits {
  const { nowMs, allowance, isRefusal } = seen
  const { untilMs: toldMs = 0 } = allowance
  const untilMs = Math.min(toldMs > nowMs ? toldMs : nowMs + DEFAULT_CLOSED_MS, nowMs + maxClosedMs)
  const parties = [...seen.parties()]
  const same = before.callers.find((one) => isDeepStrictEqual(one.parties, parties))
  const others = before.callers.filter((one) => one !== same)
  const self = { parties, untilMs: laterOf(same?.untilMs, untilMs) }
  const nothingInCommon = others.some((one) => !one.parties.some((party) => parties.includes(party)))
  const isForAll = !isRefusal || parties.length === 0 || nothingInCommon
  return {
    ...before,
    callers: parties.length === 0 ? others : [...others, self].slice(-MAX_CALLERS),
    closed: isForAll ? closedAgain(before.closed, untilMs, seen) : before.closed,
  }
}

function closedAgain(before: Limits['closed'], untilMs: number, { nowMs, probed }: Observation) {
  const known = before !== undefined && before.untilMs > nowMs ? before : undefined
  const isProbe = probed !== undefined && probed === before?.sinceMs
  return {
    sinceMs: known?.sinceMs ?? nowMs,
    untilMs: laterOf(known?.untilMs, untilMs),
    confirmed: isProbe || (known?.confirmed ?? false),
  }
}

/** An answer opens the gate if its call was the probe. It ends the time of little allowance if a new period has begun. */
function answered(before: Limits, isLow: boolean, seen: Observation, rules: RateLimitRules): Limits {
  const { callers, closed, lowUntilMs } = before
  const { nowMs, probed } = seen
  const { untilMs = 0 } = seen.allowance
  const isNewPeriod = lowUntilMs !== undefined && untilMs > lowUntilMs
  const lowAgainUntilMs = laterOf(lowUntilMs, Math.min(untilMs, nowMs + rules.maxClosedMs))
  return {
    callers,
    closed: probed !== undefined && probed === closed?.sinceMs ? undefined : closed,
    lowUntilMs: isLow ? lowAgainUntilMs : isNewPeriod ? undefined : lowUntilMs,
  }
}

function isLittleLeft(
  { limit = 0, remaining = limit + 1, untilMs = 0 }: RateLimitStatus,
  nowMs: number,
  rules: RateLimitRules,
) {
  return untilMs > nowMs && remaining <= limit * rules.lowShare
}

/** Reset times less than a second apart are the same: one that `maxClosedMs` cuts short is computed from now and drifts. */
function laterOf(knownMs: number | undefined, untilMs: number): number {
  return knownMs !== undefined && untilMs <= knownMs + 1000 ? knownMs : untilMs
}
