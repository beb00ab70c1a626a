import { createMemoryStore } from './memory-store.ts'
import { createRedisStore, type RedisStoreParts } from './redis-store.ts'
import type { OpenedStore, StoreStatus } from './store.ts'

export interface OpenStoreParts extends RedisStoreParts {
  /** Milliseconds since 1970, for the embedded store; Redis goes by its own clock. Default: the system's clock. */
  readonly now?: () => number
}

/** The store that a `REDIS_URL` names: `memory:` is the embedded one, everything else is Redis. */
export function openStore({ now = Date.now, ...parts }: OpenStoreParts): OpenedStore {
  return isMemoryUrl(parts.url) ? openEmbedded(now) : createRedisStore(parts)
}

export function isMemoryUrl(url: string): boolean {
  return url === 'memory:' || url === 'memory://'
}

function openEmbedded(now: () => number): OpenedStore {
  const store = createMemoryStore({ sinceEpoch: now })
  let status: StoreStatus = 'ready'
  const close = () => {
    status = 'closed'
    return store.close()
  }
  return { store: { ...store, close }, status: () => status }
}
