import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import { makeCertificates } from '../support/redis-certificates.ts'
import { freePort } from '../support/redis-process.ts'
import { until } from '../support/until.ts'
import {
  BOUND_MS,
  cleanUpAll,
  connect,
  connectClient,
  expectUnavailable,
  expectWorking,
  OPERATIONS,
  SLACK_MS,
  secretIn,
  server,
  unavailableReason,
} from './redis-harness.ts'

afterEach(cleanUpAll)

describe('Redis is unreachable', () => {
  test('killed: every operation is 503 within the time limit, and works again after a restart', async () => {
    const redis = await server({ persist: true })
    const { store, isReady, events } = connect(redis.url)
    await store.set('gatehouse:kept', 'still here', 60_000)
    await redis.kill()
    await expectUnavailable(store)
    await expectUnavailable(store)
    expect(isReady()).toBe(false)
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

  test('killed under load: operations in flight complete or are 503', async () => {
    const redis = await server()
    const { store } = connect(redis.url)
    await store.ping()
    let [answered, refused, other] = [0, 0, 0]
    let isOver = false
    const worker = async (n: number) => {
      while (!isOver) {
        const started = performance.now()
        await store.set(`gatehouse:load:${n}`, 'x'.repeat(1000), 1000).then(
          () => answered++,
          (error: unknown) => (unavailableReason(error) === undefined ? other++ : refused++),
        )
        if (performance.now() - started > BOUND_MS + SLACK_MS) other++
        await nextTurn()
      }
    }
    const workers = Array.from({ length: 50 }, (_, n) => worker(n))
    await until(() => answered > 200)
    await redis.kill()
    await until(() => refused > 50)
    await redis.restart()
    const before = answered
    await until(() => answered > before + 200)
    isOver = true
    await Promise.all(workers)
    expect(other).toBe(0)
  })

  test('a short loss of the connection does not affect repeatable operations', async () => {
    const redis = await server()
    const { store } = connect(redis.url, { commandTimeoutMs: 3000 })
    await store.set('gatehouse:a', '1', 60_000)
    const outside = redis.client()
    for (let n = 0; n < 5; n++) {
      const [value] = await Promise.all([
        store.get('gatehouse:a'),
        outside.call('CLIENT', 'KILL', 'TYPE', 'normal'),
      ])
      expect(value).toBe('1')
    }
  })

  test('paused: 503 within the time limit, commands do not pile up, none is executed late; then it works again', async () => {
    const redis = await server()
    const { store, isReady } = connect(redis.url)
    const inside = await connectClient(redis.url)
    await store.ping()
    redis.pause()
    const unanswered = inside.connection.run(() => inside.client.get('gatehouse:a'), true)
    await expect(unanswered).rejects.toMatchObject({ status: 503 })
    await expectUnavailable(store)
    await until(() => !isReady(), { what: 'the dead connection being given up' })
    for (let n = 0; n < 200; n++) {
      await expect(store.set(`gatehouse:late:${n}`, '1', 60_000)).rejects.toMatchObject({ status: 503 })
    }
    await until(() => inside.client.status !== 'ready', { what: 'the other dead connection being given up' })
    for (let n = 0; n < 200; n++) {
      const late = inside.connection.run(
        () => inside.client.set(`gatehouse:late:${n}`, '1', 'PX', 60_000),
        true,
      )
      await expect(late).rejects.toMatchObject({ status: 503 })
    }
    expect(inside.client.autoPipelineQueueSize).toBe(0)
    redis.resume()
    await expectWorking(store)
    expect(await redis.client().keys('gatehouse:late:*')).toEqual([])
  })

  test('not started yet: 503 until Redis starts', async () => {
    const port = await freePort()
    const { store, events } = connect(`redis://127.0.0.1:${port}`)
    await expectUnavailable(store)
    expect(events).toContainEqual({ event: 'store_reconnecting', reason: 'ECONNREFUSED' })
    await server({ port })
    await expectWorking(store)
  })

  test('an unknown host name: 503', async () => {
    const { store } = connect('redis://no-such-host.invalid')
    await expectUnavailable(store)
  })

  test('a closed store: 503 at once, closing twice is allowed, and no connection is left open', async () => {
    const redis = await server()
    const { store } = connect(redis.url)
    const last = store.set('gatehouse:last', 'written', 60_000)
    await Promise.all([store.close(), store.close()])
    expect(await last).toBe(true)
    expect(await redis.client().get('gatehouse:last')).toBe('written')
    await expectUnavailable(store)
    const outside = redis.client()
    await until(
      async () =>
        String(await outside.client('LIST', 'TYPE', 'NORMAL'))
          .trim()
          .split('\n').length === 2,
      {
        what: 'no connection but the two that look in',
      },
    )
  })

  test('closing while Redis is unreachable ends within the time limit', async () => {
    const { store } = connect(`redis://127.0.0.1:${await freePort()}`)
    const waiting = expect(store.get('gatehouse:a')).rejects.toMatchObject({ status: 503 })
    const started = performance.now()
    await store.close()
    expect(performance.now() - started).toBeLessThan(BOUND_MS + SLACK_MS)
    await waiting
  })
})

describe('Redis refuses', () => {
  test('a wrong password: 503 and an event with the reason, which does not contain the password', async () => {
    const redis = await server({ password: 'the-right-one' })
    const { store, events } = connect(redis.url.replace('the-right-one', 'the-wrong-one'))
    await expectUnavailable(store)
    expect(events).toContainEqual({ event: 'store_reconnecting', reason: 'WRONGPASS' })
    expect(secretIn(events, 'the-wrong-one', 'the-right-one')).toEqual([])
  })

  test('a missing password: 503', async () => {
    const redis = await server({ password: 'the-right-one' })
    const { store, events } = connect(`redis://127.0.0.1:${redis.port}`)
    const reasons = await expectUnavailable(store)
    expect(
      new Set([...reasons, ...events.map((event) => ('reason' in event ? `redis: ${event.reason}` : ''))]),
    ).toContain('redis: NOAUTH')
  })

  test('an ACL user with rights to the broker’s keys only: everything works', async () => {
    const acl = ['--user', 'gate', 'on', '>s3cret', '~gatehouse:*', '+@all', '-@dangerous', '+info']
    const redis = await server({ args: [...acl, '--user', 'default', 'on', 'nopass', '~*', '+@all'] })
    const url = `redis://gate:s3cret@127.0.0.1:${redis.port}`
    const { store } = connect(url)
    await expectWorking(store)
    const connections = await redis.client().client('LIST')
    expect(connections).toMatch(/^.* user=gate .*$/m)
    const { client } = await connectClient(url)
    await expect(client.get('other:key')).rejects.toThrow('NOPERM')
  })

  test('an ACL user without write access: 503', async () => {
    const acl = ['--user', 'gate', 'on', '>s3cret', '~gatehouse:*', '+@read', '+@connection', '+info']
    const redis = await server({ args: [...acl, '--user', 'default', 'on', 'nopass', '~*', '+@all'] })
    const { store } = connect(`redis://gate:s3cret@127.0.0.1:${redis.port}`)
    expect(await store.get('gatehouse:a')).toBeUndefined()
    const writing = OPERATIONS.filter(([name]) => name !== 'get' && name !== 'indexAll')
    expect(new Set(await expectUnavailable(store, writing))).toEqual(new Set(['redis: NOPERM']))
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

  test('Redis out of memory: 503, and it works again when there is memory', async () => {
    const redis = await server()
    const { store } = connect(redis.url)
    await store.ping()
    await redis.client().call('CONFIG', 'SET', 'maxmemory', '1')
    const growing = OPERATIONS.filter(([name]) =>
      ['set', 'acquire', 'indexPut', 'countAttempt', 'ping'].includes(name),
    )
    expect(new Set(await expectUnavailable(store, growing))).toEqual(new Set(['redis: OOM']))
    await redis.client().call('CONFIG', 'SET', 'maxmemory', '0')
    await expectWorking(store)
  })

  test('Redis at maxclients: 503', async () => {
    const redis = await server({ args: ['--maxclients', '1'] })
    const outside = redis.client()
    await outside.ping()
    const { store } = connect(redis.url)
    await expectUnavailable(store)
    outside.disconnect()
    await expectWorking(store)
  })

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

  test('it works with a private certificate authority', async () => {
    const redis = await server({ tls: certificates, password: 'pw' })
    const { store } = connect(redis.url, { ca: certificates.ca })
    await expectWorking(store)
    const byName = connect(redis.url.replace('127.0.0.1', 'localhost'), { ca: certificates.ca })
    await expectWorking(byName.store)
  })

  test('a certificate of an untrusted authority: 503', async () => {
    const redis = await server({ tls: certificates })
    const { store, events } = connect(redis.url)
    await expectUnavailable(store)
    const reasons = events.map((event) => ('reason' in event ? event.reason : ''))
    expect(reasons.some((reason) => /CERT|VERIFY|SIGNATURE/.test(reason))).toBe(true)
  })

  test('plain text to a TLS server, and TLS to a plain-text server: 503', async () => {
    const [secret, plain] = [await server({ tls: certificates }), await server()]
    await expectUnavailable(connect(`redis://127.0.0.1:${secret.port}`).store)
    await expectUnavailable(connect(`rediss://127.0.0.1:${plain.port}`, { ca: certificates.ca }).store)
  })

  test('an invalid CA certificate is refused at the start', () => {
    expect(() => connect('rediss://127.0.0.1', { ca: 'nonsense' })).toThrow()
  })
})
