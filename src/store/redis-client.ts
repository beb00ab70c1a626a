import { once } from 'node:events'
import type { DNSLookupFunction, RedisOptions } from 'ioredis'
import { Cluster, Redis } from 'ioredis'
import { NOT_CONNECTED, redisFailure, SENTINELS_UNREACHABLE } from './redis-errors.ts'
import { SCRIPTS } from './redis-scripts.ts'
import type { RedisTarget, SentinelTarget } from './redis-url.ts'

export interface RedisClientOptions extends RedisTls {
  readonly target: RedisTarget
  readonly commandTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly onEvent?: (event: StoreEvent) => void
}

/** PEM, for the TLS schemes. */
export interface RedisTls {
  /** A private certificate authority. */
  readonly ca?: string | undefined
  /** The client's certificate, with its chain, and its key: both or none. */
  readonly cert?: string | undefined
  readonly privateKey?: string | undefined
}

/** For the log. */
export type StoreEvent =
  | { readonly event: 'store_connected' }
  | {
      readonly event: 'store_disconnected' | 'store_reconnecting'
      /**
       * A short code such as `ECONNREFUSED` or `WRONGPASS`, never a URL, an address or a password.
       */
      readonly reason: string
    }

/**
 * A client for standalone Redis, Sentinel or Redis Cluster. It connects in the background and never
 * stops trying. A command that cannot be sent fails at once, and a command in flight fails when the
 * connection breaks: nothing is queued or sent again, because the command would be executed after
 * its caller was told that it failed.
 */
export function createRedisClient(options: RedisClientOptions): Redis | Cluster {
  const { target, ca, cert, privateKey: key, commandTimeoutMs, connectTimeoutMs } = options
  const common = {
    ...target.credentials,
    ...(target.tls ? { tls: { ca, cert, key } } : {}),
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    // Closes a connection on which the server reads and never answers, so that commands do not pile
    // up. Later than the time-out of a command, so that the deletions that follow it are still
    // sent.
    socketTimeout: 1.5 * commandTimeoutMs,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    disableClientInfo: true, // the Redis user then needs one right less
  } satisfies Options
  const client =
    target.form === 'cluster'
      ? createCluster(target, common, connectTimeoutMs)
      : new Redis({
          ...common,
          ...(target.sentinel ? sentinelOptions(target, target.sentinel, common) : target.addresses[0]),
          db: target.db,
          scripts: SCRIPTS,
          enableOfflineQueue: false,
          retryStrategy: (attempt) => backoffMs(attempt),
          reconnectOnError: createPrimarySearch(),
        })
  reportState(client, options.onEvent)
  return client
}

/**
 * Waits until the client is connected, a cluster's client to all its primaries, because a command
 * for a node that is being connected fails; one of them may be down. Throws after `timeoutMs`
 * without a connection, and when the client reports an error.
 */
export async function connected(client: Redis | Cluster, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs)
  if (client.status !== 'ready' && client.status !== 'end') await ready(client, signal)
  if (!(client instanceof Cluster)) return
  const primaries = client.nodes('master')
  const connecting = primaries.filter(({ status }) => status !== 'ready')
  const outcomes = await Promise.allSettled(connecting.map((node) => once(node, 'ready', { signal })))
  const [failure, ...others] = outcomes.filter((outcome) => outcome.status === 'rejected')
  const isAnyReady = others.length + 1 < primaries.length
  if (failure !== undefined && !isAnyReady) throw failure.reason
}

/**
 * A cluster reports no error while its nodes refuse connections: the last node's error says more
 * than the end of the time.
 */
async function ready(client: Redis | Cluster, signal: AbortSignal): Promise<void> {
  let ofNode: unknown
  const onNodeError = (error: unknown) => {
    if (redisFailure(error).code !== NOT_CONNECTED) ofNode = error
  }
  client.on('node error', onNodeError)
  try {
    await once(client, 'ready', { signal })
  } catch (error) {
    throw ofNode ?? error
  } finally {
    client.off('node error', onNodeError)
  }
}

