import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, jest, test } from '@jest/globals'
import { deferred } from '../support/deferred.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { cleanUpAll, connect, connectClient, server, stopped } from './redis-harness.ts'

afterEach(cleanUpAll)

async function harness() {
  const redis = await server()
  const { store } = connect(redis.url)
  await store.ping()
  const outside = redis.client()
  const allScripts = async () => {
    const stats = await outside.info('commandstats')
    const calls = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)]
    return calls.reduce((sum, [, count]) => sum + Number(count), 0)
  }
  const ofThePing = await allScripts()
  /** The number of scripts that Redis has executed, without the ping. */
  const scripts = async () => (await allScripts()) - ofThePing
  return { redis, store, outside, scripts }
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

describe('operations of one turn', () => {
  test('are sent as one command and executed in the order of their calls', async () => {
    const { store, outside, scripts } = await harness()
    const window = { keySuffix: '', name: 'w', maxAttempts: 1, ttlMs: 60_000 }
    const answers = await Promise.all([
      store.set('gatehouse:a', 'one', 60_000, 'absent'),
      store.set('gatehouse:a', 'two', 60_000, 'absent'),
      store.deleteIf('gatehouse:a', 'one'),
      store.set('gatehouse:a', 'three', 60_000, 'present'),
      store.countAttempt({ keyPrefix: 'gatehouse:c:{one}', windows: [window] }),
      store.countAttempt({ keyPrefix: 'gatehouse:c:{another}', windows: [window] }),
      store.countAttempt({ keyPrefix: 'gatehouse:c:{one}', windows: [window] }),
      store.indexPut('gatehouse:i', 'field', 'value', 60_000),
      store.indexRemove('gatehouse:i', 'field'),
      store.set('gatehouse:b', 'one', 60_000),
      store.delete('gatehouse:b'),
      store.delete('gatehouse:b'),
    ])
    expect(answers).toMatchObject([
      ...[true, false, true, false],
      ...[{ full: undefined }, { full: undefined }, { full: { index: 0 } }],
      ...[1, true],
      ...[true, true, false],
    ])
    expect(await scripts()).toBe(1)
    expect(await outside.exists('gatehouse:a', 'gatehouse:b', 'gatehouse:i')).toBe(0)
  })

  test('are split into several commands if there are very many, and each gets its own reply', async () => {
    const { store, scripts } = await harness()
    const written = await Promise.all(
      numbers(200).map((n) => store.set(`gatehouse:n:${n}`, `value ${n}`, 60_000, 'absent')),
    )
    expect(written.every(Boolean)).toBe(true)
    expect(await scripts()).toBe(4)
    const acquired = await Promise.all(
      numbers(200).map((n) =>
        store.acquire({
          lockKey: `gatehouse:lock:{gatehouse:n:${n}}`,
          recordKey: `gatehouse:n:${n}`,
          token: `token ${n}`,
          lockTtlMs: 60_000,
        }),
      ),
    )
    for (const n of numbers(200))
      expect(acquired[n]).toMatchObject({ holder: `token ${n}`, record: `value ${n}` })
  })

  test('are not affected by one that fails', async () => {
    const { store, outside } = await harness()
    await outside.lpush('gatehouse:list', 'no record of ours')
    const [before, failed, after] = await Promise.allSettled([
      store.set('gatehouse:before', '1', 60_000),
      store.indexPut('gatehouse:list', 'field', 'value', 60_000),
      store.set('gatehouse:after', '1', 60_000),
    ])
    expect([before, after]).toEqual([
      { status: 'fulfilled', value: true },
      { status: 'fulfilled', value: true },
    ])
    expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'redis: WRONGTYPE' } })
    expect(await outside.exists('gatehouse:before', 'gatehouse:after')).toBe(2)
  })
})

