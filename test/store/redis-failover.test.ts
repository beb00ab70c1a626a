import { afterEach, describe, expect, test } from '@jest/globals'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { until } from '../support/until.ts'
import { cleanUpAll, connect, expectUnavailable, expectWorking, stopped } from './redis-harness.ts'

afterEach(cleanUpAll)

describe('Redis with a spare', () => {
  test('sentinels: the primary is killed, and the new one serves without a new store', async () => {
    const redis = stopped(await startSentinels({ replicas: 1, password: 'pw' }))
    const { store } = connect(redis.url)
    await expectWorking(store)
    await store.set('gatehouse:kept', 'still here', 60_000)
    await until(async () => (await redis.replicas[0]?.client().get('gatehouse:kept')) === 'still here')
    await redis.primary.kill()
    await expectUnavailable(store)
    await expectWorking(store)
    expect(await store.get('gatehouse:kept')).toBe('still here')
    expect(await redis.primaryPort()).toBe(redis.replicas[0]?.port)
  })

  test('sentinels: all of them away at the start, then there', async () => {
    const redis = stopped(await startSentinels({ replicas: 0, sentinels: 1 }))
    await redis.sentinels[0]?.kill()
    const { store, events } = connect(redis.url)
    await expectUnavailable(store)
    expect(JSON.stringify(events)).toContain('sentinels unreachable')
    await redis.sentinels[0]?.restart()
    await expectWorking(store)
  })

  test('cluster: a primary is killed, its replica takes over, and the rest goes on meanwhile', async () => {
    const redis = stopped(await startRedisCluster(3, 3, { password: 'pw', nodeTimeoutMs: 500 }))
    const { store } = connect(redis.url)
    await expectWorking(store)
    const keys = Array.from({ length: 60 }, (_, n) => `gatehouse:kept:${n}`)
    for (const key of keys) await store.set(key, key, 60_000)
    await redis.masters[0]?.client().wait(1, 1000)
    await redis.masters[0]?.kill()
    await until(() => Promise.all(keys.map((key) => store.set(key, key, 60_000))).then(() => true), {
      what: 'a replica that has taken over',
    })
    expect(await Promise.all(keys.map((key) => store.get(key)))).toEqual(keys)
    await expectWorking(store)
  })

  test('cluster: all of it away at the start, and paused on the way', async () => {
    const redis = stopped(await startRedisCluster(3))
    for (const master of redis.masters) master.pause()
    const { store } = connect(redis.url)
    await expectUnavailable(store)
    for (const master of redis.masters) master.resume()
    await expectWorking(store)
    for (const master of redis.masters) master.pause()
    await expectUnavailable(store)
    for (const master of redis.masters) master.resume()
    await expectWorking(store)
  })
})
