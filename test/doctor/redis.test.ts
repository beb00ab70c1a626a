import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import { createKeyRegistry } from '../../src/store/key-registry.ts'
import { openStore } from '../../src/store/open-store.ts'
import { useFixture } from '../support/fixture.ts'
import { startForwarder, withoutCommand } from '../support/forwarder.ts'
import { makeCertificates } from '../support/redis-certificates.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startMonitor } from '../support/redis-monitor.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { type RedisServer, type RedisServerOptions, startRedis } from '../support/redis-server.ts'
import { deadPort } from '../support/stub-upstream.ts'
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
}
const SKIPPED = 'skipped: not possible without redis.database'
const ALL_SKIPPED = { version: SKIPPED, policy: SKIPPED, scripts: SKIPPED, write: SKIPPED }

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

test('no server: only the connection fails', async () => {
  const results = await redisChecks(`redis://127.0.0.1:${await deadPort()}`, QUICK)
  expect(results.reach).toBe('fail: Redis does not answer (ECONNREFUSED)')
  expect(results).toMatchObject({ ...ALL_SKIPPED, database: 'skipped: not possible without redis.reach' })
})

/** For connections that never succeed. */
const QUICK = { deadlines: { checkMs: 1500, totalMs: 30_000, closeMs: 1000, logMs: 0, slowMs: 0 } }

test('a wrong password', async () => {
  const redis = await server({ password: 'plainly-fake' })
  const results = await redisChecks(redis.url.replace('plainly-fake', 'another-password'), QUICK)
  expect(results.reach).toBe('fail: Redis refuses the user or password (WRONGPASS)')
})

test('a password that Redis does not need, and one that it needs', async () => {
  const password = async (url: string) =>
    // for the doctor another machine
    (await redisChecks(url.replace('127.0.0.1', '0.0.0.0'), QUICK)).password
  expect(await password(await asUser(plain, '~gatehouse:*', '+@all'))).toMatch(
    /^warn: Redis needs no password/,
  )
  const closed = await server({ password: 'plainly-fake' })
  expect(await password(closed.url)).toBe('ok: the broker signs in to Redis')
})

test('database 99', async () => {
  const redis = await server()
  expect(await redisChecks(`${redis.url}/99`, QUICK)).toMatchObject({
    reach: 'ok: Redis answers',
    database: 'fail: the database of REDIS_URL does not exist',
    ...ALL_SKIPPED,
  })
})

test('memory is limited', async () => {
  const redis = await server({ args: ['--maxmemory', '100mb'] })
  expect((await redisChecks(redis.url)).policy).toBe('ok: maxmemory-policy is noeviction')
})

