import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { addressForLimits } from '../../http/request-context.ts'
import type { LimitConfig } from '../../store/store.ts'
import { type StartTimer, startTimer } from '../../upstream/start-timer.ts'
import type { Client } from '../browser/client.ts'
import type { Attempt } from './attempts.ts'
import { type LimitReachedDeps, limitReachedError } from './limit-reached.ts'
import type { Throttling } from './throttling.ts'

/*
 * Limits on calls to the org. Each replica counts in memory, without a Redis command, because they bound load and protect
 * no secret. So N replicas allow N times as many calls.
 */

/**
 * Limits the calls to the org that one user can cause, successful or not. All users share the org's rate limit, and an
 * attacker who knows one password could use it up.
 *
 * All devices of a user share one limit. When it is reached, the user's known devices share another limit of the same
 * size, so that an attacker who knows the password cannot lock the user out of them. Only then is Redis asked whether
 * the device is known.
 */
export interface CallLimit {
  /**
   * Sends, or throws 429 E0000047 if the limit is reached. A failed call of a user whom the org has not named yet is
   * not counted, because anyone can type a login.
   */
  send<Reply extends { readonly isError: boolean }>(
    user: CallingUser,
    operation: string,
    client: Client,
    send: () => Promise<Reply>,
  ): Promise<Reply>
}

/** Counted by user id, else by login, else by the client's address. */
export type CallingUser = Pick<Attempt, 'userId' | 'login'>

export interface CallLimitDeps extends LimitReachedDeps {
  readonly limit: LimitConfig
  readonly canonicalLogin: (login: string) => string
  readonly isKnownDevice: Throttling['isKnownDevice']
}

interface CallWindow {
  readonly endsAtMs: number
  calls: number
}

export function createCallLimit(deps: CallLimitDeps): CallLimit {
  const { limit, canonicalLogin, isKnownDevice, now } = deps
  const windows = createWindows<CallWindow>()

  const windowOf = (key: string): CallWindow => {
    const current = windows.get(key)
    if (current !== undefined && now() < current.endsAtMs) return current
    const window = { endsAtMs: now() + limit.perSeconds * 1000, calls: 0 }
    windows.set(key, window)
    return window
  }

  const reserve = async (user: CallingUser, operation: string, client: Client): Promise<CallWindow> => {
    const { key, label } = toWindowKey(user, client, canonicalLogin)
    const shared = windowOf(key)
    const isBelowLimit = ({ calls }: CallWindow) => calls < limit.attempts
    const isKnown = !isBelowLimit(shared) && (await isKnownDevice(user, client))
    const window = isKnown ? windowOf(`${key} known`) : shared
    if (!isBelowLimit(window)) {
      const reached = isKnown ? 'calls_known_user' : label
      const usedUp = { label: reached, max: limit.attempts, leftMs: window.endsAtMs - now() }
      throw limitReachedError(deps, usedUp, { operation, userId: user.userId, login: user.login }, client)
    }
    window.calls += 1
    return window
  }

  return {
    async send(user, operation, client, send) {
      const window = await reserve(user, operation, client)
      let isCounted = user.userId !== undefined || user.login === undefined
      try {
        const reply = await send()
        isCounted ||= !reply.isError
        return reply
      } finally {
        if (!isCounted) window.calls -= 1
      }
    },
  }
}

/** The key of the window, and the label of the limit in metrics and audit events. */
function toWindowKey(
  { userId, login }: CallingUser,
  { address }: Client,
  canonicalLogin: (login: string) => string,
): { key: string; label: string } {
  if (userId !== undefined) return { key: `user ${userId}`, label: 'calls_user' }
  if (login === undefined) return { key: `address ${addressForLimits(address)}`, label: 'calls_address' }
  return { key: `login ${hashLogin(login, canonicalLogin)}`, label: 'calls_user' }
}

/**
 * Delays sign-ins of one user name, because Okta answers more than 4 per second with 429
 * (https://developer.okta.com/docs/reference/rl2-limits/). A user whose sign-ins reach several replicas can still get that
 * 429, which then holds back only this user.
 */
export interface SignInPacing {
  /** Resolves when the sign-in may be sent; throws 429 E0000047 if that would take longer than `maxWaitMs`. */
  wait(login: string, client: Client): Promise<void>
}

export interface SignInPacingDeps extends LimitReachedDeps {
  readonly limit: LimitConfig
  readonly maxWaitMs: number
  readonly canonicalLogin: (login: string) => string
  readonly monotonic?: () => number
  readonly start?: StartTimer
}

/** Two requests can arrive closer to each other than they were sent. */
const TRANSIT_MS = 100

export function createSignInPacing(deps: SignInPacingDeps): SignInPacing {
  const { limit, maxWaitMs, canonicalLogin, monotonic = () => performance.now(), start = startTimer } = deps
  const windowMs = limit.perSeconds * 1000 + TRANSIT_MS
  /** When the last sign-ins of each user name are sent, oldest first. */
  const sendTimes = createWindows<number[]>()

  return {
    async wait(login, client) {
      const key = hashLogin(login, canonicalLogin)
      const times = sendTimes.get(key) ?? []
      const now = monotonic()
      const sendAt = Math.max(now, (times.at(-limit.attempts) ?? -Infinity) + windowMs)
      const leftMs = sendAt - now
      if (leftMs > maxWaitMs) {
        const reached = { label: 'sign_ins_user', max: limit.attempts, leftMs: leftMs - maxWaitMs }
        throw limitReachedError(deps, reached, { operation: 'primary', login }, client)
      }
      sendTimes.set(key, [...times, sendAt].slice(-limit.attempts))
      if (leftMs > 0) await new Promise<void>((resolve) => start(resolve, leftMs))
    },
  }
}

/** Beyond this, the least recently used one is dropped. */
const MAX_WINDOWS = 50_000

function createWindows<Window extends object>(): LRUCache<string, Window> {
  // not `max`, which makes LRUCache allocate the memory for all of them at once
  return new LRUCache({ maxSize: MAX_WINDOWS, sizeCalculation: () => 1 })
}

/** The canonical form of a login with 320 characters can have 5,760. */
function hashLogin(login: string, canonicalLogin: (login: string) => string): string {
  return hash('sha256', canonicalLogin(login), 'base64url')
}
