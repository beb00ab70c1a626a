import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { freePort } from '../support/redis-process.ts'
import { until } from '../support/until.ts'
import {
  cleanUpAll,
  connect,
  connectClient,
  expectUnavailable,
  expectWorking,
  OPERATIONS,
  server,
  stopped,
} from './redis-harness.ts'

afterEach(cleanUpAll)

describe('failures are counted', () => {
  test('once for each operation that a full Redis refuses, and not for successful ones', async () => {
    const redis = await server()
    const { store, failures } = connect(redis.url)
    await expectWorking(store)
    const before = failures()
    await redis.client().call('CONFIG', 'SET', 'maxmemory', '1')
    const growing = OPERATIONS.filter(([name]) =>
      ['set', 'acquire', 'indexPut', 'countAttempt', 'ping'].includes(name),
    )
    await expectUnavailable(store, growing)
    await store.get('gatehouse:a')
    await store.delete('gatehouse:a')
    expect(failures() - before).toBe(growing.length)
  })

  test('once for each operation that got no reply or no connection, however often it was sent', async () => {
    const redis = await server()
    const { store, failures, isReady } = connect(redis.url)
    await store.ping()
    const before = failures()
    redis.pause()
    await expectUnavailable(store)
    expect(failures() - before).toBe(OPERATIONS.length)
    await redis.kill()
    await until(() => !isReady())
    await expectUnavailable(store)
    expect(failures() - before).toBe(2 * OPERATIONS.length)
  })

  test('not for a lost connection without a failed operation, and not for an invalid operation', async () => {
    const redis = await server()
    const { store, failures, events } = connect(redis.url, { commandTimeoutMs: 3000 })
    await store.set('gatehouse:a', '1', 60_000)
    await redis.client().call('CLIENT', 'KILL', 'TYPE', 'normal')
    await until(() => events.some(({ event }) => event === 'store_disconnected'))
    expect(await store.get('gatehouse:a')).toBe('1')
    await expect(store.indexAll('gatehouse:a')).rejects.toThrow('redis: WRONGTYPE')
    expect(failures()).toBe(0)
  })
})

test('store_lost does not state the reason of an earlier failure to connect', async () => {
  const redis = await server({ password: 'not-yet' })
  const { store, events, isReady } = connect(redis.url.replace('not-yet', 'the-right-one'))
  await until(() => events.some((event) => 'reason' in event && event.reason === 'WRONGPASS'))
  await redis.client().call('CONFIG', 'SET', 'requirepass', 'the-right-one')
  await until(() => isReady())
  await store.ping()
  const { client } = await connectClient(redis.url.replace('not-yet', 'the-right-one'))
  await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until(() => events.some(({ event }) => event === 'store_disconnected'))
  const lost = events.filter(({ event }) => event === 'store_disconnected')
  expect(lost).toEqual([{ event: 'store_disconnected', reason: 'connection lost' }])
})

test('commands that wait for a connection are executed in the order of their calls', async () => {
  const port = await freePort()
  const { store } = connect(`redis://127.0.0.1:${port}`, { commandTimeoutMs: 30_000 })
  const values = Array.from({ length: 30 }, (_, n) => `value ${n}`)
  const before: Promise<string | undefined>[] = []
  for (const value of values) {
    before.push(store.swap('gatehouse:a', value, 60_000))
    await delay(3)
  }
  await server({ port })
  expect(await Promise.all(before)).toEqual([undefined, ...values.slice(0, -1)])
})

test('an earlier reply of Redis is the reason, even if the last attempt timed out', async () => {
  const { connection } = await connectClient((await server()).url, 200)
  let tries = 0
  const thrown = connection.run(async () => {
    tries += 1
    if (tries > 1) return new Promise(() => {})
    throw Object.assign(new Error('CLUSTERDOWN Hash slot not served'), { name: 'ReplyError' })
  }, true)
  await expect(thrown).rejects.toMatchObject({ cause: { code: 'CLUSTERDOWN', outcome: 'refused' } })
  expect(tries).toBe(2)
})

test.each([TypeError, RangeError, ReferenceError, SyntaxError])(
  'a programming error (%p) is thrown unchanged, without a retry',
  async (Fault) => {
    const { connection } = await connectClient((await server()).url)
    let tries = 0
    const fault = new Fault('marked')
    const thrown = connection.run(async () => {
      tries += 1
      throw fault
    }, true)
    await expect(thrown).rejects.toBe(fault)
    expect(tries).toBe(1)
  },
)

test('a programming error is not counted as a store failure', async () => {
  const { store, failures } = connect((await server()).url)
  await expect(store.set('gatehouse:a', '1', Number.NaN)).rejects.toThrow(TypeError)
  expect(failures()).toBe(0)
})

describe('a slot that no node of a cluster serves', () => {
  test('is 503, other slots are not affected, and it works again once a node serves it', async () => {
    const cluster = stopped(await startRedisCluster(3))
    const nodes = cluster.masters.map((master) => master.client())
    const [hole, elsewhere] = ['gatehouse:a', 'gatehouse:b']
    const slot = await nodes[0]?.call('CLUSTER', 'KEYSLOT', hole)
    for (const node of nodes) await node.call('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
    for (const node of nodes) await node.call('CLUSTER', 'DELSLOTS', String(slot))
    const { store, failures } = connect(cluster.url)
    await until(() => store.set(elsewhere, '1', 60_000))
    const before = failures()
    const [reading, writing] = OPERATIONS.filter(([name]) => ['get', 'set'].includes(name))
    for (const operation of [reading, writing]) {
      const reasons = await expectUnavailable(store, operation === undefined ? [] : [operation])
      expect(reasons).toEqual(['redis: CLUSTERDOWN'])
    }
    expect(failures()).toBe(before + 2)
    expect(await store.get(elsewhere)).toBe('1')
    await nodes[0]?.call('CLUSTER', 'ADDSLOTS', String(slot))
    await until(() => store.set(hole, '1', 60_000))
    expect(await store.get(hole)).toBe('1')
  })
})
