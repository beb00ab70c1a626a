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
  /** Milliseconds since 1970, for the embedded store; Redis has its own clock. Default: the system's clock. */
  readonly now?: () => number
}

/**
 * The store that `REDIS_URL` names: `memory:` is the embedded one, every other URL is Redis. A changed URL of Redis replaces the
 * connection. A change from one to the other is refused: the listener throws.
 */
export function openStore({ url, now = Date.now, onFailure, ...options }: OpenStoreOptions): Store {
  if (!isMemoryUrl(url.current())) {
    const connection = createReconnectingConnection({ url, ...options })
    return createRedisStore({ connection, ...(onFailure ? { onFailure } : {}) })
  }
  url.onChange((changed) => {
    if (!isMemoryUrl(changed)) throw new Error('REDIS_URL: leaving memory: needs a restart')
  })
  return createMemoryStore({ epochMs: now })
}

function isMemoryUrl(url: string): boolean {
  return url === 'memory:' || url === 'memory://'
}