test.each([
  ['rediss:// to a port without TLS', 'rediss:', []],
  ['a cluster without slots', 'redis+cluster:', ['--cluster-enabled', 'yes']],
])('%s', async (_, scheme, args) => {
  const redis = await server({ args })
  const results = await redisChecks(redis.url.replace('redis:', scheme), QUICK)
  expect(results.reach).toMatch(/^fail: Redis does not answer \(/)
  expect(Object.values(results).filter((result) => !result.startsWith('skipped'))).toHaveLength(1)
})

describe('a Redis that requires client certificates', () => {
  const [own, foreign] = [makeCertificates(), makeCertificates()]
  afterAll(() => {
    own.remove()
    foreign.remove()
  })
  const reachWith = async (certificate: Record<string, string>) => {
    const redis = await server({ tls: { ...own, requiresClientCertificate: true } })
    const env = { REDIS_URL: redis.url, REDIS_CA_FILE: own.caFile, ...certificate }
    return group('redis', await diagnose(env, { deadlines: { ...QUICK.deadlines, checkMs: 5000 } }))
  }
  const from = ({ certFile, keyFile }: typeof own) => ({ REDIS_CERT_FILE: certFile, REDIS_KEY_FILE: keyFile })

  test('all checks pass with one of its authority', async () => {
    expect(await reachWith(from(own))).toEqual(ALL_OK)
  })

  test('a missing one, and one of another authority', async () => {
    expect((await reachWith({})).reach).toMatch(/^fail: Redis does not answer \(.+CERTIFICATE_REQUIRED\)$/)
    expect((await reachWith(from(foreign))).reach).toMatch(/^fail: Redis does not answer \(.+UNKNOWN_CA\)$/)
  })
})

test('a policy that evicts', async () => {
  const redis = await server({ args: ['--maxmemory-policy', 'allkeys-lru'] })
  expect((await redisChecks(redis.url)).policy).toMatch(/^fail: maxmemory-policy is allkeys-lru/)
})

test('memory is full', async () => {
  const redis = await server()
  await redis.client().config('SET', 'maxmemory', '1')
  const { write, latency } = await redisChecks(redis.url)
  expect(write).toBe('fail: Redis refuses to write, read or delete a key (OOM)')
  expect(latency).toBe('skipped: not possible without redis.write')
})

const asUser = async (redis: RedisServer, ...rules: string[]) => {
  await redis.client().call('ACL', 'SETUSER', 'broker', 'reset', 'on', '>plainly-fake', ...rules)
  return `redis://broker:plainly-fake@127.0.0.1:${redis.port}`
}

test.each([
  ['EVALSHA', '-evalsha'],
  ['a command in a script', '-hset'],
])('a user without the right to %s', async (_, rule) => {
  const redis = await server()
  const results = await redisChecks(await asUser(redis, '~gatehouse:*', '+@all', rule))
  expect(results).toEqual({
    ...ALL_OK,
    scripts: 'fail: Redis refuses a script or a command in it (NOPERM)',
  })
  expect(await redis.client().dbsize()).toBe(0)
})

test('a user without HGETALL', async () => {
  const results = await redisChecks(await asUser(await server(), '~gatehouse:*', '+@all', '-hgetall'))
  expect(results.keys).toBe('fail: Redis refuses to read the keys of the replicas (NOPERM)')
})

test('scripts that are renamed away', async () => {
  const redis = await server({ args: ['--rename-command', 'EVALSHA', ''] })
  expect(await redisChecks(redis.url)).toEqual({
    ...ALL_OK,
    scripts: 'fail: Redis refuses a script or a command in it (unknown command EVALSHA)',
  })
})

test('a cluster behind redis://, and redis+cluster:// to a server that is none', async () => {
  const node = await server({ args: ['--cluster-enabled', 'yes'] })
  expect((await redisChecks(node.url)).version).toMatch(/^fail: this is a node of a cluster/)
  const { reach } = await redisChecks(plain.url.replace('redis:', 'redis+cluster:'), QUICK)
  expect(reach).toBe('fail: Redis is not a cluster')
})

test('a server and a cluster without INFO, as behind some proxies', async () => {
  const cluster = await startRedisCluster(1)
  cleanUps.push(() => cluster.stop())
  const [node] = cluster.masters
  const proxyTo = async (port = 0) => {
    const proxy = await startForwarder([port], withoutCommand('info'))
    cleanUps.push(() => proxy.stop())
    return proxy.port
  }
  const [toServer, toNode] = [await proxyTo(plain.port), await proxyTo(node?.port)]
  await node?.client().config('SET', 'cluster-announce-port', toNode)
  for (const url of [`redis://127.0.0.1:${toServer}`, `redis+cluster://127.0.0.1:${toNode}`])
    expect(await redisChecks(url, QUICK)).toMatchObject({
      reach: 'fail: Redis answers, but does not know INFO, without which the broker does not use it',
      database: 'skipped: not possible without redis.reach',
      ...ALL_SKIPPED,
    })
})

test('a user without SELECT', async () => {
  const redis = await server()
  const url = await asUser(redis, '~gatehouse:*', '+@all', '-select')
  const { reach, database } = await redisChecks(`${url}/1`, QUICK)
  expect([reach, database]).toEqual([
    'ok: Redis answers',
    'fail: the Redis user may not select the database (NOPERM)',
  ])
})

test('a user without INFO', async () => {
  const redis = await server()
  const reason = 'skipped: the Redis user may not run INFO'
  const results = await redisChecks(await asUser(redis, '~gatehouse:*', '+@all', '-info'))
  expect(results).toEqual({ ...ALL_OK, version: reason, policy: reason })
})

test('a version that is too old, one that is not named, and a slow network', async () => {
  const redis = await server()
  const oldUrl = await proxyTo(redis, (reply) => reply.replace(/redis_version:\d+\.\d+/, 'redis_version:6.0'))
  expect((await redisChecks(oldUrl)).version).toBe('fail: Redis 6.0 is too old')
  const otherUrl = await proxyTo(redis, (reply) => reply.replace('redis_version:', 'other_version:'))
  expect((await redisChecks(otherUrl)).version).toBe('warn: INFO does not name a version')
  const slowUrl = await proxyTo(redis, (reply) => reply, 20)
  expect((await redisChecks(slowUrl)).latency).toMatch(/^warn: a read takes/)
})

/** A proxy to Redis that rewrites replies, to the same length, and delays them. */
async function proxyTo(redis: RedisServer, rewrite: (reply: string) => string, delayMs = 0): Promise<string> {
  const proxy = createServer((client) => {
    const toRedis = connect(redis.port, '127.0.0.1')
    client.pipe(toRedis)
    toRedis.on('data', async (chunk) => {
      if (delayMs > 0) await delay(delayMs)
      const reply = chunk.toString('latin1')
      client.write(Buffer.from(rewrite(reply).padEnd(reply.length), 'latin1'))
    })
    for (const socket of [client, toRedis]) {
      socket.on('error', () => {}) // one side has closed, so the other is closed too
      socket.once('close', () => {
        client.destroy()
        toRedis.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve)
  })
  cleanUps.push(async () => void proxy.close())
  return `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}` // it listens on TCP
}

test('keys of the replicas: none of them fails, one of several is a warning', async () => {
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
  expect(await withKeys(two)).toMatch(/^warn: /)
  expect(await withKeys(Buffer.alloc(32, 'plainly-fake-three'))).toMatch(/^fail: SECRET_KEYS opens none/)
})

test('a user without SCAN: a warning if there is a token for DELETE /admin/sessions', async () => {
  const redis = await server()
  const scanAs = async (...rules: string[]) => {
    const env = { REDIS_URL: await asUser(redis, ...rules), OPS_TOKEN: 'plainly-fake-ops-token' }
    return group('redis', await diagnose(env)).scan
  }
  expect(await scanAs('~gatehouse:*', '+@all')).toBe('ok: the Redis user may run SCAN')
  expect(await scanAs('~gatehouse:*', '+@all', '-scan')).toBe(
    'warn: Redis refuses SCAN (NOPERM), so DELETE /admin/sessions fails',
  )
})

test('Sentinel servers that do not know the name, or refuse the password', async () => {
  const { url, stop } = await startSentinels({ replicas: 0, sentinels: 1, password: 'plainly-fake' })
  cleanUps.push(stop)
  const reachWith = async (at: string) => (await redisChecks(at, QUICK)).reach
  expect(await reachWith(url)).toBe('ok: Redis answers')
  expect(await reachWith(url.replace(/name=[\w-]+/, 'name=other'))).toBe(
    'fail: no Sentinel server knows a primary of the name in REDIS_URL',
  )
  expect(await reachWith(`${url}&sentinelPassword=another-password`)).toBe(
    'fail: the Sentinel servers refuse the user or password (WRONGPASS)',
  )
})
