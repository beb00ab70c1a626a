import {
  type IRateLimiterOptions,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import { storeUnavailable } from '../errors.ts'
import type { OpenedStore } from './open-store.ts'

/** Counts attempts by key over all replicas, atomically; in the embedded store's own process without Redis. */
export interface Limiter {
  /** Takes one attempt; says whether it was still allowed. The store out of reach throws `storeUnavailable`. */
  take(key: string): Promise<Taken>
}

export interface Taken {
  readonly allowed: boolean
  readonly limit: number
  readonly retryAfterMs: number
}

export interface LimitFigures {
  readonly attempts: number
  readonly perSeconds: number
}

export type OpenLimiter = (name: string, figures: LimitFigures) => Limiter

/** Keys are `gatehouse:limit:<name>:<key>`; give an HMAC where the key is a name or an address. */
export function createOpenLimiter(opened: OpenedStore): OpenLimiter {
  return (name, { attempts, perSeconds }) => {
    const options: IRateLimiterOptions = {
      keyPrefix: `gatehouse:limit:${name}`,
      points: attempts,
      duration: perSeconds,
    }
    const limiter =
      opened.client === undefined
        ? new RateLimiterMemory(options)
        : new RateLimiterRedis({ ...options, storeClient: opened.client })

    return {
      async take(key) {
        if (opened.client !== undefined) await opened.whenReady()
        try {
          await limiter.consume(key)
          return { allowed: true, limit: attempts, retryAfterMs: 0 }
        } catch (refusal) {
          if (!(refusal instanceof RateLimiterRes)) throw storeUnavailable(refusal)
          return { allowed: false, limit: attempts, retryAfterMs: refusal.msBeforeNext }
        }
      },
    }
  }
}
