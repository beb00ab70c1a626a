import { LRUCache } from 'lru-cache'
import { rateLimited } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { LimitFigures } from '../store/limiter.ts'
import type { Client } from './client.ts'
import type { StepAudit } from './step-audit.ts'

/**
 * How many steps one person may send to the org in a while, guesses or not: the org's rate limit is everybody's, and who
 * knows one password could use it up alone. Counted in this process, because it is a bound on load and no defence of
 * a secret: it costs no round trip, and with more replicas it is that many times more.
 */
export interface CallVolume {
  /** Throws 429 E0000047 when there were too many by then. */
  spend(person: VolumePerson, operation: string, client: Client): void
}

/** By the first of them that is known. */
export interface VolumePerson {
  readonly userId?: string | undefined
  /** As typed. */
  readonly login?: string | undefined
  readonly handle?: string | undefined
}

export interface CallVolumeParts {
  readonly figures: LimitFigures
  readonly canonicalLogin: (login: string) => string
  readonly audit: Pick<StepAudit, 'limitHit'>
  readonly metrics: Metrics
  readonly now: () => number
}

interface Spent {
  readonly untilMs: number
  count: number
}

/** The least used go first; who has been forgotten begins anew. */
const MOST_PEOPLE = 50_000
const LIMIT = 'calls_person'

export function createCallVolume({
  figures,
  canonicalLogin,
  audit,
  metrics,
  now,
}: CallVolumeParts): CallVolume {
  const people = new LRUCache<string, Spent>({ max: MOST_PEOPLE })

  const keyOf = ({ userId, login, handle }: VolumePerson): string | undefined => {
    if (userId !== undefined) return `user ${userId}`
    if (login !== undefined) return `login ${canonicalLogin(login)}`
    return handle
  }

  return {
    spend(person, operation, client) {
      const key = keyOf(person)
      if (key === undefined) return
      const known = people.get(key)
      const spent =
        known !== undefined && now() < known.untilMs
          ? known
          : { untilMs: now() + figures.perSeconds * 1000, count: 0 }
      if (spent !== known) people.set(key, spent)
      spent.count += 1
      if (spent.count <= figures.attempts) return
      const { userId, login } = person
      const retryAfterSeconds = Math.max(1, Math.ceil((spent.untilMs - now()) / 1000))
      metrics.limitHits.inc({ limit: LIMIT })
      audit.limitHit({ limit: LIMIT, operation, login, userId, retryAfterSeconds }, client)
      throw rateLimited({
        limit: figures.attempts,
        resetAtSeconds: Math.ceil(spent.untilMs / 1000),
        retryAfterSeconds,
      })
    },
  }
}
