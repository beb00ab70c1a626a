import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import { openStore } from '../../src/store/open-store.ts'
import { createKeyRegistry } from '../../src/store/secret-key-registry.ts'
import { useFixture } from '../support/fixture.ts'
import { makeCertificates } from '../support/redis-certificates.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startMonitor } from '../support/redis-monitor.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { type RedisServer, type RedisServerOptions, startRedis } from '../support/redis-server.ts'
import { diagnose, group } from './diagnose.ts'

const plain = useFixture({ start: () => startRedis(), stop: ({ stop }) => stop() })

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  await plain.client().config('SET', 'maxmemory', '0')
  await plain.client().flushall()
})

/** Without options, all tests share one. */
async function server(options?: RedisServerOptions): Promise<RedisServer> {
  if (options === undefined) return plain
  const redis = await startRedis(options)
  cleanUps.push(() => redis.stop())
  return redis
}

const redisChecks = async (url: string, options = {}) =>
  group('redis', await diagnose({ REDIS_URL: url }, options))

const ALL_OK = {
  reach: 'ok: Redis answers',
  database: 'ok: the database of REDIS_URL exists',
  password: expect.stringMatching(/^ok: /),
  scan: 'skipped: there are neither OPS_TOKENS nor OPS_TOKEN',
  version: expect.stringMatching(/^ok: Redis \d+\.\d+$/),
  // as Redis starts
  policy: 'warn: maxmemory is 0: Redis takes all memory of its machine, which may then end it',
  scripts: 'ok: the Redis user may run all scripts of the broker',
  write: 'ok: a key was written, read and deleted',
  keys: 'ok: no replica has used this Redis yet',
  latency: expect.stringMatching(/^(ok|warn): a read takes/), // the machine may be busy
  clock: 'ok: the clocks differ by 0 s',
}

test('all checks pass; only one key is touched, and it is removed', async () => {
  const redis = await server()
  const monitor = await startMonitor(redis.client())
  cleanUps.push(async () => monitor.disconnect())
  const keys = new Set<string>()
  monitor.on('monitor', (_time: string, args: string[]) => {
    for (const word of args) if (word.startsWith('gatehouse:')) keys.add(word)
  })
  expect(await redisChecks(redis.url)).toEqual(ALL_OK)
  expect(await redis.client().dbsize()).toBe(0)
  keys.delete('gatehouse:keys') // only read
  expect([...keys]).toEqual([expect.stringMatching(/^gatehouse:doctor:\{[\w-]+\}$/)])
})

test('all checks pass in a cluster', async () => {
  const cluster = await startRedisCluster(3)
  cleanUps.push(() => cluster.stop())
  expect(await redisChecks(cluster.url)).toEqual(ALL_OK)
  for (const node of cluster.masters) expect(await node.client().dbsize()).toBe(0)
})

test('the embedded store has no checks', async () => {
  const results = Object.values(await redisChecks('memory:'))
  expect(new Set(results)).toEqual(new Set(['skipped: REDIS_URL is memory:, the embedded store']))
})

/** For connections that never succeed. */
const QUICK = { deadlines: { checkMs: 1500, totalMs: 30_000, closeMs: 1000, logMs: 0, slowMs: 0 } }

test('a password that Redis on another machine needs', async () => {
  const { url } = await server({ password: 'plainly-fake' })
  // for the doctor another machine
  const { password } = await redisChecks(url.replace('127.0.0.1', '0.0.0.0'), QUICK)
  expect(password).toBe('ok: the broker signs in to Redis')
})

test('memory is limited', async () => {
  const redis = await server({ args: ['--maxmemory', '100mb'] })
  expect((await redisChecks(redis.url)).policy).toBe('ok: maxmemory-policy is noeviction')
})

describe('a Redis that requires client certificates', () => {
  const own = makeCertificates()
  afterAll(() => own.remove())
  const reachWith = async (certificate: Record<string, string>) => {
    const redis = await server({ tls: { ...own, requiresClientCertificate: true } })
    const env = { REDIS_URL: redis.url, REDIS_CA_FILE: own.caFile, ...certificate }
    return group('redis', await diagnose(env, { deadlines: { ...QUICK.deadlines, checkMs: 5000 } }))
  }
  const from = ({ certFile, keyFile }: typeof own) => ({ REDIS_CERT_FILE: certFile, REDIS_KEY_FILE: keyFile })

  test('all checks pass with one of its authority', async () => {
    expect(await reachWith(from(own))).toEqual(ALL_OK)
  })
})

test('keys of the replicas that SECRET_KEYS has', async () => {
  const redis = await server()
  const [one, two] = [Buffer.alloc(32, 'plainly-fake-one'), Buffer.alloc(32, 'plainly-fake-two')]
  const store = openStore({ url: redis.url, connectTimeoutMs: 5000, commandTimeoutMs: 5000 })
  cleanUps.push(() => store.close())
  const register = createKeyRegistry({ store, masterKeys: [one, two], ttlMs: 60_000, now: Date.now })
  await store.ping()
  expect(await register()).toBe(true)
  const withKeys = async (...keys: Buffer[]) => {
    const text = keys.map((key) => key.toString('base64')).join()
    return group('redis', await diagnose({ REDIS_URL: redis.url, SECRET_KEYS: text })).keys
  }
  expect(await withKeys(one, two)).toMatch(/^ok: SECRET_KEYS has the keys/)
})

test('Sentinel servers', async () => {
  const { url, stop } = await startSentinels({ replicas: 0, sentinels: 1, password: 'plainly-fake' })
  cleanUps.push(stop)
  expect((await redisChecks(url, QUICK)).reach).toBe('ok: Redis answers')
})
