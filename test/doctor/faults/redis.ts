import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { openStore } from '../../../src/store/open-store.ts'
import { createKeyRegistry } from '../../../src/store/secret-key-registry.ts'
import { startForwarder, withoutCommand } from '../../support/forwarder.ts'
import { TEST_KEY } from '../../support/gatehouse.ts'
import { makeCertificates } from '../../support/redis-certificates.ts'
import { startRedisCluster } from '../../support/redis-cluster.ts'
import { startSentinels } from '../../support/redis-sentinels.ts'
import type { RedisServer, RedisServerOptions } from '../../support/redis-server.ts'
import { deadPort, listenAnywhere, startStubUpstream } from '../../support/stub-upstream.ts'
import type { Faults } from './fault.ts'
import { QUICK, type Services, type ServicesCause } from './services.ts'

const on = (REDIS_URL: string) => ({ env: { REDIS_URL } })
const quicklyOn = (REDIS_URL: string) => ({ ...on(REDIS_URL), options: QUICK })

/** A server of its own with these arguments. */
const server =
  (...args: string[]): ServicesCause =>
  async ({ startRedis }) =>
    on((await startRedis({ args: ['--maxmemory', '100mb', ...args] })).url)

/** A setting of the server of all tests, for one diagnosis. */
const setting =
  (name: string, value: string, usual: string): ServicesCause =>
  async ({ redis, cleanUp }) => {
    await redis.client().config('SET', name, value)
    cleanUp(() => redis.client().config('SET', name, usual))
    return undefined
  }

/** A user with these rules. */
const user =
  (path: string, ...rules: string[]): ServicesCause =>
  async ({ redis }) =>
    on(`${await urlOfUser(redis, ...rules)}${path}`)

async function urlOfUser(redis: RedisServer, ...rules: string[]): Promise<string> {
  await redis.client().call('ACL', 'SETUSER', 'broker', 'reset', 'on', '>plainly-fake', ...rules)
  return `redis://broker:plainly-fake@127.0.0.1:${redis.port}`
}

/** A proxy to Redis that rewrites replies to the same length, or delays them. */
const behindProxy =
  (rewrite: (reply: string) => string, delayMs = 0): ServicesCause =>
  async ({ redis, cleanUp }) => {
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
    const port = await listenAnywhere(proxy)
    cleanUp(() => proxy.close())
    return on(`redis://127.0.0.1:${port}`)
  }

/** A server that answers each command with this error. */
const answering =
  (error: string): ServicesCause =>
  async ({ cleanUp }) => {
    const stub = createServer((socket) => {
      socket.on('error', () => {}) // the doctor has closed it
      socket.on('data', (chunk) => {
        const commands = chunk.toString('latin1').match(/^\*\d+\r$/gm) ?? []
        socket.write(commands.map(() => `-${error}\r\n`).join(''))
      })
    })
    const port = await listenAnywhere(stub)
    cleanUp(() => stub.close())
    return quicklyOn(`redis://127.0.0.1:${port}`)
  }

const tls =
  (
    options: (own: ReturnType<typeof makeCertificates>) => RedisServerOptions,
    env: (own: ReturnType<typeof makeCertificates>) => Record<string, string>,
  ): ServicesCause =>
  async ({ startRedis, cleanUp }) => {
    const own = makeCertificates()
    cleanUp(own.remove)
    const { url } = await startRedis(options(own))
    return { env: { REDIS_URL: url, ...env(own) }, options: QUICK }
  }

/** Replicas that use the same Redis with these keys. */
async function registerKeys(
  { redis, cleanUp }: Services,
  ...masterKeys: [Buffer, ...Buffer[]]
): Promise<void> {
  const store = openStore({ url: redis.url, connectTimeoutMs: 5000, commandTimeoutMs: 5000 })
  cleanUp(async () => {
    await redis.client().del('gatehouse:keys')
    await store.close()
  })
  await store.ping()
  await createKeyRegistry({ store, masterKeys, ttlMs: 60_000, now: Date.now })()
}

const reach = (detail: string | RegExp) => ({
  'redis.reach': typeof detail === 'string' ? `fail: ${detail}` : detail,
})
const REFUSED = (code: string) => `fail: Redis refuses to write, read or delete a key (${code})`
const SCRIPT = (code: string) => ({
  'redis.scripts': `fail: Redis refuses a script or a command in it (${code})`,
})
const OPEN = /^warn: Redis needs no password: whoever reaches it/

