import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { createSecret } from '../../src/config/secret.ts'
import { openStore } from '../../src/store/open-store.ts'
import { deferred } from '../support/deferred.ts'
import { freePort } from '../support/redis-process.ts'
import type { RedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import {
  BOUND_MS,
  cleanUpAll,
  expectUnavailable,
  expectWorking,
  follow as followUrl,
  secretIn,
  server,
} from './redis-harness.ts'

afterEach(cleanUpAll)

/** A store with a URL that the test can change. */
function follow(first: string, boundMs = BOUND_MS) {
  const url = createSecret(first)
  const followed = followUrl(url, { commandTimeoutMs: boundMs, connectTimeoutMs: boundMs })
  const names = () => followed.events.map(({ event }) => event)
  return {
    ...followed,
    names,
    change: (next: string) => url.replace(next),
    moves: () => names().filter((name) => name === 'store_url_changed').length,
    waits: () => followed.events.filter(({ event }) => event === 'store_url_unusable'),
  }
}

const withPassword = ({ port }: RedisServer, password: string) => `redis://:${password}@127.0.0.1:${port}`

/** The number of other connections to the server. */
async function connectionsTo(redis: RedisServer): Promise<number> {
  const look = redis.client()
  const list = String(await look.client('LIST', 'TYPE', 'NORMAL'))
  look.disconnect()
  return list.trim().split('\n').length - 1
}

describe('a changed URL', () => {
  test('the password changes in Redis and in the URL: no operation fails, even if connections are closed', async () => {
    const redis = await server({ password: 'the-old-one' })
    const { store, change, moves, isReady, events, failures } = follow(redis.url)
    await expectWorking(store)
    await store.set('gatehouse:kept', 'still here', 60_000)
    const outside = redis.client()
    await outside.call('CONFIG', 'SET', 'requirepass', 'the-new-one')
    change(withPassword(redis, 'the-new-one'))
    await until(() => moves() === 1)
    await outside.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await until(() => isReady())
    await expectWorking(store)
    expect(await store.get('gatehouse:kept')).toBe('still here')
    expect(failures()).toBe(0)
    expect(secretIn(events, 'the-old-one', 'the-new-one', '127.0.0.1', String(redis.port))).toEqual([])
  })

  test('the old password is refused and all connections are closed: the new password is used at once', async () => {
    const redis = await server({ password: 'the-old-one' })
    const { store, change, isReady, names } = follow(redis.url)
    await expectWorking(store)
    const outside = redis.client()
    await outside.call('CONFIG', 'SET', 'requirepass', 'the-new-one')
    await outside.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await expectUnavailable(store)
    expect(isReady()).toBe(false)
    change(withPassword(redis, 'the-new-one'))
    expect(names().at(-1)).toBe('store_url_changed')
    await expectWorking(store)
    expect(names().slice(-2)).toEqual(['store_url_changed', 'store_connected'])
  })

  test('another server: it is used, and the old connection is closed without a store_lost event', async () => {
    const [one, other] = [await server(), await server()]
    const { store, change, moves, isReady, names } = follow(one.url)
    await store.set('gatehouse:a', 'on one', 60_000)
    change(other.url)
    await until(() => moves() === 1)
    await until(async () => (await connectionsTo(one)) === 0, { what: 'the old connection being left' })
    await one.kill()
    await expectWorking(store)
    await store.set('gatehouse:a', 'on the other', 60_000)
    expect(await other.client().get('gatehouse:a')).toBe('on the other')
    expect(isReady()).toBe(true)
    expect(names()).toEqual(['store_connected', 'store_url_changed'])
    await other.kill()
    await until(() => names().includes('store_disconnected'), { what: 'the one in use being told of' })
  })

  test('from Redis to the embedded store: refused, and the connection stays', async () => {
    const { store, change, moves } = follow((await server()).url)
    await expectWorking(store)
    expect(() => change('memory:')).toThrow(AggregateError)
    await expectWorking(store)
    expect(moves()).toBe(0)
  })

  test('from the embedded store to Redis: refused, and the content stays', async () => {
    const url = createSecret('memory:')
    const store = openStore({ url, commandTimeoutMs: BOUND_MS, connectTimeoutMs: BOUND_MS })
    await store.set('gatehouse:a', '1', 60_000)
    expect(() => url.replace('redis://127.0.0.1:6379')).toThrow(AggregateError)
    expect(await store.get('gatehouse:a')).toBe('1')
    url.replace('memory:')
    await store.close()
  })

  test('commands that run on the replaced connection finish there', async () => {
    const [one, other] = [await server(), await server()]
    const { store, change, moves, failures } = follow(one.url, 30_000)
    await store.ping()
    one.pause()
    const running = store.set('gatehouse:a', 'asked for before', 60_000)
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    change(other.url)
    await until(() => moves() === 1)
    await store.set('gatehouse:b', 'asked for after', 60_000)
    one.resume()
    expect(await running).toBe(true)
    expect(await one.client().get('gatehouse:a')).toBe('asked for before')
    expect(await other.client().keys('gatehouse:[ab]')).toEqual(['gatehouse:b'])
    expect(failures()).toBe(0)
  })

  test('commands that wait for a replaced connection are still served by it, and it emits no more events', async () => {
    const [one, other] = [await server(), await server()]
    one.pause()
    const { store, change, isReady, names } = follow(one.url, 30_000)
    const waiting = store.set('gatehouse:a', 'asked for before', 60_000)
    expect(isReady()).toBe(false)
    change(other.url)
    await store.ping()
    one.resume()
    expect(await waiting).toBe(true)
    expect(await one.client().get('gatehouse:a')).toBe('asked for before')
    expect(names()).toEqual(['store_url_changed', 'store_connected'])
  })
})

describe('a wrong URL', () => {
  test('a wrong password: the active connection stays, the reason is logged, and a corrected URL is used', async () => {
    const [one, other] = [await server(), await server({ password: 'the-right-one' })]
    const { store, change, moves, waits, isReady, names, events, failures } = follow(one.url)
    await expectWorking(store)
    change(withPassword(other, 'the-wrong-one'))
    await until(() => waits().length > 0)
    for (let round = 0; round < 5; round++) await expectWorking(store)
    expect(waits()).toEqual([{ event: 'store_url_unusable', reason: 'WRONGPASS' }])
    expect([isReady(), failures()]).toEqual([true, 0])
    expect(names()).toEqual(['store_connected', 'store_url_unusable'])

    change(other.url)
    await until(() => moves() === 1)
    await expectWorking(store)
    expect(names()).toEqual(['store_connected', 'store_url_unusable', 'store_url_changed'])
    expect(secretIn(events, 'the-right-one', 'the-wrong-one', '127.0.0.1', String(other.port))).toEqual([])
  })

  test('corrected in Redis instead of in the URL: the URL is used as soon as it works', async () => {
    const redis = await server({ password: 'the-old-one' })
    const { store, change, moves, waits } = follow(redis.url)
    await store.ping()
    change(withPassword(redis, 'the-new-one'))
    await until(() => waits().length > 0)
    await redis.client().call('CONFIG', 'SET', 'requirepass', 'the-new-one')
    await until(() => moves() === 1)
    await expectWorking(store)
  })

  test('a server that starts later is used once it is ready', async () => {
    const port = await freePort()
    const { store, change, moves, waits } = follow((await server()).url)
    await store.ping()
    change(`redis://127.0.0.1:${port}`)
    await until(() => waits().length > 0)
    expect(waits()).toEqual([{ event: 'store_url_unusable', reason: 'ECONNREFUSED' }])
    await expectWorking(store)
    await server({ port })
    await until(() => moves() === 1)
    await expectWorking(store)
  })

  test.each([
    ['is full', 'OOM', ['--maxmemory', '1']],
    ['is read-only', 'READONLY', ['--replicaof', '127.0.0.1', '1', '--replica-serve-stale-data', 'yes']],
  ])('a server that %s is not used', async (_what, reason, args) => {
    const { store, change, moves, waits, failures } = follow((await server()).url)
    await store.ping()
    const useless = await server({ args })
    change(useless.url)
    await until(() => waits().some((event) => 'reason' in event && event.reason === reason))
    await expectWorking(store)
    expect([moves(), failures()]).toEqual([0, 0])
  })

  test('if the active connection breaks for a moment, it is restored, because the new one does not work either', async () => {
    const [one, other] = [await server(), await server({ password: 'the-right-one' })]
    const { store, change, waits, moves, isReady } = follow(one.url)
    await store.ping()
    change(withPassword(other, 'the-wrong-one'))
    await until(() => waits().length > 0)
    await one.kill()
    await until(() => !isReady())
    await one.restart()
    await expectWorking(store)
    expect(moves()).toBe(0)
  })

  test('if the active connection is lost for good, the new one is used once it works', async () => {
    const [one, other] = [await server(), await server({ password: 'not-yet' })]
    const { store, change, waits, moves } = follow(one.url)
    await store.ping()
    change(withPassword(other, 'the-new-one'))
    await until(() => waits().length > 0)
    await one.kill()
    await expectUnavailable(store)
    await other.client().call('CONFIG', 'SET', 'requirepass', 'the-new-one')
    await until(() => moves() === 1)
    await expectWorking(store)
  })

  test('a second change replaces the first, which is not retried any more', async () => {
    const [one, full, third] = [await server(), await server({ args: ['--maxmemory', '1'] }), await server()]
    const { store, change, waits, moves, names } = follow(one.url)
    await store.ping()
    change(full.url)
    await until(() => waits().length > 0)
    expect(await connectionsTo(full)).toBe(1)
    change(third.url)
    await until(async () => (await connectionsTo(full)) === 0)
    await until(() => moves() === 1)
    const outside = full.client()
    await outside.call('CONFIG', 'SET', 'maxmemory', '0')
    outside.disconnect()
    await store.set('gatehouse:a', '1', 60_000)
    expect(await third.client().get('gatehouse:a')).toBe('1')
    expect([moves(), names().at(-1), await connectionsTo(full)]).toEqual([1, 'store_url_changed', 0])
  })

  test('a reverted change opens no connection', async () => {
    const redis = await server()
    const { store, change, waits, moves, names } = follow(redis.url)
    await store.ping()
    change(`redis://127.0.0.1:${await freePort()}`)
    await until(() => waits().length > 0)
    change(redis.url)
    await expectWorking(store)
    expect(await connectionsTo(redis)).toBe(1)
    expect([moves(), names().at(-1)]).toEqual([0, 'store_url_unusable'])
  })

  test('an invalid URL throws to the caller, and nothing changes', async () => {
    const { store, change, names } = follow((await server()).url)
    await store.ping()
    expect(() => change('redis://a,b')).toThrow(AggregateError)
    await expectWorking(store)
    expect(names()).toEqual(['store_connected'])
  })
})

describe('closing', () => {
  test('closes all connections: the active, the next and the replaced one', async () => {
    const [one, other] = [await server(), await server()]
    const { store, change, moves, waits, names } = follow(one.url)
    await store.ping()
    const { promise, resolve } = deferred()
    one.pause()
    const running = store.set('gatehouse:a', '1', 60_000).finally(resolve)
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    change(other.url)
    await until(() => moves() === 1)
    change(`redis://127.0.0.1:${await freePort()}`)
    await until(() => waits().length > 0)
    one.resume()
    const told = names().length
    await Promise.all([store.close(), store.close()])
    await promise
    await running.catch(() => {}) // may fail
    await expectUnavailable(store)
    await until(async () => (await connectionsTo(one)) + (await connectionsTo(other)) === 0)
    change(one.url) // no listener is left
    expect([names().length, await connectionsTo(one)]).toEqual([told, 0])
  })
})
