import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createSecret } from '../../src/config/secret.ts'
import type { StoreEvent } from '../../src/store/redis-connection.ts'
import { type Certificates, makeCertificates } from '../support/redis-certificates.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels, type WatchedRedis } from '../support/redis-sentinels.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import {
  atTheEnd,
  cleanUpAll,
  connect,
  expectUnavailable,
  expectWorking,
  follow,
  server,
} from './redis-harness.ts'

/** Shared by the tests, because they take seconds to start. */
let watched: WatchedRedis
let cluster: RedisCluster
beforeAll(async () => {
  ;[watched, cluster] = await Promise.all([startSentinels(), startRedisCluster(3)])
})
afterEach(cleanUpAll)
afterAll(() => Promise.all([watched?.stop(), cluster?.stop()]))

const attempts = (events: readonly StoreEvent[], reason: string) =>
  events.filter((event) => event.event === 'store_reconnecting' && event.reason === reason)

describe('a database that does not exist', () => {
  test('the store is unavailable with the reason, and writes nothing to database 0', async () => {
    const redis = await server()
    const { store, isReady, events } = connect(`${redis.url}/99`)
    await until(() => attempts(events, 'no such database').length > 1, { what: 'the reason' })
    expect(await expectUnavailable(store)).toContain('redis: no such database')
    expect(isReady()).toBe(false)
    expect(events.filter(({ event }) => event === 'store_connected')).toEqual([])
    expect(await redis.client().dbsize()).toBe(0)
  })

  test('with Sentinel', async () => {
    const { url, primary } = watched
    const { store, events } = connect(url.replace('/0?', '/99?'))
    await until(() => attempts(events, 'no such database').length > 0, { what: 'the reason' })
    await expectUnavailable(store)
    expect(await primary.client().dbsize()).toBe(0)
  })

  test('an existing database is used, also after a lost connection', async () => {
    const redis = await server({ persist: true })
    const { store } = connect(`${redis.url}/15`)
    await expectWorking(store)
    await redis.restart()
    await expectWorking(store)
    expect(await redis.client().dbsize()).toBe(0)
  })

  test('in a changed URL: the active connection stays, and the reason is logged', async () => {
    const redis = await server()
    const url = createSecret(redis.url)
    const { store, events } = follow(url)
    await store.set('gatehouse:kept', '1', 60_000)
    url.replace(`${redis.url}/99`)
    const reasons = () =>
      events.flatMap((event) => (event.event === 'store_url_unusable' ? [event.reason] : []))
    await until(() => reasons().includes('no such database'))
    expect(await store.get('gatehouse:kept')).toBe('1')
    await expectWorking(store)
    expect(events.some(({ event }) => event === 'store_url_changed')).toBe(false)
  })

  test('a user without the right to SELECT', async () => {
    const redis = await server()
    await addUser(redis, '~gatehouse:*', '+@all', '-select')
    const { store, events } = connect(`${urlFor(redis)}/1`)
    await until(() => attempts(events, 'NOPERM').length > 0, { what: 'the reason' })
    await expectUnavailable(store)
    expect(await redis.client().dbsize()).toBe(0)
  })
})

describe('a user with too few rights', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterEach(() => redis.client().flushall())
  afterAll(() => redis.stop())

  test.each([
    ['no scripting', ['~gatehouse:*', '+@all', '-@scripting'], 'NOPERM'],
    ['other keys', ['~other:*', '+@all'], 'NOPERM'],
    ['read-only keys', ['%R~gatehouse:*', '+@all'], 'NOPERM'],
    ['only INFO', ['~gatehouse:*', '+info'], 'NOPERM'],
    ...commandsOfTheStore().map((command): [string, string[], string] => [
      `all commands but ${command}`,
      ['~gatehouse:*', '+@all', `-${command}`],
      'NOPERM',
    ]),
  ])('%s: ping fails', async (_, rules, reason) => {
    const { store } = await connectAs(rules)
    await store.ping().catch(() => {}) // the first call is EVAL, later ones are EVALSHA
    await expect(store.ping()).rejects.toMatchObject({ status: 503, cause: { code: reason } })
    expect(await redis.client().dbsize()).toBeLessThanOrEqual(OWN_KEYS)
  })

  test('docs/operations.md lists exactly the necessary rights', () => {
    const commands = commandsOfTheStore().map((command) => `+${command}`)
    const given = documentedRule().filter((rule) => rule.startsWith('+'))
    expect(given.sort()).toEqual([...commands, '+eval', '+info', '+select'].sort())
  })

  test('these rights and the additional ones for a cluster are sufficient in a cluster', async () => {
    for (const node of cluster.masters) {
      const client = node.client()
      await client.call('ACL', ...documentedRule(), '+cluster|slots', '+cluster|info', '+client|setname')
    }
    const { store } = connect(cluster.url.replace('//', '//gatehouse:password@'))
    await expectWorking(store)
    for (const node of cluster.masters) expect(await node.client().call('ACL', 'LOG')).toEqual([])
  })

  test('these rights and those at the sentinels are sufficient with Sentinel', async () => {
    const { url, primary, replicas, sentinels } = watched
    for (const one of [primary, ...replicas]) await one.client().call('ACL', ...documentedRule())
    const atSentinel = ['+sentinel|get-master-addr-by-name', '+sentinel|sentinels']
    for (const sentinel of sentinels) {
      await sentinel.client().call('ACL', 'SETUSER', 'gatehouse', 'reset', 'on', '>password', ...atSentinel)
    }
    const { store } = connect(url.replace('//', '//gatehouse:password@'))
    await expectWorking(store)
    for (const one of [primary, ...sentinels]) expect(await one.client().call('ACL', 'LOG')).toEqual([])
  })

  test('the probe leaves no permanent keys, and can run concurrently', async () => {
    const stores = [connect(redis.url), connect(redis.url)].map(({ store }) => store)
    await Promise.all(stores.map((store) => until(() => store.ping().then(() => true))))
    await Promise.all(Array.from({ length: 40 }, (_, n) => stores[n % 2]?.ping()))
    const client = redis.client()
    const keys = await client.keys('*')
    expect(keys.filter((key) => !key.startsWith('gatehouse:ping:'))).toEqual([])
    for (const key of keys) expect(await client.pttl(key)).not.toBe(-1)
  })

  async function connectAs(rules: readonly string[]) {
    await addUser(redis, ...rules)
    const connected = connect(urlFor(redis))
    await until(() => connected.isReady(), { what: 'a connection' })
    return connected
  }
})

