import { afterEach, expect, test } from '@jest/globals'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { cleanUpAll, connect, stopped } from './redis-harness.ts'

afterEach(cleanUpAll)

const NODES = 3
/** Keys of so many slots that each node has several. */
const KEYS = Array.from({ length: 8 * NODES }, (_, n) => `gatehouse:a{${n}}`)

test('an operation that is called while a node is connecting waits for it and is executed once', async () => {
  const cluster = stopped(await startRedisCluster(NODES))
  const { store, failures } = connect(cluster.url, { commandTimeoutMs: 10_000 })
  const swaps = KEYS.flatMap((key) => [store.swap(key, 'first', 60_000), store.swap(key, 'second', 60_000)])
  const before = await Promise.all(swaps)
  expect(before.filter((value) => value === undefined)).toHaveLength(KEYS.length)
  expect(failures()).toBe(0)
})