/**
 * 50 ms, doubled with every attempt up to 2 s, with up to 50% of random jitter, so that replicas do
 * not reconnect together.
 */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(2000, 50 * 2 ** Math.min(attempt - 1, 10))
  return Math.round(full * (0.5 + random() / 2))
}

const SEARCH_EVERY_MS = 5000

/**
 * Whether to reconnect after an error. A primary that was demoted to a replica keeps its
 * connections open, and reconnecting finds the new primary. While there is none, a server that is
 * only read must not lose its connection at each write.
 */
function createPrimarySearch(now: () => number = () => performance.now()) {
  let searchedAtMs = Number.NEGATIVE_INFINITY
  return ({ message }: Error): boolean => {
    if (!message.includes('READONLY') || now() - searchedAtMs < SEARCH_EVERY_MS) return false
    searchedAtMs = now()
    return true
  }
}

/** ioredis types a client by its reply mapping; this one uses the default. */
type Options = Omit<RedisOptions, 'replyMapping'>

function sentinelOptions(target: RedisTarget, sentinel: SentinelTarget, common: Options): Options {
  const { username, password } = sentinel.credentials ?? {}
  return {
    sentinels: target.addresses.map((address) => ({ ...address })),
    name: sentinel.masterName,
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(common.tls ? { enableTLSForSentinelMode: true, sentinelTLS: common.tls } : {}),
    ...(common.connectTimeout === undefined ? {} : { sentinelCommandTimeout: common.connectTimeout }),
    sentinelRetryStrategy: (attempt) => backoffMs(attempt),
  }
}

function createCluster(target: RedisTarget, redisOptions: Options, connectTimeoutMs: number): Cluster {
  const cluster = new Cluster([...target.addresses], {
    redisOptions,
    scripts: SCRIPTS,
    enableOfflineQueue: false,
    // keeps host names, because certificates contain names; the sockets resolve them
    dnsLookup: ((address, callback) => callback(null, address)) satisfies DNSLookupFunction,
    slotsRefreshTimeout: connectTimeoutMs,
    slotsRefreshInterval: 5000,
    clusterRetryStrategy: (attempt) => backoffMs(attempt),
    // a command whose connection broke may have been executed
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  })
  // Without a queue, ioredis rejects a command for a node that is being connected, but connects a
  // node that is not. Primaries are connected as soon as their slots are known, before commands
  // arrive; not earlier, because the first command is that of ioredis itself (CLUSTER INFO, to any
  // primary), without which the cluster is never ready.
  const connectPrimary = (node: Redis) => {
    // 'node error' has the reason
    if (!node.options.readOnly && node.status === 'wait') node.connect().catch(() => {})
  }
  cluster.on('ready', () => cluster.nodes('master').forEach(connectPrimary))
  cluster.on('+node', (node: Redis) => cluster.status === 'ready' && connectPrimary(node))
  return cluster
}

function reportState(client: Redis | Cluster, onEvent: (event: StoreEvent) => void = () => {}): void {
  let isConnected = false
  let reason = NOT_CONNECTED

  const onError = (error: unknown) => {
    const { code = NOT_CONNECTED } = redisFailure(error)
    if (code !== NOT_CONNECTED) reason = code // else the error follows from an earlier one
    if (code === SENTINELS_UNREACHABLE) onEvent({ event: 'store_reconnecting', reason })
    // If SELECT fails, ioredis reports it and continues with database 0. Nothing else may be sent
    // on this connection.
    if (client.status === 'connect' && !client.isCluster) client.disconnect(true)
  }
  client.on('error', onError)
  client.on('node error', onError)
  client.on('ready', () => {
    isConnected = true
    reason = 'connection lost'
    onEvent({ event: 'store_connected' })
  })
  client.on('reconnecting', () => {
    onEvent({ event: isConnected ? 'store_disconnected' : 'store_reconnecting', reason })
    isConnected = false
  })
}
