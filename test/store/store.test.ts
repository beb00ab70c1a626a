import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import { createRedisStore } from '../../src/store/redis-store.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { describeStoreContract, type StoreUnderTest } from './store-contract.ts'

describeStoreContract('memory', async () => {
  let time = 1000
  const entries = new Map<string, MemoryEntry>()
  const store = createMemoryStore({ now: () => time, entries })
  return {
    store,
    async timeToLive(key) {
      const entry = entries.get(key)
      return entry && entry.expiresAt - time
    },
    async letPass(ms) {
      time += ms
    },
    close: () => store.close(),
  }
})

describeStoreContract('redis', () => onRedis(() => startRedis()))
describeStoreContract('redis with a password', () => onRedis(() => startRedis({ password: 'p@ss:w/rd %' })))
describeStoreContract('redis behind sentinels', () => onRedis(() => startSentinels()))
describeStoreContract('a redis cluster', () => onRedis(() => startRedisCluster(3)))

/** Times to live are looked up with a command of the client's own, and time passes by itself. */
async function onRedis(
  start: () => Promise<{ url: string; stop(): Promise<void> }>,
): Promise<StoreUnderTest> {
  const server = await start()
  const { store, client, whenReady } = createRedisStore({
    url: server.url,
    commandTimeoutMs: 3000,
    connectTimeoutMs: 3000,
  })
  await whenReady()
  return {
    store,
    async timeToLive(key) {
      const ms = await client.pttl(key)
      return ms === -2 ? undefined : ms
    },
    letPass: async (_ms, isOver) => void (await until(isOver)),
    async close() {
      await store.close()
      await server.stop()
    },
  }
}
