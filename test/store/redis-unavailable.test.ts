import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import type { StoreEvent } from '../../src/store/redis-client.ts'
import { startForwarder, withoutCommand } from '../support/forwarder.ts'
import { makeCertificates } from '../support/redis-certificates.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { until } from '../support/until.ts'
import {
  cleanUpAll,
  connect,
  expectUnavailable,
  expectWorking,
  OPERATIONS,
  secretIn,
  server,
  stopped,
  unavailableReason,
} from './redis-harness.ts'

afterEach(cleanUpAll)

const reasonsIn = (events: readonly StoreEvent[]) =>
  events.flatMap((event) => ('reason' in event ? [event.reason] : []))

describe('Redis is unreachable', () => {
  test('killed: every operation is 503 within the time limit, and works again after a restart', async () => {
    const redis = await server({ persist: true })
    const { store, isReady, events } = connect(redis.url)
    await store.ping()
    await store.set('gatehouse:kept', 'still here', 60_000)
    await redis.kill()
    await expectUnavailable(store)
    await expectUnavailable(store)
    await until(() => !isReady())
    await until(() => events.some(({ event }) => event === 'store_reconnecting'))
    await redis.restart()
    await expectWorking(store)
    expect(await store.get('gatehouse:kept')).toBe('still here')
    expect(isReady()).toBe(true)
    expect(events.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['store_connected', 'store_disconnected', 'store_reconnecting']),
    )
    expect(events.at(-1)).toEqual({ event: 'store_connected' })
    expect(secretIn(events, '127.0.0.1', String(redis.port))).toEqual([])
  })

  test('paused: 503 within the time limit, commands do not pile up, none is executed late; then it works again', async () => {
    const redis = await server()
    const { store, redis: client } = connect(redis.url)
    await store.ping()
    redis.pause()
    await expectUnavailable(store)
    await until(() => client.status !== 'ready', { what: 'the dead connection being given up' })
    for (let n = 0; n < 200; n++)
      await expect(store.set(`gatehouse:late:${n}`, '1', 60_000)).rejects.toMatchObject({ status: 503 })
    redis.resume()
    await expectWorking(store)
    expect(await redis.client().keys('gatehouse:late:*')).toEqual([])
  })

  test('a deletion that follows a time-out is executed after the late command', async () => {
    const redis = await server()
    const { store } = connect(redis.url)
    await store.ping()
    redis.pause()
    const locking = store.set('gatehouse:lock', 'mine', 60_000, 'absent')
    await expect(locking).rejects.toMatchObject({ status: 503, cause: { code: 'timeout' } })
    const deleting = store.deleteIf('gatehouse:lock', 'mine').catch(() => {})
    await nextTurn()
    redis.resume()
    await deleting
    await expectWorking(store)
    expect(await redis.client().get('gatehouse:lock')).toBeNull()
  })

  test('the connection breaks: a write in flight is 503 and never sent again', async () => {
    const redis = await server({ persist: true })
    const { store, isReady } = connect(redis.url, { commandTimeoutMs: 10_000 })
    await store.ping()
    redis.pause()
    const writing = expect(store.indexPut('gatehouse:i', 'field', '1', 60_000)).rejects.toMatchObject({
      status: 503,
    })
    await nextTurn()
    await redis.kill()
    await writing
    await redis.restart()
    await until(() => isReady())
    expect(await store.indexAll('gatehouse:i')).toEqual({})
  })

  test('a closed store: 503 at once, closing twice is allowed, and no connection is left open', async () => {
    const redis = await server()
    const { store } = connect(redis.url)
    await store.ping()
    const last = store.set('gatehouse:last', 'written', 60_000)
    await Promise.all([store.close(), store.close()])
    expect(await last).toBe(true)
    expect(await redis.client().get('gatehouse:last')).toBe('written')
    await expectUnavailable(store)
    const outside = redis.client()
    const connections = async () => String(await outside.client('LIST', 'TYPE', 'NORMAL')).match(/^id=/gm)
    const what = 'no connection but the two that look in'
    await until(async () => (await connections())?.length === 2, { what })
  })
})