describe('TLS on one side only', () => {
  const hasReason = (events: readonly StoreEvent[], reason: string) => attempts(events, reason).length > 0
  const NO_TLS = 'rediss URL but port without TLS'
  const TLS = 'redis URL but port with TLS'
  let certificates: Certificates
  beforeAll(() => {
    certificates = makeCertificates()
  })
  afterAll(() => certificates.remove())

  test.each<[string, () => Promise<{ url: string }>]>([
    ['one server', () => server()],
    ['one server with a password', () => server({ password: 'plainly-fake' })],
    ['sentinels', async () => watched],
    ['a cluster', async () => cluster],
  ])('a TLS URL for a port without TLS is the stated reason: %s', async (_, start) => {
    const { url } = await start()
    const { store, events } = connect(url.replace(/^redis/, 'rediss'))
    await until(() => hasReason(events, NO_TLS), { what: 'the reason' })
    expect(await expectUnavailable(store)).toContain(`redis: ${NO_TLS}`)
  })

  test('a URL without TLS for a port with TLS is the stated reason', async () => {
    const redis = await server({ tls: certificates })
    const { store, events } = connect(redis.url.replace('rediss:', 'redis:'))
    await until(() => hasReason(events, TLS), { what: 'the reason' })
    expect(await expectUnavailable(store)).toContain(`redis: ${TLS}`)
  })

  test('an untrusted certificate is a different reason', async () => {
    const redis = await server({ tls: certificates })
    const { events } = connect(redis.url)
    await until(() => events.length > 3)
    expect([NO_TLS, TLS].filter((reason) => hasReason(events, reason))).toEqual([])
  })

  test('a server that does not respond, or closes the connection, is a different reason', async () => {
    const listeners = [createServer(() => {}), createServer((socket) => socket.destroy())]
    const ports = await Promise.all(
      listeners.map((listener) => {
        atTheEnd(async () => void listener.close())
        return new Promise<number>((resolve) => {
          listener.listen(0, '127.0.0.1', () => resolve((listener.address() as AddressInfo).port))
        })
      }),
    )
    const urls = ports.flatMap((port) => [`redis://127.0.0.1:${port}`, `rediss://127.0.0.1:${port}`])
    const eventsOf = urls.map((url) => connect(url).events)
    for (const events of eventsOf) {
      await until(() => events.length > 2)
      expect([NO_TLS, TLS].filter((reason) => hasReason(events, reason))).toEqual([])
    }
  })
})

/** The maximum number of keys that a probe leaves until they expire. */
const OWN_KEYS = 8

function documentedRule(): string[] {
  const [, rule = ''] =
    /^ *ACL (SETUSER gatehouse .+)$/m.exec(readFileSync('docs/operations.md', 'utf8')) ?? []
  return rule.split(' ')
}

/** Every command that the store sends, or runs in its script. */
function commandsOfTheStore(): string[] {
  const scripts = readFileSync('src/store/redis-scripts.ts', 'utf8')
  const inScripts = [...scripts.matchAll(/redis\.call\('([A-Z]+)'/g)].map(([, name = '']) =>
    name.toLowerCase(),
  )
  return [...new Set([...inScripts, 'get', 'hgetall', 'evalsha'])].sort()
}

const USER = 'broker'
const PASSWORD = 'plainly-fake'
const urlFor = ({ port }: RedisServer) => `redis://${USER}:${PASSWORD}@127.0.0.1:${port}`
const addUser = (redis: RedisServer, ...rules: string[]) =>
  redis.client().call('ACL', 'SETUSER', USER, 'reset', 'on', `>${PASSWORD}`, ...rules)
