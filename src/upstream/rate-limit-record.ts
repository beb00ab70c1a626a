import { z } from 'zod'

/** What the replicas tell each other of an API's rate limit. Times are the API's. */
export type LimitRecord = z.infer<typeof LimitRecord>

/** `closed`: used up. `low`: what is left is for those who have begun already. */
const State = z.enum(['closed', 'low'])

const LimitRecord = z.object({
  version: z.literal(2),
  /** When it was written. `untilMs − wroteAtMs` bounds the wait even if the reader's clock is wrong. */
  wroteAtMs: z.number(),
  limit: z.number().optional(),
  /** The callers that met a limit, by keyed hashes of their parties. Each is held back until its own reset. */
  met: z.array(
    z.object({ parties: z.array(z.string()), kind: z.string(), state: State, untilMs: z.number() }),
  ),
  /** The gate is closed for all callers, as far as is known. */
  closure: z
    .object({
      state: State,
      untilMs: z.number(),
      /** Names it. */
      sinceMs: z.number(),
      /** The kinds of call that met the limit: an API may count those apart. */
      kinds: z.array(z.string()),
      /** A probe of another kind was answered: it is closed for these kinds alone. */
      othersGo: z.boolean(),
      /** A probe met the limit too. */
      confirmed: z.boolean(),
    })
    .optional(),
})

export type Closure = NonNullable<LimitRecord['closure']>

export interface Asking {
  readonly parties: readonly string[]
  readonly kind: string
}

/** What an answer says of a limit. */
export interface Found {
  readonly state: z.infer<typeof State>
  readonly untilMs: number
  readonly limit: number | undefined
  /** It is a 429, which the API also sends to a single client or user, in the same words. */
  readonly isRefusal: boolean
}

/** What holds a caller back, and for how long; without `closure` it is this caller alone. */
export interface Hold {
  readonly state: Found['state']
  readonly leftMs: number
  readonly closure?: Closure
}

/** undefined: none, or nothing that this version can read. */
export function parseLimitRecord(text: string | undefined): LimitRecord | undefined {
  if (text === undefined) return undefined
  try {
    return LimitRecord.safeParse(JSON.parse(text)).data
  } catch {
    return undefined // not even JSON: as good as none
  }
}

export function holdOn(record: LimitRecord, asking: Asking, nowMs: number): Hold | undefined {
  const leftMs = (untilMs: number) => Math.min(untilMs - nowMs, untilMs - record.wroteAtMs)
  const own = record.met.filter((one) => holds(one.parties, asking) && leftMs(one.untilMs) > 0)
  const worst = own.find(({ state }) => state === 'closed') ?? own[0]
  if (worst !== undefined) return { state: worst.state, leftMs: leftMs(worst.untilMs) }
  const closure = closureFor(record, asking)
  if (closure === undefined) return undefined
  const { state, untilMs } = closure
  // when the time is over, one call goes first; what was only low is simply back
  return state === 'low' && leftMs(untilMs) <= 0 ? undefined : { state, leftMs: leftMs(untilMs), closure }
}

export interface Seen {
  readonly nowMs: number
  /** The call went out while this closure held already. */
  readonly under: number | undefined
}

/** The record after an answer that said so; the same record when it adds nothing. */
export function withFound(
  known: LimitRecord | undefined,
  found: Found,
  asking: Asking,
  seen: Seen,
): LimitRecord | undefined {
  const met = (known?.met ?? []).filter(({ untilMs }) => untilMs > seen.nowMs)
  const before = met.find(({ parties }) => parties.join() === asking.parties.join())
  const closure = closureAfter({ closure: known?.closure, met, before }, found, asking, seen)
  const isNews =
    before === undefined ? found.state === 'closed' || closure !== known?.closure : isWorse(before, found)
  const isMet = isNews && asking.parties.length > 0
  if (closure === known?.closure && !isMet) return known
  const { state, untilMs } = found
  const self = { parties: [...asking.parties], kind: asking.kind, state, untilMs }
  return {
    version: 2,
    wroteAtMs: seen.nowMs,
    limit: found.limit ?? known?.limit,
    met: isMet ? [...met.filter((one) => one !== before), self].slice(-MAX_MET) : met,
    closure,
  }
}

