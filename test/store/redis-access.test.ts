import { readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { Cluster } from 'ioredis'
import type { StoreEvent } from '../../src/store/redis-client.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels, type WatchedRedis } from '../support/redis-sentinels.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { cleanUpAll, connect, expectUnavailable, expectWorking, server } from './redis-harness.ts'

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

test.each(['one server', 'a cluster'])(
  '%s: the commands of a turn are sent together, without waiting for replies',
  async (form) => {
    const { store, redis } = connect(form === 'a cluster' ? cluster.url : (await server()).url)
    await expectWorking(store)
    const connections = redis instanceof Cluster ? redis.nodes('master') : [redis]
    const unsent = () => Math.max(...connections.map(({ stream }) => stream.writableLength))
    const first = [store.get('gatehouse:{b}'), store.get('gatehouse:{b}:c')]
    expect(unsent()).toBeGreaterThan(0)
    await nextTurn() // no reply is read in it
    expect(unsent()).toBe(0)
    const second = store.get('gatehouse:{b}')
    expect(unsent()).toBeGreaterThan(0)
    expect(await Promise.all([...first, second])).toEqual([undefined, undefined, undefined])
  },
)

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

  test('an existing database is used, also after a lost connection', async () => {
    const redis = await server({ persist: true })
    const { store } = connect(`${redis.url}/15`)
    await expectWorking(store)
    await redis.restart()
    await expectWorking(store)
    expect(await redis.client().dbsize()).toBe(0)
  })
})

describe('a user with too few rights', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterEach(async () => {
    await redis.client().flushall()
    await redis.client().script('FLUSH') // a loaded script needs no EVAL
  })
  afterAll(() => redis.stop())

  test.each([
    ['no scripting', ['~gatehouse:*', '+@all', '-@scripting'], 'NOPERM'],
    ['other keys', ['~other:*', '+@all'], 'NOPERM'],
    ['read-only keys', ['%R~gatehouse:*', '+@all'], 'NOPERM'],
    ['only INFO', ['~gatehouse:*', '+info'], 'NOPERM'],
    ...commandsOf(documentedRule()).map((command): [string, string[], string] => [
      `all rights in docs/operations.md but ${command}`,
      ['~gatehouse:*', ...commandsOf(documentedRule()).filter((other) => other !== command)],
      'NOPERM',
    ]),
  ])('%s: ping fails', async (_, rules, reason) => {
    const { store } = await connectAs(rules)
    await store.ping().catch(() => {}) // the first call is EVAL, later ones are EVALSHA
    await expect(store.ping()).rejects.toMatchObject({ status: 503, cause: { code: reason } })
    // one key of each probe, until it expires
    expect(await redis.client().dbsize()).toBeLessThanOrEqual(2)
  })

  test('the rights in docs/operations.md are sufficient, in another database with SELECT', async () => {
    const rights = [...documentedRule().slice(5), '+scan']
    const { store } = await connectAs(rights)
    await expectWorking(store)
    await addUser(redis, ...rights, '+select')
    await expectWorking(connect(`${urlFor(redis)}/1`).store)
  })

  test('deploy/compose/make-secrets.sh gives the same rights, INFO and SCAN', () => {
    const [, rights = ''] =
      /^ *rights='(.+)'$/m.exec(readFileSync('deploy/compose/make-secrets.sh', 'utf8')) ?? []
    const [, , , , , ...documented] = documentedRule()
    expect(rights.split(' ')).toEqual([...documented, '+info', '+scan'])
  })

  test('these rights and the additional ones for a cluster are sufficient in a cluster', async () => {
    for (const node of cluster.masters) {
      const client = node.client()
      await client.call(
        'ACL',
        ...documentedRule(),
        '+info',
        '+scan',
        '+cluster|slots',
        '+cluster|info',
        '+client|setname',
      )
    }
    const { store } = connect(cluster.url.replace('//', '//gatehouse:password@'))
    await expectWorking(store)
    for (const node of cluster.masters) expect(await node.client().call('ACL', 'LOG')).toEqual([])
  })

  test('these rights and those at the sentinels are sufficient with Sentinel', async () => {
    const { url, primary, replicas, sentinels } = watched
    for (const one of [primary, ...replicas])
      await one.client().call('ACL', ...documentedRule(), '+info', '+scan')
    const atSentinel = ['+sentinel|get-master-addr-by-name', '+sentinel|sentinels']
    for (const sentinel of sentinels) {
      await sentinel.client().call('ACL', 'SETUSER', 'gatehouse', 'reset', 'on', '>password', ...atSentinel)
    }
    const { store } = connect(url.replace('//', '//gatehouse:password@'))
    await expectWorking(store)
    for (const one of [primary, ...sentinels]) {
      const refused = (await one.client().call('ACL', 'LOG')) as unknown[][]
      // ioredis names itself to sentinels that know the command, and goes on without
      expect(refused.filter((entry) => !entry.includes('client|setinfo'))).toEqual([])
    }
  })

  test('the probe leaves no keys, and can run concurrently', async () => {
    const stores = [connect(redis.url), connect(redis.url)].map(({ store }) => store)
    await Promise.all(stores.map((store) => until(() => store.ping().then(() => true))))
    await Promise.all(Array.from({ length: 40 }, (_, n) => stores[n % 2]?.ping()))
    const client = redis.client()
    expect(await client.keys('*')).toEqual([])
  })

  async function connectAs(rules: readonly string[]) {
    await addUser(redis, ...rules)
    const connected = connect(urlFor(redis))
    await until(() => connected.isReady(), { what: 'a connection' })
    return connected
  }
})

function documentedRule(): string[] {
  const [, rule = ''] =
    /^ *ACL (SETUSER gatehouse .+)$/m.exec(readFileSync('docs/operations.md', 'utf8')) ?? []
  return rule.split(' ')
}

function commandsOf(rule: readonly string[]): string[] {
  return rule.filter((right) => right.startsWith('+'))
}

const USER = 'broker'
const PASSWORD = 'plainly-fake'
const urlFor = ({ port }: RedisServer) => `redis://${USER}:${PASSWORD}@127.0.0.1:${port}`
const addUser = (redis: RedisServer, ...rules: string[]) =>
  redis.client().call('ACL', 'SETUSER', USER, 'reset', 'on', `>${PASSWORD}`, ...rules)