describe('operations that are called while replies are outstanding', () => {
  /** With fake timers. The first reply is delayed until `pay` is called. */
  async function owing() {
    const { client, call } = await connectClient((await server()).url)
    if (client.isCluster) throw new Error('one server was started')
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'] })
    const { promise: paid, resolve: pay } = deferred()
    const send = client.gatehouseBatch.bind(client)
    const sent: number[] = []
    client.gatehouseBatch = async (keys: number, ...rest: (string | number)[]) => {
      const isFirst = sent.push(keys) === 1
      const reply = await send(keys, ...rest)
      if (isFirst) await paid
      return reply
    }
    const set = (key: string) => call({ name: 'set', keys: [key], args: ['1', 60_000, ''] })
    const asked = [set('gatehouse:first')]
    await turns()
    for (const n of numbers(3)) {
      asked.push(set(`gatehouse:n:${n}`))
      await turns()
    }
    return { set, sent, asked, pay }
  }

  const turns = async () => {
    for (const _ of numbers(3)) await nextTurn()
  }

  afterEach(() => {
    jest.useRealTimers()
  })

  test('are sent together after the replies', async () => {
    const { sent, asked, pay } = await owing()
    expect(sent).toEqual([1])
    pay()
    expect(await Promise.all(asked)).toEqual([1, 1, 1, 1])
    expect(sent).toEqual([1, 3])
  })

  test('are sent without the replies after a maximum wait', async () => {
    const { set, sent, asked, pay } = await owing()
    jest.advanceTimersByTime(20)
    await turns()
    expect(sent).toEqual([1, 3])
    expect(await Promise.all(asked.slice(1))).toEqual([1, 1, 1])
    const next = set('gatehouse:next')
    await turns()
    expect(sent).toEqual([1, 3]) // waits like the others
    pay()
    expect(await Promise.all([next, ...asked])).not.toContain(0)
    expect(sent).toEqual([1, 3, 1])
  })
})

test('operations that could not be sent are sent once the connection is restored', async () => {
  const { redis, scripts } = await harness()
  const { client, connection } = await connectClient(redis.url)
  const asked = numbers(3).map((n) =>
    connection.run(
      (call) => call({ name: 'set', keys: [`gatehouse:n:${n}`], args: ['', 60_000, 'NX'] }),
      false,
    ),
  )
  client.disconnect() // before the end of the turn, when the operations are sent
  expect(await Promise.all(asked)).toEqual([1, 1, 1])
  expect(await scripts()).toBe(1)
})

test('writes do not wait for reads', async () => {
  const redis = await server()
  const { client, call } = await connectClient(redis.url, 30_000)
  redis.pause()
  const read = client.get('gatehouse:a')
  await nextTurn()
  const written = call({ name: 'set', keys: ['gatehouse:a'], args: ['1', 60_000, ''] })
  await nextTurn()
  await nextTurn()
  expect(client.autoPipelineQueueSize).toBe(0)
  redis.resume()
  expect(await Promise.all([read, written])).toEqual([null, 1])
})

test('a read-only server causes a reconnection', async () => {
  const [primary, spare] = [await server(), await server()]
  const { store, events } = connect(primary.url)
  expect(await store.set('gatehouse:a', '1', 60_000)).toBe(true)
  await primary.client().replicaof('127.0.0.1', spare.port)
  await expect(store.set('gatehouse:a', '2', 60_000)).rejects.toMatchObject({ status: 503 })
  expect(events).toContainEqual(expect.objectContaining({ event: 'store_disconnected' }))
})

test('in a cluster, each operation is sent to the slot of its keys', async () => {
  const cluster = stopped(await startRedisCluster(3))
  const { store } = connect(cluster.url, { commandTimeoutMs: 3000, connectTimeoutMs: 3000 })
  await store.ping()
  const keys = numbers(50).map((n) => `gatehouse:n:${n}`)
  await Promise.all(keys.map((key) => store.set(key, `of ${key}`, 60_000)))
  expect(await Promise.all(keys.map((key) => store.get(key)))).toEqual(keys.map((key) => `of ${key}`))
})
