import { BrokerError } from '../errors.ts'
import type { RedisConnection } from './redis-connection.ts'
import { OPERATIONS } from './redis-operations.ts'
import { probeRedis } from './redis-probe.ts'
import { createOperations, type Store } from './store.ts'

export interface RedisStoreOptions {
  readonly connection: RedisConnection
  /** Told once of each operation that ended in `storeUnavailable`, however often it was sent. */
  readonly onFailure?: () => void
}

/** The store on Redis 6.2 or later: standalone, behind sentinels, or a cluster. */
export function createRedisStore({ connection, onFailure = () => {} }: RedisStoreOptions): Store {
  const run: RedisConnection['run'] = async (command, isRepeatable) => {
    try {
      return await connection.run(command, isRepeatable)
    } catch (error) {
      if (error instanceof BrokerError) onFailure()
      throw error
    }
  }
  const operations = createOperations(async (name, parameters) => {
    const { request, result } = OPERATIONS[name]
    const { isRepeatable, ...sent } = request(...parameters)
    const reply = await run((call) => call({ name, ...sent }), isRepeatable)
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
    async clearWindows(keyPrefix, windows, mark) {
      if (windows.length > 0 || mark !== undefined) await operations.clearWindows(keyPrefix, windows, mark)
    },
    ping: () => run(probeRedis, true),
    close: () => connection.close(),
  }
}
