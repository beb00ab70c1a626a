import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { LimitConfig } from '../../store/store.ts'
import type { StartTimer } from '../../upstream/start-timer.ts'
import type { Client } from '../browser/client.ts'
import { type LimitReachedDeps, limitReachedError } from './limit-reached.ts'

/**
 * Delays sign-ins of one user name, because Okta answers more than 4 per second with 429
 * (https://developer.okta.com/docs/reference/rl2-limits/). Each replica counts in memory, without a Redis command, so a user
 * whose sign-ins reach several replicas can still get that 429, which then holds back only this user.
 */
export interface SignInPacing {
  /** Resolves when the sign-in may be sent; throws 429 E0000047 if that would take longer than `maxWaitMs`. */
  wait(login: string, client: Client): Promise<void>
}

export interface SignInPacingDeps extends LimitReachedDeps {
  readonly limit: LimitConfig
  readonly maxWaitMs: number
  readonly canonicalLogin: (login: string) => string
  readonly monotonic: () => number
  readonly startTimer: StartTimer
}

/** Two requests can arrive closer to each other than they were sent. */
const TRANSIT_MS = 100
/** Beyond this, the least recently used user name is forgotten. */
const MAX_LOGINS = 50_000 // as maxSize, because `max` makes LRUCache allocate the memory for all of them at once

export function createSignInPacing(deps: SignInPacingDeps): SignInPacing {
  const { limit, maxWaitMs, canonicalLogin, monotonic, startTimer } = deps
  const windowMs = limit.perSeconds * 1000 + TRANSIT_MS
  /** When the last sign-ins of each user name are sent, oldest first. */
  const sendTimes = new LRUCache<string, number[]>({ maxSize: MAX_LOGINS, sizeCalculation: () => 1 })

  return {
    async wait(login, client) {
      const key = hash('sha256', canonicalLogin(login), 'base64url')
      const times = sendTimes.get(key) ?? []
      const now = monotonic()
      const sendAt = Math.max(now, (times.at(-limit.attempts) ?? -Infinity) + windowMs)
      const leftMs = sendAt - now
      if (leftMs > maxWaitMs) {
        const reached = { label: 'sign_ins_user', max: limit.attempts, leftMs: leftMs - maxWaitMs }
        throw limitReachedError(deps, reached, { operation: 'primary', login }, client)
      }
      sendTimes.set(key, [...times, sendAt].slice(-limit.attempts))
      if (leftMs > 0) await new Promise<void>((resolve) => startTimer(resolve, leftMs))
    },
  }
}
