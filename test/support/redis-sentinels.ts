import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RedisServer, type ServerTls, startRedis, startServer, tlsArguments } from './redis-server.ts'
import { until } from './until.ts'

export interface WatchedRedis {
  /** `redis+sentinel://…` with all sentinels. */
  readonly url: string
  /** The primary and the replicas at the start. */
  readonly primary: RedisServer
  readonly replicas: readonly RedisServer[]
  readonly sentinels: readonly RedisServer[]
  /** The port of the server that is the primary according to the sentinels. */
  primaryPort(): Promise<number>
  stop(): Promise<void>
}

export interface WatchedRedisOptions {
  readonly replicas?: number
  readonly sentinels?: number
  /** The password of Redis and of the sentinels. */
  readonly password?: string
  readonly tls?: ServerTls
  readonly downAfterMs?: number
}

const NAME = 'gatehouse-main'

/** Starts a primary, its replicas and sentinels. All know each other when this resolves. */
export async function startSentinels({
  replicas: replicaCount = 1,
  sentinels: sentinelCount = 3,
  password,
  tls,
  downAfterMs = 500,
}: WatchedRedisOptions = {}): Promise<WatchedRedis> {
  const servers: RedisServer[] = []
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()))
  }
  const secret = { ...(password === undefined ? {} : { password }), ...(tls && { tls }) }
  const auth = password === undefined ? [] : ['--masterauth', password]

  async function keep(starting: Promise<RedisServer>): Promise<RedisServer> {
    const server = await starting
    servers.push(server)
    return server
  }

  try {
    const primary = await keep(startRedis({ ...secret, args: auth }))
    const follow = ['--replicaof', '127.0.0.1', String(primary.port)]
    const replicas: RedisServer[] = []
    for (let n = 0; n < replicaCount; n++) {
      replicas.push(await keep(startRedis({ ...secret, args: [...auth, ...follow] })))
    }
    const sentinels: RedisServer[] = []
    for (let n = 0; n < sentinelCount; n++) {
      sentinels.push(await keep(startSentinel(primary.port, { sentinelCount, downAfterMs, ...secret })))
    }
    await until(
      async () =>
        (await Promise.all(sentinels.map((one) => knows(one, replicaCount, sentinelCount)))).every(Boolean),
      { what: 'sentinels that know each other and the replicas' },
    )

    const user = password === undefined ? '' : `:${encodeURIComponent(password)}@`
    return {
      url: `${tls ? 'rediss' : 'redis'}+sentinel://${user}${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/0?name=${NAME}`,
      primary,
      replicas,
      sentinels,
      async primaryPort() {
        const client = sentinels[0]?.client()
        const address = await client?.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)
        client?.disconnect()
        return Array.isArray(address) ? Number(address[1]) : 0
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

interface SentinelOptions {
  readonly sentinelCount: number
  readonly downAfterMs: number
  readonly password?: string
  readonly tls?: ServerTls
}

/** Sentinels rewrite their configuration, so each has its own file. */
function startSentinel(
  primaryPort: number,
  { sentinelCount, downAfterMs, password, tls }: SentinelOptions,
): Promise<RedisServer> {
  const access = { ...(password === undefined ? {} : { password }), ...(tls && { tls }) }
  return startServer(access, (port, directory) => {
    const file = join(directory, 'sentinel.conf')
    const lines = [
      ...(tls ? configLines(tlsArguments(tls, port)) : [`port ${port}`]),
      'bind 127.0.0.1',
      `dir ${directory}`,
      `sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} ${Math.floor(sentinelCount / 2) + 1}`,
      `sentinel down-after-milliseconds ${NAME} ${downAfterMs}`,
      `sentinel failover-timeout ${NAME} 5000`,
      ...(password === undefined
        ? []
        : [
            `requirepass ${password}`,
            `sentinel auth-pass ${NAME} ${password}`,
            `sentinel sentinel-pass ${password}`,
          ]),
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return [file, '--sentinel']
  })
}

/** `--name value` pairs as lines of a file. */
const configLines = (args: readonly string[]) =>
  args
    .join(' ')
    .split(/ ?--/)
    .filter((line) => line !== '')

async function knows(sentinel: RedisServer, replicaCount: number, sentinelCount: number): Promise<boolean> {
  const client = sentinel.client()
  try {
    const [replicas, others] = await Promise.all([
      client.call('SENTINEL', 'REPLICAS', NAME),
      client.call('SENTINEL', 'SENTINELS', NAME),
    ])
    return lengthOf(replicas) === replicaCount && lengthOf(others) === sentinelCount - 1
  } finally {
    client.disconnect()
  }
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0
}
