import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import { createRedisStore } from '../../src/store/redis-store.ts'
import { startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { describeStoreContract } from './store-contract.ts'

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

describeStoreContract('redis', async () => {
  const server = await startRedis()
  const { store } = createRedisStore({ url: server.url, commandTimeoutMs: 2000, connectTimeoutMs: 2000 })
  const outside = server.client()
  return {
    store,
    timeToLive: async (key) => {
      const ms = await outside.pttl(key)
      return ms === -2 ? undefined : ms
    },
    letPass: async (_ms, isOver) => void (await until(isOver)),
    async close() {
      await store.close()
      await server.stop()
    },
  }
})