describe('Redis refuses', () => {
  test('a wrong password: 503 and an event with the reason, which does not contain the password', async () => {
    const redis = await server({ password: 'the-right-one' })
    const { store, events } = connect(redis.url.replace('the-right-one', 'the-wrong-one'))
    await expectUnavailable(store)
    await until(() => reasonsIn(events).includes('WRONGPASS'))
    expect(secretIn(events, 'the-wrong-one', 'the-right-one')).toEqual([])
  })

  test('a read-only replica: 503 for every write, also in scripts, and for ping', async () => {
    const primary = await server()
    const replica = await server({ args: ['--replicaof', '127.0.0.1', String(primary.port)] })
    const outside = replica.client()
    await until(async () => (await outside.info('replication')).includes('master_link_status:up'))
    const { store, isReady } = connect(replica.url)
    await until(() => isReady())
    const writing = OPERATIONS.filter(
      // these change nothing if the key does not exist, so a replica does not refuse them
      ([name]) =>
        !['get', 'indexAll', 'deleteIf', 'commit', 'commit, deleting', 'refundAttempt'].includes(name),
    )
    // after this reply the client reconnects, so some operations may find no connection
    await until(async () => (await expectUnavailable(store, writing)).includes('redis: READONLY'))
    await outside.call('REPLICAOF', 'NO', 'ONE')
    await expectWorking(store)
  })

  test('a server that stays read-only serves reads: the client looks for the primary now and then, not at each write', async () => {
    const primary = await server()
    const replica = await server({ args: ['--replicaof', '127.0.0.1', String(primary.port)] })
    await until(async () => (await replica.client().info('replication')).includes('master_link_status:up'))
    const { store, isReady, events } = connect(replica.url)
    await until(() => isReady())
    const startedAt = performance.now()
    const isRefused = async () =>
      (await store.set('gatehouse:a', '1', 1000).catch(unavailableReason)) === 'redis: READONLY'
    // a write may find no connection instead
    for (let refusal = 0; refusal < 20; refusal++) await until(isRefused)
    const elapsedMs = performance.now() - startedAt
    const reconnections = events.filter(({ event }) => event === 'store_disconnected').length
    expect(reconnections).toBeGreaterThan(0)
    expect(reconnections).toBeLessThanOrEqual(1 + elapsedMs / 5000)
    await until(() => isReady())
    expect(await store.get('gatehouse:a')).toBeUndefined()
  })

  test.each(['one server', 'a cluster'])(
    '%s without INFO: the reason of the check and of each attempt to connect names the command',
    async (form) => {
      const redis = form === 'a cluster' ? stopped(await startRedisCluster(1)).masters[0] : await server()
      const proxy = stopped(await startForwarder([redis?.port ?? 0], withoutCommand('info')))
      if (form === 'a cluster') await redis?.client().config('SET', 'cluster-announce-port', proxy.port)
      const scheme = form === 'a cluster' ? 'redis+cluster' : 'redis'
      const { store, isReady, events } = connect(`${scheme}://127.0.0.1:${proxy.port}`)
      await until(() => reasonsIn(events).length > 1, { what: 'two attempts' })
      expect(new Set(reasonsIn(events))).toEqual(new Set(['unknown command INFO']))
      await expectUnavailable(store)
      // the pause before the next attempt may be longer than a check waits: it then tells `timeout`
      const codeOfCheck = () => store.ping().catch(({ cause }: { cause?: { code?: string } }) => cause?.code)
      await until(async () => (await codeOfCheck()) === 'unknown command INFO', { what: 'a check in time' })
      expect(isReady()).toBe(false)
    },
  )

  test('a server without the scripts gets them again', async () => {
    const redis = await server()
    const { store } = connect(redis.url)
    await expectWorking(store)
    await redis.client().script('FLUSH')
    await expectWorking(store)
  })
})

describe('Redis over TLS', () => {
  const certificates = makeCertificates()
  afterAll(() => certificates.remove())

  // shows: V12.3.4
  test('it works with a private certificate authority', async () => {
    const redis = await server({ tls: certificates, password: 'pw' })
    const { store } = connect(redis.url, { ca: certificates.ca })
    await expectWorking(store)
    const byName = connect(redis.url.replace('127.0.0.1', 'localhost'), { ca: certificates.ca })
    await expectWorking(byName.store)
  })

  // shows: V12.3.2, V12.3.3
  test('a certificate of an untrusted authority: 503', async () => {
    const redis = await server({ tls: certificates })
    const { store, events } = connect(redis.url)
    await expectUnavailable(store)
    await until(() => reasonsIn(events).some((reason) => /CERT|VERIFY|SIGNATURE/.test(reason)))
  })
})