/** A single Redis server. */
export const REDIS: Faults<ServicesCause> = {
  'nothing-listens': {
    cause: async () => quicklyOn(`redis://127.0.0.1:${await deadPort()}`),
    told: reach('Redis does not answer (ECONNREFUSED)'),
    fix: 'Start Redis, or correct host, port and scheme in REDIS_URL',
  },
  'host-unknown': {
    cause: quicklyOn('redis://redis.invalid'),
    told: reach(/^fail: Redis does not answer \((ENOTFOUND|EAI_AGAIN)\)$/),
    fix: 'correct host',
  },
  hangs: {
    cause: async ({ startRedis, cleanUp }) => {
      const frozen = await startRedis()
      frozen.pause()
      cleanUp(() => frozen.resume())
      return quicklyOn(frozen.url)
    },
    told: reach('Redis does not answer (timeout)'),
    fix: 'firewall',
  },
  'wrong-password': {
    cause: async ({ startRedis }) => {
      const { url } = await startRedis({ password: 'plainly-fake' })
      return quicklyOn(url.replace('plainly-fake', 'another-password'))
    },
    told: reach('Redis refuses the user or password (WRONGPASS)'),
    fix: 'Correct the user and password in REDIS_URL',
  },
  'password-missing': {
    cause: async ({ startRedis }) => {
      const { port } = await startRedis({ password: 'plainly-fake' })
      return quicklyOn(`redis://127.0.0.1:${port}`)
    },
    told: reach('Redis refuses the user or password (NOAUTH)'),
    fix: 'Correct the user and password in REDIS_URL',
  },
  'no-password-on-a-network': {
    // for the doctor another machine
    cause: ({ redis }) => on(redis.url.replace('127.0.0.1', '0.0.0.0')),
    told: { 'redis.password': OPEN },
    fix: 'Give Gatehouse a user of its own',
  },
  'password-that-redis-does-not-need': {
    cause: async ({ redis }) =>
      on((await urlOfUser(redis, '~gatehouse:*', '+@all')).replace('127.0.0.1', '0.0.0.0')),
    told: { 'redis.password': OPEN },
    fix: 'give the default user a password or turn it off',
  },
  'web-server-at-the-address': {
    cause: async ({ cleanUp }) => {
      const web = await startStubUpstream((_req, res) => res.end('<h1>Portal</h1>'))
      cleanUp(web.close)
      return quicklyOn(`redis://127.0.0.1:${web.port}`)
    },
    told: reach(/^fail: Redis does not answer \(/),
    fix: 'another server',
  },
  'tls-to-a-plain-port': {
    cause: ({ redis }) => quicklyOn(redis.url.replace('redis:', 'rediss:')),
    told: reach('Redis does not answer (timeout)'), // it waits for more
    fix: 'rediss:// needs its TLS port',
  },
  'plain-to-a-tls-port': {
    cause: async ({ startRedis, cleanUp }) => {
      const own = makeCertificates()
      cleanUp(own.remove)
      const { port } = await startRedis({ tls: own })
      return quicklyOn(`redis://127.0.0.1:${port}`)
    },
    told: reach(/^fail: Redis does not answer \(/),
    fix: 'rediss://',
  },
  'authority-unknown': {
    cause: tls(
      (own) => ({ tls: own }),
      () => ({}),
    ),
    told: reach('the certificate of Redis is not accepted (SELF_SIGNED_CERT_IN_CHAIN)'),
    fix: 'REDIS_CA_FILE',
  },
  'client-certificate-missing': {
    cause: tls(
      (own) => ({ tls: { ...own, requiresClientCertificate: true } }),
      (own) => ({ REDIS_CA_FILE: own.caFile }),
    ),
    told: reach(/^fail: Redis wants a certificate of its clients \(ERR_SSL_\w+CERTIFICATE_REQUIRED\)$/),
    fix: 'REDIS_CERT_FILE',
  },
  'client-certificate-of-another-authority': {
    cause: async ({ startRedis, cleanUp }) => {
      const [own, foreign] = [makeCertificates(), makeCertificates()]
      cleanUp(own.remove)
      cleanUp(foreign.remove)
      const { url } = await startRedis({ tls: { ...own, requiresClientCertificate: true } })
      const certificate = { REDIS_CERT_FILE: foreign.certFile, REDIS_KEY_FILE: foreign.keyFile }
      return { env: { REDIS_URL: url, REDIS_CA_FILE: own.caFile, ...certificate }, options: QUICK }
    },
    told: reach(/^fail: Redis does not accept the client certificate \(.+UNKNOWN_CA\)$/),
    fix: 'REDIS_CERT_FILE',
  },
  'database-that-does-not-exist': {
    cause: ({ redis }) => quicklyOn(`${redis.url}/99`),
    told: { 'redis.database': 'fail: the database of REDIS_URL does not exist' },
    fix: 'Correct the number at the end of REDIS_URL',
  },
  'select-not-allowed': {
    cause: async ({ redis }) => quicklyOn(`${await urlOfUser(redis, '~gatehouse:*', '+@all', '-select')}/1`),
    told: { 'redis.database': 'fail: the Redis user may not select the database (NOPERM)' },
    fix: 'SELECT',
  },
  loading: {
    cause: answering('LOADING Redis is loading the dataset in memory'),
    told: reach('Redis is loading its data (LOADING)'),
    fix: 'Wait until it has loaded',
  },
  'too-many-clients': {
    cause: answering('ERR max number of clients reached'),
    told: reach('Redis accepts no further connection (MAXCLIENTS)'),
    fix: 'maxclients',
  },
  'too-old': {
    cause: behindProxy((reply) => reply.replace(/redis_version:\d+\.\d+/, 'redis_version:6.0')),
    told: { 'redis.version': 'fail: Redis 6.0 is too old' },
    fix: 'Update Redis',
  },
  'version-not-named': {
    cause: behindProxy((reply) => reply.replace('redis_version:', 'other_version:')),
    told: { 'redis.version': 'warn: INFO does not name a version' },
    fix: 'compatible with Redis 6.2',
  },
  'far-away': {
    cause: behindProxy((reply) => reply, 20),
    told: { 'redis.latency': /^warn: a read takes/ },
    fix: 'Run Redis close to the broker',
  },
  'info-missing': {
    cause: async ({ redis, cleanUp }) => {
      const proxy = await startForwarder([redis.port], withoutCommand('info'))
      cleanUp(() => proxy.stop())
      return quicklyOn(`redis://127.0.0.1:${proxy.port}`)
    },
    told: reach('Redis answers, but does not know INFO, without which the broker does not use it'),
    fix: 'rename-command',
  },
  evicts: {
    cause: setting('maxmemory-policy', 'allkeys-lru', 'noeviction'),
    told: { 'redis.policy': /^fail: maxmemory-policy is allkeys-lru/ },
    fix: 'noeviction',
  },
  'no-memory-limit': {
    cause: setting('maxmemory', '0', '100mb'),
    told: { 'redis.policy': /^warn: maxmemory is 0: Redis takes all memory/ },
    fix: 'Set maxmemory',
  },
  'little-memory': {
    cause: setting('maxmemory', '10mb', '100mb'),
    told: { 'redis.policy': /^warn: maxmemory is 10 MB/ },
    fix: 'Raise maxmemory',
  },
  'memory-nearly-full': {
    cause: async ({ redis, cleanUp }) => {
      await redis.client().config('SET', 'maxmemory', '0')
      await redis.client().setrange('other', 57_000_000, 'x')
      await redis.client().config('SET', 'maxmemory', '64mb')
      cleanUp(async () => {
        await redis.client().del('other')
        await redis.client().config('SET', 'maxmemory', '100mb')
      })
      return undefined
    },
    told: { 'redis.policy': /^warn: [89]\d % of maxmemory are used/ },
    fix: 'keys of others in this Redis',
  },
  'memory-full': {
    cause: setting('maxmemory', '1', '100mb'),
    told: {
      'redis.write': REFUSED('OOM'),
      ...SCRIPT('OOM'),
      'redis.policy': /^warn: \d+ % of maxmemory are used/,
    },
    fix: 'more memory',
  },
  'disk-full': {
    // it could not save, and refuses to write until it can
    cause: async ({ startRedis }) => {
      const redis = await startRedis({ args: ['--maxmemory', '100mb', '--save', '3600 1'] })
      const client = redis.client()
      const [, directory = ''] = (await client.config('GET', 'dir')) as string[]
      await client.set('other', '1')
      rmSync(directory, { recursive: true, force: true })
      await client.bgsave().catch(() => {}) // it cannot
      while (!(await client.info('persistence')).includes('rdb_last_bgsave_status:err')) await delay(5)
      return on(redis.url)
    },
    told: { 'redis.write': REFUSED('MISCONF'), ...SCRIPT('MISCONF') },
    fix: 'its disk',
  },
  'too-few-replicas': {
    cause: setting('min-replicas-to-write', '1', '0'),
    told: { 'redis.write': REFUSED('NOREPLICAS'), ...SCRIPT('NOREPLICAS') },
    fix: 'min-replicas-to-write',
  },
  'replica-instead-of-the-primary': {
    cause: async ({ startRedis, redis }) => {
      const replica = await startRedis({
        args: ['--maxmemory', '100mb', '--replicaof', '127.0.0.1', String(redis.port)],
      })
      while (!(await replica.client().info('replication')).includes('master_link_status:up')) await delay(5)
      return on(replica.url)
    },
    told: { 'redis.write': REFUSED('READONLY'), ...SCRIPT('READONLY') },
    fix: 'Connect to the primary',
  },
  'replica-without-its-primary': {
    cause: async ({ startRedis }) => {
      const args = ['--replicaof', '127.0.0.1', String(await deadPort()), '--replica-serve-stale-data', 'no']
      return on((await startRedis({ args: ['--maxmemory', '100mb', ...args] })).url)
    },
    told: {
      ...SCRIPT('MASTERDOWN'),
      'redis.scan': /^(ok|warn): /, // it may have connected again
      'redis.write': /^fail: Redis refuses to write, read or delete a key \((MASTERDOWN|READONLY)\)$/,
    },
    fix: 'Connect to the primary',
  },
  'evalsha-not-allowed': {
    cause: user('', '~gatehouse:*', '+@all', '-evalsha'),
    told: SCRIPT('NOPERM'),
    fix: 'rights',
  },
  'command-in-a-script-not-allowed': {
    cause: user('', '~gatehouse:*', '+@all', '-hset'),
    told: SCRIPT('NOPERM'),
    fix: 'rights',
  },
  'scripts-renamed-away': {
    cause: server('--rename-command', 'EVALSHA', ''),
    told: SCRIPT('unknown command EVALSHA'),
    fix: 'rename-command',
  },
  'other-key-prefix-allowed': {
    cause: user('', '~portal:*', '+@all'),
    told: {
      'redis.write': REFUSED('NOPERM'),
      ...SCRIPT('NOPERM'),
      'redis.scan': 'ok: the Redis user may run SCAN',
    },
    fix: 'REDIS_KEY_PREFIX',
  },
  'only-reading-allowed': {
    cause: user('', '~gatehouse:*', '+@read', '+info', '+eval', '+evalsha', '+time'),
    told: { 'redis.write': REFUSED('NOPERM'), ...SCRIPT('NOPERM') },
    fix: 'rights',
  },
  'info-not-allowed': {
    cause: user('', '~gatehouse:*', '+@all', '-info'),
    told: {
      'redis.version': 'skipped: the Redis user may not run INFO',
      'redis.policy': 'skipped: the Redis user may not run INFO',
    },
    fix: 'Allow INFO',
  },
  'scan-not-allowed': {
    cause: user('', '~gatehouse:*', '+@all', '-scan'),
    told: { 'redis.scan': 'warn: Redis refuses SCAN (NOPERM), so DELETE /admin/sessions fails' },
    fix: '+scan',
  },
  'hgetall-not-allowed': {
    cause: user('', '~gatehouse:*', '+@all', '-hgetall'),
    told: {
      'redis.keys': 'fail: Redis refuses to read the keys of the replicas (NOPERM)',
      ...SCRIPT('NOPERM'),
    },
    fix: 'rights',
  },
  'keys-of-other-replicas': {
    cause: async (services) => {
      await registerKeys(services, Buffer.alloc(32, 'plainly-fake-one'))
      return undefined
    },
    told: { 'redis.keys': /^fail: SECRET_KEYS opens none/ },
    fix: 'Put the lost key back',
  },
  'rotation-not-finished': {
    cause: async (services) => {
      await registerKeys(services, Buffer.from(TEST_KEY, 'base64'), Buffer.alloc(32, 'plainly-fake-two'))
      return undefined
    },
    told: { 'redis.keys': 'warn: a replica that uses this Redis has a key that SECRET_KEYS lacks' },
    fix: 'Finish the rotation',
  },
}

/** Sentinel servers and clusters. */
export const REDIS_SENTINEL_AND_CLUSTER: Faults<ServicesCause> = {
  'sentinel-wrong-name': {
    cause: sentinels((url) => url.replace(/name=[\w-]+/, 'name=other')),
    told: reach('no Sentinel server knows a primary of the name in REDIS_URL'),
    fix: 'sentinel monitor',
  },
  'sentinel-wrong-password': {
    cause: sentinels((url) => `${url}&sentinelPassword=another-password`),
    told: reach('the Sentinel servers refuse the user or password (WRONGPASS)'),
    fix: 'sentinelPassword',
  },
  'sentinel-password-missing': {
    cause: sentinels((url) => url.replace(/:[^:@/]+@/, '')),
    told: reach('the Sentinel servers refuse the user or password (NOAUTH)'),
    fix: 'sentinelPassword',
  },
  'sentinel-primary-down': {
    cause: async ({ cleanUp }) => {
      const { url, primary, stop } = await startSentinels({ replicas: 0, sentinels: 1 })
      cleanUp(stop)
      await primary.kill()
      return quicklyOn(url)
    },
    told: reach(/^fail: the primary that the Sentinel servers name does not answer \(/),
    fix: 'Start it',
  },
  'sentinels-down': {
    cause: async () => quicklyOn(`redis+sentinel://127.0.0.1:${await deadPort()}?name=main`),
    told: reach('Redis does not answer (sentinels unreachable)'),
    fix: 'Start Redis',
  },
  'redis-instead-of-sentinels': {
    cause: ({ redis }) => on(`redis+sentinel://127.0.0.1:${redis.port}?name=main`),
    told: reach('the servers in REDIS_URL are not Sentinel servers'),
    fix: 'Name the Sentinel servers',
  },
  'sentinel-instead-of-redis': {
    cause: async ({ cleanUp }) => {
      const {
        sentinels: [sentinel],
        stop,
      } = await startSentinels({ replicas: 0, sentinels: 1 })
      cleanUp(stop)
      return quicklyOn(`redis://127.0.0.1:${sentinel?.port}`)
    },
    told: { 'redis.version': 'fail: this is a Sentinel server, not Redis' },
    fix: 'redis+sentinel://',
  },
  'cluster-behind-redis-url': {
    cause: server('--cluster-enabled', 'yes'),
    told: { 'redis.version': /^fail: this is a node of a cluster/ },
    fix: 'redis+cluster://',
  },
  'no-cluster': {
    cause: ({ redis }) => quicklyOn(redis.url.replace('redis:', 'redis+cluster:')),
    told: reach('Redis is not a cluster'),
    fix: 'Use redis:// or rediss://',
  },
  'cluster-without-slots': {
    cause: async ({ startRedis }) => {
      const node = await startRedis({ args: ['--cluster-enabled', 'yes'] })
      return quicklyOn(node.url.replace('redis:', 'redis+cluster:'))
    },
    told: reach(/^fail: Redis does not answer \(/),
    fix: 'A cluster must serve all slots',
  },
  'cluster-without-cluster-commands': {
    cause: cluster(async (node) => {
      await node
        ?.client()
        .call('ACL', 'SETUSER', 'broker', 'reset', 'on', '>plainly-fake', '~*', '+@all', '-cluster')
      return `redis+cluster://broker:plainly-fake@127.0.0.1:${node?.port}`
    }),
    told: reach('the Redis user may not run CLUSTER (NOPERM)'),
    fix: '+cluster|slots',
  },
  'cluster-announces-other-addresses': {
    cause: cluster(async (node) => {
      await node?.client().config('SET', 'cluster-announce-port', String(await deadPort()))
      return `redis+cluster://127.0.0.1:${node?.port}`
    }),
    told: reach(/^fail: Redis does not answer \(/),
    fix: 'addresses that its servers announce',
  },
  'cluster-without-info': {
    cause: cluster(async (node, { cleanUp }) => {
      const proxy = await startForwarder([node?.port ?? 0], withoutCommand('info'))
      cleanUp(() => proxy.stop())
      await node?.client().config('SET', 'cluster-announce-port', String(proxy.port))
      return `redis+cluster://127.0.0.1:${proxy.port}`
    }),
    told: reach('Redis answers, but does not know INFO, without which the broker does not use it'),
    fix: 'rename-command',
  },
}

function sentinels(change: (url: string) => string): ServicesCause {
  return async ({ cleanUp }) => {
    const { url, stop } = await startSentinels({ replicas: 0, sentinels: 1, password: 'plainly-fake' })
    cleanUp(stop)
    return on(change(url))
  }
}

function cluster(
  change: (node: RedisServer | undefined, services: Services) => Promise<string>,
): ServicesCause {
  return async (services) => {
    const { masters, stop } = await startRedisCluster(1)
    services.cleanUp(stop)
    return quicklyOn(await change(masters[0], services))
  }
}
