import { BrokerError } from '../errors.ts'
import type { RedisConnection } from './redis-connection.ts'
import { OPERATIONS } from './redis-operations.ts'
import { probeRedis } from './redis-probe.ts'
import { createOperations, type Store } from './store.ts'

export interface RedisStoreOptions {
  readonly connection: RedisConnection
  /** Called once for each operation that ended in `storeUnavailable`, however often it was sent. */
  readonly onFailure?: () => void
}

/** The store on Redis 6.2 or later: standalone, with Sentinel, or Redis Cluster. */
export function createRedisStore({ connection, onFailure = () => {} }: RedisStoreOptions): Store {
  const run: RedisConnection['run'] = async (command, isRepeatable) => {
    try {
      return await connection.run(command, isRepeatable)
    } catch (error) {
      if (error instanceof BrokerError) onFailure()
      throw error
    }
  }
  const operations = createOperations(OPERATIONS, async (name, parameters) => {
    const { request, result } = OPERATIONS[name]
    const { keys, args, isRepeatable } = request(...parameters)
    const reply = await run((call) => call({ name, keys, args }), isRepeatable)
    return result(reply, ...parameters)
  })
  return {
    get preservesWriteOrder() {
      return !connection.isCluster
    },
    ...operations,
    async refundAttempt(keyPrefix, counted) {
      if (counted.length > 0) await operations.refundAttempt(keyPrefix, counted)
    },
    async clearWindows(keyPrefix, windows, marker) {
      if (windows.length > 0 || marker !== undefined)
        await operations.clearWindows(keyPrefix, windows, marker)
    },
    ping: () => run(probeRedis, true),
    close: () => connection.close(),
  }
}
