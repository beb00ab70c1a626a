import { afterEach, describe, expect, test } from '@jest/globals'
import { Cluster } from 'ioredis'
import type { Store } from '../../src/store/store.ts'
import { useFixture } from '../support/fixture.ts'
import { startForwarder } from '../support/forwarder.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import type { RedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { BOUND_MS, cleanUpAll, connect, expectWorking, stopped } from './redis-harness.ts'

afterEach(cleanUpAll)

const urlOf = (...addresses: readonly string[]) => `redis+cluster://${addresses.join()}`
const at = (host: string, ...nodes: readonly (RedisServer | undefined)[]) =>
  nodes.map((node) => `${host}:${node?.port}`)

/** A reachable cluster needs milliseconds. One that is found by luck needs many attempts. */
const SOON = { timeoutMs: 10_000, what: 'a store that works' }
const worksSoon = (store: Store) => until(() => store.ping().then(() => true), SOON)

describe('one node is enough, however REDIS_URL names it', () => {
  const cluster = useFixture({ start: () => startRedisCluster(3, 3), stop: ({ stop }) => stop() })

  test.each<[string, ({ masters, replicas }: RedisCluster) => string[]]>([
    ['one primary', ({ masters }) => at('127.0.0.1', masters[0])],
    [
      'one primary, by a name that is not the announced address',
      ({ masters }) => at('localhost', masters[1]),
    ],
    ['one replica', ({ replicas }) => at('127.0.0.1', replicas[0])],
    ['replicas only', ({ replicas }) => at('127.0.0.1', ...replicas)],
    ['replicas only, by a name', ({ replicas }) => at('localhost', ...replicas)],
    [
      'two nodes that do not answer, and a replica',
      ({ replicas }) => ['127.0.0.1:1', '127.0.0.1:2', ...at('localhost', replicas[2])],
    ],
  ])('%s', async (_, addresses) => {
    for (let client = 0; client < 5; client++) {
      const { store } = connect(urlOf(...addresses(cluster)))
      await worksSoon(store)
      await expectWorking(store)
    }
  })

  test('a configuration endpoint, which leads to each node in turn', async () => {
    const nodes = [...cluster.masters, ...cluster.replicas]
    const endpoint = stopped(await startForwarder(nodes.map(({ port }) => port)))
    for (let client = 0; client < nodes.length; client++) {
      const { store } = connect(urlOf(`localhost:${endpoint.port}`))
      await worksSoon(store)
      await expectWorking(store)
    }
    expect(endpoint.accepted()).toBeGreaterThanOrEqual(nodes.length)
  })
})

test('after a failover, stores that run work again and new ones start, with the dead primary in REDIS_URL or alone', async () => {
  const cluster = stopped(await startRedisCluster(3, 3))
  const [dead, ...others] = cluster.masters
  const urls = [
    urlOf(...at('127.0.0.1', dead, ...others)),
    urlOf(...at('127.0.0.1', dead, cluster.replicas[1])),
    urlOf(...at('localhost', dead, ...cluster.replicas)),
  ]
  const running = [...urls, urlOf(...at('127.0.0.1', dead))].map((url) => connect(url).store)
  for (const store of running) await worksSoon(store)
  await dead?.kill()
  await cluster.promote(0)
  for (const store of running) await worksSoon(store)
  for (const store of running) await expectWorking(store)
  for (const url of [...urls, ...urls]) await worksSoon(connect(url).store)
})

test('every node has another address after a restart: the store finds them by the name that stays', async () => {
  const before = stopped(await startRedisCluster(3, 3))
  const endpoint = stopped(await startForwarder(portsOf(before)))
  const { store } = connect(urlOf(`localhost:${endpoint.port}`))
  await worksSoon(store)
  await before.stop()
  await expect(store.get('gatehouse:a')).rejects.toMatchObject({ status: 503 })
  const after = stopped(await startRedisCluster(3, 3))
  endpoint.lead(portsOf(after))
  await worksSoon(store)
  await expectWorking(store)
})

test.each([
  ['one primary', 1],
  ['all primaries', 3],
])(
  '%s paused: once the connections are given up, 503 at once; no command waits, and none is executed late',
  async (_, count) => {
    const cluster = stopped(await startRedisCluster(3, 0, { nodeTimeoutMs: 60_000 }))
    const paused = cluster.masters.slice(0, count)
    const keys = Array.from({ length: 200 }, (_, n) => `gatehouse:late:${n}`)
    const { store, redis } = connect(cluster.url)
    await worksSoon(store)
    for (const key of keys) await store.set(key, '1', 60_000)
    const looks = paused.map((node) => node.client())
    const keysThere = async () =>
      (await Promise.all(looks.map((look) => look.keys('gatehouse:late:*')))).flat()
    const owned = await keysThere()
    for (const key of owned) await until(() => store.delete(key).then(() => true))
    expect(owned.length).toBeGreaterThan(30)

    for (const node of paused) node.pause()
    const isGivenUp = () =>
      redis instanceof Cluster && // always
      paused.every(
        ({ port }) => !redis.nodes().some((node) => node.options.port === port && node.status === 'ready'),
      )
    await until(
      async () => {
        await Promise.allSettled(owned.map((key) => store.get(key)))
        return isGivenUp()
      },
      { what: 'dead connections being given up' },
    )
    const startedAt = performance.now()
    for (const key of owned) await expect(store.set(key, '1', 60_000)).rejects.toMatchObject({ status: 503 })
    // each would take the time limit if it waited for a connection
    expect(performance.now() - startedAt).toBeLessThan((owned.length * BOUND_MS) / 4)
    for (const node of paused) node.resume()
    await expectWorking(store)
    expect(await keysThere()).toEqual([])
  },
)

const portsOf = ({ masters, replicas }: RedisCluster) => [...masters, ...replicas].map(({ port }) => port)
