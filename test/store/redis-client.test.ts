import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { Redis } from 'ioredis'
import { backoffMs, createRedisClient } from '../../src/store/redis-client.ts'
import { parseRedisUrl } from '../../src/store/redis-url.ts'

test('a read-only server causes one reconnection, not one for every refused write; other errors cause none', async () => {
  const client = createRedisClient({
    target: parseRedisUrl('redis://127.0.0.1:1'),
    commandTimeoutMs: 1000,
    connectTimeoutMs: 1000,
  })
  client.on('error', () => {}) // the server does not exist
  client.disconnect()
  if (!(client instanceof Redis)) throw new Error('one server was named')
  const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })
  const leaves = (message: string) => client.options.reconnectOnError?.(reply(message))
  const readOnly = "READONLY You can't write against a read only replica."
  expect([leaves('OOM'), leaves(readOnly), leaves(readOnly)]).toEqual([false, true, false])
  await delay(510)
  expect([leaves(readOnly), leaves(readOnly)]).toEqual([true, false])
})

test('the time between attempts to connect doubles up to two seconds, with random jitter of up to half', () => {
  const latest = [1, 2, 3, 10, 1000].map((attempt) => backoffMs(attempt, () => 1))
  expect(latest).toEqual([50, 100, 200, 2000, 2000])
  expect([1, 1000].map((attempt) => backoffMs(attempt, () => 0))).toEqual([25, 1000])
})
