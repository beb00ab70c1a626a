import { createMemoryStore } from './memory-store.ts'
import { createRedisClient, type RedisClientOptions } from './redis-client.ts'
import { createRedisStore, type RedisStoreOptions } from './redis-store.ts'
import { parseRedisUrl } from './redis-url.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions
  extends Omit<RedisClientOptions, 'target'>,
    Pick<RedisStoreOptions, 'keyPrefix' | 'onFailure' | 'onReply' | 'traced'> {
  readonly url: string
  /** Milliseconds since 1970, for the embedded store. Redis uses its own clock. */
  readonly now?: () => number
}

/**
 * Opens the store of `REDIS_URL`: `memory:` is the embedded store, every other URL is Redis. It
 * returns at once and connects in the background, so Redis may start later.
 */
export function openStore({ url, now = Date.now, ...options }: OpenStoreOptions): Store {
  if (url === 'memory:') return createMemoryStore({ now })
  const redis = createRedisClient({ target: parseRedisUrl(url), ...options })
  return createRedisStore({ ...options, redis })
}
