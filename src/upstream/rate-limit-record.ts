import { z } from 'zod'
import type { Allowance, UpstreamClock } from './answer-headers.ts'

/** What the replicas tell each other about an API's rate limit. Times are the API's. */
export type LimitRecord = z.infer<typeof LimitRecord>

const LimitRecord = z.object({
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

type Limits = Pick<LimitRecord, 'callers' | 'closed' | 'lowUntilMs'>

/** The record, as this process knows it. Without the store, each process goes by what it has seen itself. */
export interface SharedRecord {
  record(): LimitRecord | undefined
  /** Reads it from the store if that was done longer ago; undefined if there is nothing to wait for. Never fails. */
  look(maxAgeMs?: number): Promise<void> | undefined
  /** undefined: there is no limit any more. A record that is known already is not written again. */
  save(record: LimitRecord | undefined): Promise<void>
}

export interface RecordStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number, when?: 'absent'): Promise<boolean>
  delete(key: string): Promise<boolean>
}

export interface SharedRecordOptions {
  readonly store: RecordStore
  readonly key: () => string
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly lookEveryMs: number
  /** A closed gate stays in the store for so much longer than its time, until a probe is back. */
  readonly lingerMs: number
  readonly onUnreadable?: () => void
}

export function createSharedRecord(options: SharedRecordOptions): SharedRecord {
  const { store, key, clock, monotonic, onUnreadable } = options
  let local: { readonly record: LimitRecord; readonly saved: boolean } | undefined
  let looking: Promise<void> | undefined
  let lookedAt = Number.NEGATIVE_INFINITY

  async function read(): Promise<void> {
    const before = local
    try {
      const text = await store.get(key())
      if (local !== before) return // what this process has learned meanwhile is newer
      const record = parseLimitRecord(text)
      if (record !== undefined) local = { record, saved: true }
      else if (local?.saved) local = undefined
      if (text !== undefined && record === undefined) onUnreadable?.()
    } catch {
      // the store is unreachable: what this process has seen itself still holds
    } finally {
      lookedAt = monotonic()
      looking = undefined
    }
  }

  return {
    record: () => local?.record,

    look(maxAgeMs = options.lookEveryMs) {
      if (monotonic() - lookedAt >= maxAgeMs) looking ??= read()
      return looking
    },

    async save(record) {
      if (record === local?.record) return
      local = record && { record, saved: false }
      try {
        if (record === undefined) return void (await store.delete(key()))
        const ttlMs = endOf(record, options.lingerMs) - clock.now()
        await store.set(key(), JSON.stringify(record), Math.max(1, ttlMs))
        if (local?.record === record) local = { record, saved: true }
      } catch {
        // the store is unreachable: this process alone goes by it, and what is stored ends by itself
      }
    },
  }
}

/** undefined: none, or one that cannot be read. */
function parseLimitRecord(text: string | undefined): LimitRecord | undefined {
  if (text === undefined) return undefined
  try {
    return LimitRecord.safeParse(JSON.parse(text)).data
  } catch {
    return undefined // not even JSON
  }
}

/** When the record ends by itself. */
function endOf({ callers, closed, lowUntilMs = 0 }: LimitRecord, lingerMs: number): number {
  const closedUntilMs = closed === undefined ? 0 : closed.untilMs + lingerMs
  return Math.max(closedUntilMs, lowUntilMs, ...callers.map(({ untilMs }) => untilMs))
}

/** Why a call may not go out now, and for how long. A closed gate stays closed after that time until a probe is answered. */
export type Hold =
  | { readonly by: 'caller' | 'low'; readonly leftMs: number }
  | { readonly by: 'closed'; readonly leftMs: number; readonly closed: NonNullable<Limits['closed']> }

/** A caller is held back by the 429s of those whose parties it all has. */
export function holdOn(
  record: LimitRecord,
  { parties, isOngoing }: { parties: readonly string[]; isOngoing: boolean },
  nowMs: number,
): Hold | undefined {
  const leftUntil = (untilMs: number) => untilMs - Math.max(nowMs, record.wroteAtMs)
  const own = record.callers.find(
    (one) => leftUntil(one.untilMs) > 0 && one.parties.every((party) => parties.includes(party)),
  )
  if (own !== undefined) return { by: 'caller', leftMs: leftUntil(own.untilMs) }
  const { closed, lowUntilMs = 0 } = record
  // before `closed`: the last calls of a limit, probes too, are for those who have begun
  if (!isOngoing && leftUntil(lowUntilMs) > 0) return { by: 'low', leftMs: leftUntil(lowUntilMs) }
  return closed && { by: 'closed', leftMs: leftUntil(closed.untilMs), closed }
}

