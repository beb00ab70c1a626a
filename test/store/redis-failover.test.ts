import { afterEach, describe, expect, test } from '@jest/globals'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { until } from '../support/until.ts'
import { cleanUpAll, connect, expectUnavailable, expectWorking, SLACK_MS, stopped } from './redis-harness.ts'

afterEach(cleanUpAll)

describe('failover', () => {
  test('Sentinel: after the primary is killed, the same store uses the new one', async () => {
    const redis = stopped(await startSentinels({ replicas: 1, password: 'pw' }))
    const { store } = connect(redis.url)
    await expectWorking(store)
    await store.set('gatehouse:kept', 'still here', 60_000)
    await until(async () => (await redis.replicas[0]?.client().get('gatehouse:kept')) === 'still here')
    await redis.primary.kill()
    await expectUnavailable(store)
    await expectWorking(store)
    expect(await store.get('gatehouse:kept')).toBe('still here')
    // a sentinel may hear of it last
    await until(async () => (await redis.primaryPort()) === redis.replicas[0]?.port)
  })

  test('cluster: once a ping was answered, so is a command for any node', async () => {
    const redis = stopped(await startRedisCluster(3))
    for (let client = 0; client < 20; client++) {
      const { store } = connect(redis.url, { commandTimeoutMs: SLACK_MS, connectTimeoutMs: SLACK_MS })
      await store.ping()
      await Promise.all(Array.from({ length: 60 }, (_, n) => store.get(`gatehouse:key:${n}`)))
    }
  })

  test('cluster: after a primary is killed, its replica serves all its keys; deleteAll does not leave them out', async () => {
    const redis = stopped(await startRedisCluster(3, 3, { password: 'pw' }))
    const { store } = connect(redis.url)
    await expectWorking(store)
    const keys = Array.from({ length: 60 }, (_, n) => `gatehouse:kept:${n}`)
    const deleted = keys.map((key) => key.replace('kept', 'deleted'))
    for (const key of [...keys, ...deleted]) await store.set(key, key, 60_000)
    const [primary, replica] = [redis.masters[0]?.client(), redis.replicas[0]?.client()]
    await until(async () => (await replica?.dbsize()) === (await primary?.dbsize()), {
      what: 'a replica that has every key',
    })
    await redis.masters[0]?.kill()
    await expect(store.deleteAll('gatehouse:deleted')).rejects.toMatchObject({ status: 503 })
    await redis.promote(0)
    await until(() => store.deleteAll('gatehouse:deleted').then(() => true), { what: 'every server' })
    const kept = await until(() => Promise.all(keys.map((key) => store.get(key))), { what: 'every key' })
    expect(kept).toEqual(keys)
    for (const key of deleted) expect(await store.get(key)).toBeUndefined()
    await expectWorking(store)
  })

  test('cluster: while nodes are down, a read gets the value of its own key or none', async () => {
    const redis = stopped(await startRedisCluster(5))
    const [killed, paused] = redis.masters
    for (const master of redis.masters)
      await master.client().config('SET', 'cluster-require-full-coverage', 'no')
    const keys = Array.from({ length: 60 }, (_, n) => `gatehouse:kept:${n}`)
    const writer = connect(redis.url)
    await expectWorking(writer.store)
    for (const key of keys) await writer.store.set(key, key, 600_000)
    // a short limit, so that connections are opened and closed often
    const { store } = connect(redis.url, { commandTimeoutMs: 100 })
    await until(() => store.ping().then(() => true))
    await killed?.kill()
    paused?.pause()

    const wrong: string[] = []
    let [rounds, served] = [0, 0]
    const haveReadEnough = async () => {
      const reads = await Promise.allSettled(keys.map((key) => store.get(key)))
      rounds += 1
      for (const [n, read] of reads.entries()) {
        if (read.status === 'rejected') continue
        served += 1
        if (read.value !== keys[n]) wrong.push(`${keys[n]}: ${read.value}`)
      }
      return wrong.length > 0 || (rounds > 50 && served > 30 * keys.length)
    }
    await until(haveReadEnough, { what: 'many reads while nodes are away', timeoutMs: 180_000 })
    expect(wrong).toEqual([])
  })
})
