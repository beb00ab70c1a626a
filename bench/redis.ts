import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { freePort, startCommand } from './processes.ts'

/** A Redis without persistence: one server, or a cluster of three. */
export interface RedisServers {
  readonly url: string
  /** A figure of INFO, such as `used_memory`, of all servers together. */
  sumOf(name: string): Promise<number>
  /** Copies the records with such keys `count` times, under other keys. */
  copy(keys: RegExp, count: number): Promise<void>
}

export async function startRedis(): Promise<RedisServers> {
  const { address, client } = await startServer([])
  return serversOf(`redis://${address}`, client, [client])
}

/** The nodes keep the cluster's configuration in the folder. */
export async function startRedisCluster(folder: string): Promise<RedisServers> {
  const nodes = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      mkdirSync(join(folder, name), { recursive: true })
      const port = String(await freePort())
      return startServer(['--cluster-enabled', 'yes', '--cluster-port', port, '--dir', join(folder, name)])
    }),
  )
  const addresses = nodes.map(({ address }) => address)
  const args = ['--cluster', 'create', ...addresses, '--cluster-yes']
  const { status, stdout } = spawnSync('redis-cli', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`redis-cli ${args.join(' ')} failed: ${stdout}`)
  const client = new Cluster(addresses)
  client.on('error', () => {}) // at the end of the run
  while (client.status !== 'ready') await pause(50)
  return serversOf(
    `redis+cluster://${addresses.join()}`,
    client,
    nodes.map((node) => node.client),
  )
}

async function startServer(more: readonly string[]): Promise<{ address: string; client: Redis }> {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...more]
  startCommand('rest', ['redis-server', ...args], { stdio: 'ignore' })
  const address = `127.0.0.1:${port}`
  const client = new Redis(`redis://${address}`, {
    enableAutoPipelining: true,
    maxRetriesPerRequest: null,
    retryStrategy: () => 50,
  })
  client.on('error', () => {}) // not listening yet
  await client.ping()
  return { address, client }
}

function serversOf(url: string, client: Redis | Cluster, nodes: readonly Redis[]): RedisServers {
  return {
    url,

    async sumOf(name) {
      const infos = await Promise.all(nodes.map((node) => node.info()))
      const value = (info: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
      return infos.reduce((sum, info) => sum + value(info), 0)
    },

    async copy(keys, count) {
      const all = (await Promise.all(nodes.map((node) => node.keys('*')))).flat()
      const records = await Promise.all(
        all
          .filter((key) => keys.test(key))
          .map(async (key) => ({ key, value: await client.dumpBuffer(key), ttlMs: await client.pttl(key) })),
      )
      for (let from = 0; from < count; from += BATCH)
        await Promise.all(
          records.flatMap(({ key, value, ttlMs }) =>
            Array.from({ length: Math.min(BATCH, count - from) }, (_, n) =>
              client.restore(otherKey(key, from + n), ttlMs, value),
            ),
          ),
        )
    },
  }
}

const BATCH = 5000

/** The id in a key is 43 characters long. In a cluster, it decides which server has the record. */
const otherKey = (key: string, n: number) =>
  key.replace(/[\w-]{43}/, (id) => id.slice(0, -8) + n.toString(36).padStart(8, '_'))