/** An answer, and the call that it answers. */
export interface Observation {
  readonly nowMs: number
  readonly allowance: Allowance
  /** It is a 429, which the API also sends to a single client or user, in the same words. */
  readonly isRefusal: boolean
  readonly parties: () => readonly string[]
  /** `sinceMs` of the closed gate that the call was a probe of. */
  readonly probed: number | undefined
}

export interface LimitRules {
  /** At this share of the limit and below it, little is left. */
  readonly lowShare: number
  /** No reset counts that is further away. */
  readonly maxClosedMs: number
}

/** For a limit that names no time, or one in the past. */
const DEFAULT_CLOSED_MS = 1000
/** So many callers are remembered. */
const MAX_CALLERS = 20
/** Reset times closer than this are the same: one that `maxClosedMs` cuts short is computed from now and drifts. */
const SAME_MS = 1000

/** The record after an answer; the same object if it adds nothing, undefined if no limit is left. */
export function recordAfter(
  known: LimitRecord | undefined,
  seen: Observation,
  rules: LimitRules,
): LimitRecord | undefined {
  const { nowMs, allowance, isRefusal } = seen
  const before: Limits = known ?? { callers: [] }
  const after =
    isRefusal || allowance.remaining === 0 ? usedUp(before, seen, rules) : answered(before, seen, rules)
  if (after === before) return known
  const { callers, closed, lowUntilMs } = after
  if (callers.length === 0 && closed === undefined && lowUntilMs === undefined) return undefined
  return { version: 3, wroteAtMs: nowMs, limit: allowance.limit ?? known?.limit, callers, closed, lowUntilMs }
}

/** A 429 is the caller's own, unless another caller with nothing in common has got one. */
function usedUp(
  before: Limits,
  { nowMs, allowance, isRefusal, ...call }: Observation,
  rules: LimitRules,
): Limits {
  const { untilMs: toldMs = 0 } = allowance
  const untilMs = Math.min(toldMs > nowMs ? toldMs : nowMs + DEFAULT_CLOSED_MS, nowMs + rules.maxClosedMs)
  const parties = [...call.parties()]
  const callers = before.callers.filter((one) => one.untilMs > nowMs)
  const same = callers.find((one) => one.parties.join() === parties.join())
  const another = callers.find((one) => !one.parties.some((party) => parties.includes(party)))

  const isForAll = !isRefusal || parties.length === 0 || another !== undefined
  const isProbe = call.probed !== undefined && call.probed === before.closed?.sinceMs
  const closed = isForAll ? closeGate(before.closed, { nowMs, untilMs, isProbe }) : before.closed
  const isNews = parties.length > 0 && isLater(untilMs, same?.untilMs)
  if (closed === before.closed && !isNews) return before
  if (!isNews) return { ...before, callers, closed }
  const others = callers.filter((one) => one !== same)
  return { ...before, callers: [...others, { parties, untilMs }].slice(-MAX_CALLERS), closed }
}

function closeGate(
  before: Limits['closed'],
  { nowMs, untilMs, isProbe }: { nowMs: number; untilMs: number; isProbe: boolean },
): Limits['closed'] {
  if (before === undefined || before.untilMs <= nowMs) return { sinceMs: nowMs, untilMs, confirmed: isProbe }
  const confirmed = before.confirmed || isProbe
  if (isLater(untilMs, before.untilMs)) return { ...before, untilMs, confirmed }
  return confirmed === before.confirmed ? before : { ...before, confirmed }
}

/** An answer opens the gate if its call was the probe. It ends the time of little allowance if a new period has begun. */
function answered(before: Limits, { nowMs, allowance, probed }: Observation, rules: LimitRules): Limits {
  const { limit = 0, remaining = limit + 1, untilMs = 0 } = allowance
  const isLow = untilMs > nowMs && remaining <= limit * rules.lowShare
  const isNewPeriod = untilMs > (before.lowUntilMs ?? untilMs)
  let { closed, lowUntilMs } = before
  if (probed !== undefined && probed === closed?.sinceMs) closed = undefined
  if (isLow && isLater(untilMs, lowUntilMs)) lowUntilMs = Math.min(untilMs, nowMs + rules.maxClosedMs)
  if (!isLow && isNewPeriod) lowUntilMs = undefined
  if (closed === before.closed && lowUntilMs === before.lowUntilMs) return before
  return { callers: before.callers.filter((one) => one.untilMs > nowMs), closed, lowUntilMs }
}

function isLater(untilMs: number, knownMs: number | undefined): boolean {
  return knownMs === undefined || untilMs > knownMs + SAME_MS
}
