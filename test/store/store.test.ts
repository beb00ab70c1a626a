import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import { connected, createRedisClient } from '../../src/store/redis-client.ts'
import { parseRedisUrl } from '../../src/store/redis-url.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { describeStoreContract, type StoreUnderTest } from './store-contract.ts'

describeStoreContract('memory', async () => {
  let time = 1000
  const entries = new Map<string, MemoryEntry>()
  // neither the system clock nor the clock of the times to live
  const clock = () => 5_000_000 + time
  const store = createMemoryStore({ monotonic: () => time, now: clock, entries })
  return {
    store,
    async timeToLive(key) {
      const entry = entries.get(key)
      return entry && entry.expiresAt - time
    },
    async letPass(ms) {
      time += ms
    },
    clock,
    close: () => store.close(),
  }
})

describeStoreContract('redis with a password', () => onRedis(() => startRedis({ password: 'p@ss:w/rd %' })))
describeStoreContract('redis behind sentinels', () => onRedis(() => startSentinels()))
describeStoreContract('a redis cluster', () => onRedis(() => startRedisCluster(3)))

/** Times to live are read with another client, on the real clock. */
async function onRedis(
  start: () => Promise<{ url: string; stop(): Promise<void> }>,
): Promise<StoreUnderTest> {
  const server = await start()
  const bounds = { commandTimeoutMs: 3000, connectTimeoutMs: 3000 }
  const store = openStore({ url: server.url, ...bounds })
  const client = createRedisClient({ target: parseRedisUrl(server.url), ...bounds })
  await until(() => store.ping().then(() => true), { what: 'a connection' })
  await connected(client, 3000)
  return {
    store,
    async timeToLive(key) {
      const ms = await client.pttl(key)
      return ms === -2 ? undefined : ms
    },
    letPass: async (_ms, isOver) => void (await until(isOver)),
    clock: Date.now, // it runs on this machine
    async close() {
      client.disconnect()
      await store.close()
      await server.stop()
    },
  }
}
