import type { Cluster, Redis } from 'ioredis'
import { createOperations } from './operations.ts'
import { createRedisBatch } from './redis-batch.ts'
import { createRedisClient } from './redis-client.ts'
import { createRedisLink, type StoreEvent } from './redis-link.ts'
import { OPERATIONS } from './redis-operations.ts'
import { probeRedis } from './redis-probe.ts'
import { createRedisRunner, type RedisRunner } from './redis-runner.ts'
import { parseRedisUrl } from './redis-url.ts'
import type { OpenedStore, Store } from './store.ts'
import { tlsMismatch } from './tls-mismatch.ts'

export interface RedisStoreParts {
  readonly url: string
  /** A private certificate authority, as PEM text; used by the TLS schemes. */
  readonly ca?: string
  /** No operation takes longer than this, whatever happens. */
  readonly commandTimeoutMs: number
  readonly connectTimeoutMs: number
  /** Told when the connection comes and goes; the event never carries the URL, an address or a password. */
  readonly onEvent?: (event: StoreEvent) => void
  /** Told once of each operation that ended in `storeUnavailable`. */
  readonly onFailure?: () => void
}

/**
 * The store on Redis 6.2 or later: standalone, behind sentinels, or a cluster. It returns at once and connects in
 * the background, so Redis need not be there yet.
 *
 * Every failure of Redis or of the way to it is `storeUnavailable`. An operation is sent again within its time only
 * when that cannot change what it means: a deletion that may have been carried out is not, as its answer would be wrong.
 */
export function createRedisStore({
  url,
  ca,
  commandTimeoutMs,
  connectTimeoutMs,
  onEvent,
  onFailure,
}: RedisStoreParts): OpenedStore {
  const target = parseRedisUrl(url)
  const client = createRedisClient({
    target,
    ...(ca === undefined ? {} : { ca }),
    commandTimeoutMs,
    connectTimeoutMs,
  })
  const link = createRedisLink({
    client,
    patienceMs: commandTimeoutMs,
    diagnose: () => tlsMismatch(target, connectTimeoutMs),
    ...(onEvent ? { onEvent } : {}),
  })
  const run = createRedisRunner({ link, commandTimeoutMs, ...(onFailure ? { onFailure } : {}) })

  return { store: createStore(client, run, link.close), status: link.status }
}

function createStore(client: Redis | Cluster, run: RedisRunner, close: () => Promise<void>): Store {
  const call = createRedisBatch(client)
  const operations = createOperations(async (name, parameters) => {
    const { request, result } = OPERATIONS[name]
    const { keys, args, isRepeatable } = request(...parameters)
    const reply = await run(isRepeatable ? 'repeatable' : 'once', () => call(name, keys, args))
    return result(reply, ...parameters)
  })
  return {
    keepsOrder: !client.isCluster,
    ...operations,
    async uncount(place, counted) {
      if (counted.length > 0) await operations.uncount(place, counted)
    },
    async endCounts(place, windows, mark) {
      if (windows.length > 0 || mark !== undefined) await operations.endCounts(place, windows, mark)
    },
    ping: () => run('repeatable', () => probeRedis(call)),
    close,
  }
}
