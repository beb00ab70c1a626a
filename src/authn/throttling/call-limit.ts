import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { addressForLimits } from '../../http/request-context.ts'
import type { LimitConfig } from '../../store/store.ts'
import type { Client } from '../browser/client.ts'
import type { Attempt } from './attempts.ts'
import { type LimitReachedDeps, limitReachedError } from './limit-reached.ts'
import type { Throttling } from './throttling.ts'

/**
 * Limits the calls to the org that one user can cause, successful or not. All users share the org's rate limit, and an
 * attacker who knows one password could use it up. Each replica counts in memory, without a Redis command, because this
 * limit bounds load and protects no secret. So N replicas allow N times as many calls.
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

/** Beyond this, the least recently used window is dropped. */
const MAX_WINDOWS = 50_000 // as maxSize, because `max` makes LRUCache allocate the memory for all of them at once

export function createCallLimit(deps: CallLimitDeps): CallLimit {
  const { limit, canonicalLogin, isKnownDevice, now } = deps
  const windows = new LRUCache<string, CallWindow>({ maxSize: MAX_WINDOWS, sizeCalculation: () => 1 })

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
  // hashed, because the canonical form of a login with 320 characters can have 5,760
  return { key: `login ${hash('sha256', canonicalLogin(login), 'base64url')}`, label: 'calls_user' }
}
