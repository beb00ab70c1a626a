import { z } from 'zod'

/** What the replicas tell each other of an API's rate limit. Times are the API's. */
export type LimitRecord = z.infer<typeof LimitRecord>

const LimitRecord = z.object({
  version: z.literal(1),
  /** `closed`: used up until then. `low`: what is left until then is for those who have begun already. */
  state: z.enum(['closed', 'low']),
  untilMs: z.number(),
  /** When it was written. `untilMs − wroteAtMs` bounds the wait even if the reader's clock is wrong. */
  wroteAtMs: z.number(),
  limit: z.number().optional(),
  /** Who met it, each by keyed hashes, and with what kind of call: an API may count those apart. */
  met: z.array(z.array(z.string())),
  kind: z.string(),
  /**
   * Whom it holds for, as far as is known: an API also limits single clients or people, and says so in the same words.
   * Somebody else may go out to learn it; if they are answered, only that kind of call, or those who met it, are held back.
   */
  reach: z.enum(['everybody', 'kind', 'met']),
  /** One of the others did find out, and met it too. */
  confirmed: z.boolean(),
})

export interface Asking {
  readonly parties: readonly string[]
  readonly kind: string
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

/** A limit that holds only for those who met it applies to a caller who has all the parties of at least one of them. */
export function concerns({ reach, kind, met }: LimitRecord, asking: Asking): boolean {
  if (reach === 'everybody' || (reach === 'kind' && kind === asking.kind)) return true
  return met.some((parties) => parties.every((party) => asking.parties.includes(party)))
}

/** Somebody else: no party in common with any who met it. What such a one is told shows whom the limit holds for. */
export function isAnother({ met }: LimitRecord, asking: Asking): boolean {
  if (met.length === 0 || asking.parties.length === 0) return false
  return !met.flat().some((party) => asking.parties.includes(party))
}

/** So many are remembered; more of them at once, and it is everybody's in effect. */
const MAX_MET = 20

/** With one more who met it. */
export function metBy(known: LimitRecord['met'], { parties }: Asking): LimitRecord['met'] {
  const others = known.filter((one) => one.join() !== parties.join())
  return parties.length === 0 ? others : [...others, [...parties]].slice(-MAX_MET)
}
