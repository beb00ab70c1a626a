import type { Redis } from 'ioredis'
import { type RedisServer, type ServerTls, startRedis } from './redis-server.ts'
import { until } from './until.ts'

export interface RedisCluster {
  /** `redis+cluster://…` with all nodes. */
  readonly url: string
  readonly masters: readonly RedisServer[]
  /** Replica n follows master n modulo the number of masters. */
  readonly replicas: readonly RedisServer[]
  /**
   * Makes this replica the owner of its master's slots. Resolves when every node that runs knows
   * it. Without an election: an earlier test failed once because none was over after 90 s.
   * `npm run faults` waits for a real one.
   */
  promote(replica: number): Promise<void>
  stop(): Promise<void>
}

export interface RedisClusterOptions {
  readonly password?: string
  readonly tls?: ServerTls
  /**
   * After this time without a response, a node is considered failed and a replica takes over. Long,
   * as healthy nodes may be slow on a busy machine.
   */
  readonly nodeTimeoutMs?: number
}

const SLOTS = 16_384

/** Starts a Redis Cluster. It serves every slot when this resolves. */
export async function startRedisCluster(
  masterCount: number,
  replicaCount = 0,
  { password, tls, nodeTimeoutMs = 5000 }: RedisClusterOptions = {},
): Promise<RedisCluster> {
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    String(nodeTimeoutMs),
    // On a slow machine an election may fail several times; by default a replica stops trying after
    // a few seconds.
    '--cluster-replica-validity-factor',
    '0',
  ]
  const auth = password === undefined ? [] : ['--masterauth', password]
  const start = () =>
    startRedis({
      args: [...args, ...auth],
      ...(password === undefined ? {} : { password }),
      ...(tls && { tls }),
    })
  const servers: RedisServer[] = []
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()))
  }

  try {
    for (let n = 0; n < masterCount + replicaCount; n++) servers.push(await start())
    const clients = servers.map((server) => server.client())
    const masters = clients.slice(0, masterCount)
    await shareSlots(masters)
    await introduce(clients, servers)
    await follow(masters, clients.slice(masterCount))
    await until(
      async () => (await Promise.all(clients.map((client) => sees(client, servers.length)))).every(Boolean),
      { what: 'a cluster that serves every slot' },
    )
    for (const client of clients) client.disconnect()
  } catch (error) {
    await stop()
    throw error
  }

  const user = password === undefined ? '' : `:${encodeURIComponent(password)}@`
  return {
    url: `${tls ? 'rediss' : 'redis'}+cluster://${user}${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    masters: servers.slice(0, masterCount),
    replicas: servers.slice(masterCount),
    promote: (replica) => promote(servers, servers[masterCount + replica]),
    stop,
  }
}

async function promote(servers: readonly RedisServer[], replica: RedisServer | undefined): Promise<void> {
  await replica?.client().call('CLUSTER', 'FAILOVER', 'TAKEOVER')
  const nodes = servers.filter((server) => server.isRunning()).map((server) => server.client())
  const owner = new RegExp(`:${replica?.port}@\\S+ (myself,)?master .* connected \\d+`)
  const views = () => Promise.all(nodes.map(async (node) => String(await node.call('CLUSTER', 'NODES'))))
  try {
    await until(async () => (await views()).every((view) => owner.test(view)))
  } catch {
    throw new Error(`a replica was not promoted everywhere: ${(await views()).join('\n')}`)
  }
}

async function shareSlots(masters: readonly Redis[]): Promise<void> {
  await Promise.all(
    masters.map(async (master, n) => {
      const first = Math.floor((n * SLOTS) / masters.length)
      const last = Math.floor(((n + 1) * SLOTS) / masters.length) - 1
      const slots = Array.from({ length: last - first + 1 }, (_, slot) => first + slot)
      await master.call('CLUSTER', 'ADDSLOTS', ...slots)
      await master.call('CLUSTER', 'SET-CONFIG-EPOCH', n + 1)
    }),
  )
}

async function introduce(clients: readonly Redis[], servers: readonly RedisServer[]): Promise<void> {
  for (const client of clients) {
    for (const { port } of servers) await client.call('CLUSTER', 'MEET', '127.0.0.1', port)
  }
}

async function follow(masters: readonly Redis[], replicas: readonly Redis[]): Promise<void> {
  await Promise.all(
    replicas.map(async (replica, n) => {
      const id = await masters[n % masters.length]?.call('CLUSTER', 'MYID')
      // a replica must know its master before it can replicate it
      await until(async () => (await replica.call('CLUSTER', 'REPLICATE', String(id))) === 'OK')
    }),
  )
}

/**
 * Whether this node knows all others, serves all slots and, if it is a replica, has its master's
 * data.
 */
async function sees(client: Redis, count: number): Promise<boolean> {
  const [cluster, nodes, replication] = await Promise.all([
    client.call('CLUSTER', 'INFO'),
    client.call('CLUSTER', 'NODES'),
    client.info('replication'),
  ])
  const lines = String(nodes).trim().split('\n')
  return (
    /cluster_state:ok/.test(String(cluster)) &&
    lines.length === count &&
    !/handshake|fail|noaddr/.test(String(nodes)) &&
    !/master_link_status:down/.test(replication)
  )
}
