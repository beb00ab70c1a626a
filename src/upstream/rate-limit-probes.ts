import { randomUUID } from 'node:crypto'
import type { Closure } from './rate-limit-record.ts'

/**
 * Who may go out although a rate limit is thought to hold: one at a time over all replicas, so that one call at most is
 * spent on learning what all of them want to know. Without the store it is one a process.
 */
export interface RateLimitProbes {
  /** One caller goes out before the time is over, to learn whether the limit is everybody's. */
  mayFindOut(closure: Closure): Promise<boolean>
  /** A caller went out a moment ago, from here or from another replica: the answer is worth waiting for. */
  isFinding(): boolean
  /**
   * After the limit's time one call goes first; the others follow when its answer shows allowance. What comes back is to
   * be called once that was observed, or there was none; undefined: another one went.
   */
  goFirst(): Promise<(() => Promise<void>) | undefined>
}

export interface RateLimitProbesParts {
  readonly store: {
    set(key: string, value: string, ttlMs: number, when: 'absent'): Promise<boolean>
    deleteIf(key: string, expected: string): Promise<boolean>
  }
  readonly monotonic: () => number
  /** Where a claim of this kind lies. */
  readonly key: (what: string) => string
}

/** A call that never came back keeps the others for so long. */
export const PROBE_MS = 15_000
/** At most one caller in this time goes out to learn whom the limit applies to. */
const FINDING_MS = 5000

export function createRateLimitProbes({ store, monotonic, key }: RateLimitProbesParts): RateLimitProbes {
  let probingHere = false
  let findingFor: string | undefined
  let findingSince = Number.NEGATIVE_INFINITY
  const isFinding = () => monotonic() - findingSince < FINDING_MS

  return {
    isFinding,

    async mayFindOut({ sinceMs, othersGo }) {
      const question = `${othersGo ? 'kinds' : 'all'}-${sinceMs}`
      if (findingFor === question && isFinding()) return false
      findingFor = question
      findingSince = monotonic()
      try {
        return await store.set(key(`-other-${question}`), randomUUID(), FINDING_MS, 'absent')
      } catch {
        return true // the store is away: one a process
      }
    },

    async goFirst() {
      if (probingHere) return undefined
      probingHere = true
      const claim = randomUUID()
      try {
        if (!(await store.set(key('-probe'), claim, PROBE_MS, 'absent'))) {
          probingHere = false
          return undefined
        }
      } catch {
        // The store is away: one a process.
      }
      return async () => {
        probingHere = false
        try {
          await store.deleteIf(key('-probe'), claim)
        } catch {
          // The store is away: the claim ends by itself.
        }
      }
    },
  }
}
