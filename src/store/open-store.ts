import { createMemoryStore } from './memory-store.ts'
import {
  createReconnectingConnection,
  type ReconnectingConnectionOptions,
} from './reconnecting-connection.ts'
import { createRedisStore, type RedisStoreOptions } from './redis-store.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions
  extends ReconnectingConnectionOptions,
    Pick<RedisStoreOptions, 'onFailure'> {
  /** Milliseconds since 1970, for the embedded store. Redis uses its own clock. */
  readonly now?: () => number
}

/**
 * Opens the store of `REDIS_URL`: `memory:` is the embedded store, every other URL is Redis. If a Redis URL changes, the connection
 * is replaced. A change between `memory:` and Redis needs a restart: the listener throws.
 */
export function openStore({ url, now = Date.now, onFailure, ...options }: OpenStoreOptions): Store {
  if (!isMemoryUrl(url.current())) {
    const connection = createReconnectingConnection({ url, ...options })
    return createRedisStore({ connection, ...(onFailure ? { onFailure } : {}) })
  }
  url.onChange((changed) => {
    if (!isMemoryUrl(changed)) throw new Error('REDIS_URL: a change from memory: to Redis needs a restart')
  })
  return createMemoryStore({ now })
}

function isMemoryUrl(url: string): boolean {
  return url === 'memory:' || url === 'memory://'
}
