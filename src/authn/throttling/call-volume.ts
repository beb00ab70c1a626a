import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { rateLimited } from '../../errors.ts'
import { countedAddress } from '../../http/counted-address.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { LimitFigures } from '../../store/limiter.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { Throttling } from './throttling.ts'

/**
 * Limits the calls to the org that one user can cause, right or wrong: the org's rate limit is shared by all users, and an
 * attacker who knows one password could use it up. Each replica counts in memory, without a Redis command, because this
 * limit bounds load and protects no secret. With more replicas it is that many times higher.
 *
 * All devices of a user share one limit. When that is reached, the known devices have the same limit once more, together, so
 * an attacker who knows the password cannot lock the user out of them. Only then is Redis asked whether the device is known.
 */
export interface CallVolume {
  /**
   * Sends, or throws 429 E0000047 if the limit is reached. A call that fails before the org has named the user is not
   * counted against the name, because anyone can type a name.
   */
  spend<Reply extends { readonly isError: boolean }>(
    user: CountedUser,
    operation: string,
    client: Client,
    send: () => Promise<Reply>,
  ): Promise<Reply>
}

/** The user id is counted if it is known, else the login, else the client's address. */
export interface CountedUser {
  readonly userId?: string | undefined
  /** As typed. */
  readonly login?: string | undefined
}

export interface CallVolumeParts {
  readonly figures: LimitFigures
  readonly canonicalLogin: (login: string) => string
  readonly isKnownDevice: Throttling['isKnownDevice']
  readonly audit: Pick<StepAudit, 'limitHit'>
  readonly metrics: Metrics
  readonly now: () => number
}

/** The calls that count together. */
interface Bucket {
  readonly key: string
  /** For the metric and the audit log. */
  readonly label: string
}

interface CallWindow {
  readonly endsAtMs: number
  calls: number
}

/** Beyond this, the least recently used bucket is dropped, and its count starts again at zero. */
const MAX_BUCKETS = 50_000 // a maxSize: with max, an LRUCache takes the memory for all of them at once

export function createCallVolume(parts: CallVolumeParts): CallVolume {
  const { figures, canonicalLogin, isKnownDevice, audit, metrics, now } = parts
  const windows = new LRUCache<string, CallWindow>({ maxSize: MAX_BUCKETS, sizeCalculation: () => 1 })

  const sharedBucket = ({ userId, login }: CountedUser, { address }: Client): Bucket => {
    if (userId !== undefined) return { key: `user ${userId}`, label: 'calls_person' }
    // hashed: a name of 320 characters can have 5,760 of them in its canonical form
    if (login !== undefined)
      return { key: `login ${hash('sha256', canonicalLogin(login), 'base64url')}`, label: 'calls_person' }
    return { key: `address ${countedAddress(address)}`, label: 'calls_address' }
  }

  const windowOf = ({ key }: Bucket): CallWindow => {
    const current = windows.get(key)
    if (current !== undefined && now() < current.endsAtMs) return current
    const window = { endsAtMs: now() + figures.perSeconds * 1000, calls: 0 }
    windows.set(key, window)
    return window
  }

  /** Counts one call; undefined if the limit is reached. */
  const reserve = (bucket: Bucket): CallWindow | undefined => {
    const window = windowOf(bucket)
    if (window.calls >= figures.attempts) return undefined
    window.calls += 1
    return window
  }

  const refusal = (bucket: Bucket, { userId, login }: CountedUser, operation: string, client: Client) => {
    const { label: limit } = bucket
    const { endsAtMs } = windowOf(bucket)
    const retryAfterSeconds = Math.max(1, Math.ceil((endsAtMs - now()) / 1000))
    metrics.limitHits.inc({ limit })
    audit.limitHit({ limit, operation, login, userId, retryAfterSeconds }, client)
    return rateLimited({
      limit: figures.attempts,
      resetAtSeconds: Math.ceil(endsAtMs / 1000),
      retryAfterSeconds,
    })
  }

  const reserveOrRefuse = async (
    user: CountedUser,
    operation: string,
    client: Client,
  ): Promise<CallWindow> => {
    const shared = sharedBucket(user, client)
    const reserved = reserve(shared)
    if (reserved !== undefined) return reserved
    if (!(await isKnownDevice(user, client))) throw refusal(shared, user, operation, client)
    const known = { key: `${shared.key} known`, label: 'calls_known_person' }
    const reservedOfKnown = reserve(known)
    if (reservedOfKnown === undefined) throw refusal(known, user, operation, client)
    return reservedOfKnown
  }

  return {
    async spend(user, operation, client, send) {
      const { userId, login } = user
      const window = await reserveOrRefuse(user, operation, client)
      let isCounted = userId !== undefined || login === undefined
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
