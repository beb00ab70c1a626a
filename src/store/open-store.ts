import { createMemoryStore } from './memory-store.ts'
import { createRedisStore, type RedisStore, type RedisStoreParts } from './redis-store.ts'
import type { Store } from './store.ts'

export type OpenStoreParts = RedisStoreParts

/** What `openStore` gives: always a store; a client only where there is a Redis behind it. */
export type OpenedStore = RedisStore | { readonly store: Store; readonly client: undefined }

/** The store that a `REDIS_URL` names: `memory:` is the embedded one, everything else is Redis. */
export function openStore(parts: OpenStoreParts): OpenedStore {
  if (isMemoryUrl(parts.url)) return { store: createMemoryStore(), client: undefined }
  return createRedisStore(parts)
}

export function isMemoryUrl(url: string): boolean {
  return url === 'memory:' || url === 'memory://'
}
