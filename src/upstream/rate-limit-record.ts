import { z } from 'zod'

/** What the replicas tell each other of an API's rate limit. Times are the API's. */
export type LimitRecord = z.infer<typeof LimitRecord>

const LimitRecord = z.object({
  version: z.literal(1),
  /** `closed`: used up until then. `low`: what is left until then is for those who have begun already. */
  state: z.enum(['closed', 'low']),
  untilMs: z.number(),
  /** The wait was never longer than from here, whatever the clock of who reads it says. */
  wroteAtMs: z.number(),
  limit: z.number().optional(),
  /** Who met it, keyed hashes, and with what kind of call: an API may count those apart. */
  parties: z.array(z.string()),
  kind: z.string(),
  /**
   * Whom it holds for: an API has limits of one client or person as well, and says them in the same words. `unknown`:
   * one of the others may find out; `parties`: one of the others was answered.
   */
  reach: z.enum(['unknown', 'everybody', 'parties']),
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

/** Does not hold for who shares nothing, or not all, with those that it is known to be about. */
export function concerns({ reach, parties }: LimitRecord, asking: Asking): boolean {
  return reach !== 'parties' || parties.every((party) => asking.parties.includes(party))
}

/** Somebody else with the same kind of call: what such a one is told shows whom the limit holds for. */
export function isAnother({ parties, kind }: LimitRecord, asking: Asking): boolean {
  if (kind !== asking.kind || parties.length === 0 || asking.parties.length === 0) return false
  return !parties.some((party) => asking.parties.includes(party))
}
