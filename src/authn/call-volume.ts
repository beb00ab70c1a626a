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
  /**
   * Sends, or throws 429 E0000047 when there were too many by then. Anybody can type a name: what fails before the upstream
   * has named the user is not counted against that name.
   */
  spend<Reply extends { readonly isError: boolean }>(
    person: VolumePerson,
    operation: string,
    client: Client,
    send: () => Promise<Reply>,
  ): Promise<Reply>
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

  const refusal = ({ userId, login }: VolumePerson, spent: Spent, operation: string, client: Client) => {
    const retryAfterSeconds = Math.max(1, Math.ceil((spent.untilMs - now()) / 1000))
    metrics.limitHits.inc({ limit: LIMIT })
    audit.limitHit({ limit: LIMIT, operation, login, userId, retryAfterSeconds }, client)
    return rateLimited({
      limit: figures.attempts,
      resetAtSeconds: Math.ceil(spent.untilMs / 1000),
      retryAfterSeconds,
    })
  }

  return {
    async spend(person, operation, client, send) {
      const { userId, login } = person
      const key = keyOf(person)
      if (key === undefined) return send()
      const known = people.get(key)
      const spent =
        known !== undefined && now() < known.untilMs
          ? known
          : { untilMs: now() + figures.perSeconds * 1000, count: 0 }
      if (spent !== known) people.set(key, spent)
      spent.count += 1
      if (spent.count > figures.attempts) throw refusal(person, spent, operation, client)
      let isCounted = userId !== undefined || login === undefined
      try {
        const reply = await send()
        isCounted ||= !reply.isError
        return reply
      } finally {
        if (!isCounted) spent.count -= 1
      }
    },
  }
}