/** The record after an answer with enough left: whoever is answered under a closure shows that it is not everybody's. */
export function withAnswer(
  known: LimitRecord,
  resetMs: number | undefined,
  asking: Asking,
  { nowMs, under }: Seen,
): LimitRecord | undefined {
  const { closure } = known
  if (closure === undefined || !concerns(closure, asking)) return known
  const isLater = closure.state === 'low' && resetMs !== undefined && resetMs > closure.untilMs
  const met = known.met.filter(({ state, untilMs }) => untilMs > nowMs && !(isLater && state === 'low'))
  const opened = met.length === 0 ? undefined : { ...known, met, wroteAtMs: nowMs, closure: undefined }
  if (nowMs >= closure.untilMs || isLater) return opened
  const isProbe = closure.sinceMs === under && asking.parties.length > 0
  if (!isProbe || met.some(({ parties }) => holds(parties, asking))) return known
  if (closure.othersGo || closure.kinds.includes(asking.kind)) return opened
  return { ...known, met, wroteAtMs: nowMs, closure: { ...closure, othersGo: true, confirmed: false } }
}

/** So many are remembered. */
const MAX_MET = 20
/** Reset times closer than this are the same limit: one that is capped is recomputed from now and drifts. */
const SAME_MS = 1000

type Met = LimitRecord['met'][number]

interface Before {
  readonly closure: Closure | undefined
  readonly met: readonly Met[]
  /** What the same caller met. */
  readonly before: Met | undefined
}

function closureAfter(
  { closure, met, before }: Before,
  found: Found,
  asking: Asking,
  { nowMs, under }: Seen,
): Closure | undefined {
  const others = met.filter((one) => one.state === 'closed' && isAnother(one.parties, asking))
  const isEverybodys = !found.isRefusal || asking.parties.length === 0 || others.length > 0
  const kinds = [...new Set([...(closure?.kinds ?? []), ...others.map(({ kind }) => kind), asking.kind])]
  const { state, untilMs } = found
  if (closure === undefined || closure.untilMs <= nowMs || !concerns(closure, asking)) {
    const othersGo = closure?.othersGo ?? false
    return isEverybodys ? { state, untilMs, sinceMs: nowMs, kinds, othersGo, confirmed: false } : closure
  }
  const confirmed = closure.confirmed || (isEverybodys && closure.sinceMs === under && before === undefined)
  const later = isEverybodys && isWorse(closure, found) ? { state, untilMs } : undefined
  const more = isEverybodys && kinds.length > closure.kinds.length ? { kinds } : undefined
  if (confirmed === closure.confirmed && later === undefined && more === undefined) return closure
  return { ...closure, ...later, ...more, confirmed }
}

function closureFor({ closure }: LimitRecord, asking: Asking): Closure | undefined {
  return closure !== undefined && concerns(closure, asking) ? closure : undefined
}

function concerns({ othersGo, kinds }: Closure, { kind }: Asking): boolean {
  return !othersGo || kinds.includes(kind)
}

function isWorse(known: Pick<Found, 'state' | 'untilMs'>, { state, untilMs }: Found): boolean {
  return known.state === state ? untilMs > known.untilMs + SAME_MS : state === 'closed'
}

/** A limit that these parties met holds for a caller that has all of them. */
function holds(parties: readonly string[], asking: Asking): boolean {
  return parties.every((party) => asking.parties.includes(party))
}

/** No party in common. */
function isAnother(parties: readonly string[], asking: Asking): boolean {
  return !parties.some((party) => asking.parties.includes(party))
}
