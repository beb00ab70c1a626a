import type { CountingWindow, WindowName } from './counting.ts'
import type { Store } from './store.ts'

export interface LimitFigures {
  readonly attempts: number
  readonly perSeconds: number
}

/** Counts attempts by key over all replicas, atomically, in one round trip. */
export interface Limiter {
  /** Takes one attempt; says whether it was still allowed. The store out of reach throws `storeUnavailable`. */
  take(key: string): Promise<Taken>
}

export interface Taken {
  readonly allowed: boolean
  readonly limit: number
  readonly retryAfterMs: number
}

export interface LimiterParts {
  readonly store: Pick<Store, 'count'>
  readonly name: string
  readonly figures: LimitFigures
}

/** One limit by itself. Give an HMAC where the key is a name or an address. */
export function createLimiter({ store, name, figures }: LimiterParts): Limiter {
  const windows = [countingWindow({ keySuffix: '', name, formerSuffix: `:${name}` }, figures)]
  return {
    async take(key) {
      const { full } = await store.count({ place: limitPlace(key), windows })
      return { allowed: full === undefined, limit: figures.attempts, retryAfterMs: full?.leftMs ?? 0 }
    },
  }
}

/** The place of all windows of one person or one address; its hash tag puts them into one Redis Cluster slot. */
export const limitPlace = (hmac: string) => `gatehouse:limit:{${hmac}}`

export function countingWindow(name: WindowName, { attempts, perSeconds }: LimitFigures): CountingWindow {
  return { ...name, most: attempts, ttlMs: perSeconds * 1000 }
}
