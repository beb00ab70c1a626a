import { X509Certificate } from 'node:crypto'
import type { DNSLookupFunction, RedisOptions } from 'ioredis'
import { Cluster, Redis } from 'ioredis'
import { connectionLost, databaseNotFound, notConnected, toRedisFailure } from './redis-errors.ts'
import { defineBatch } from './redis-scripts.ts'
import type { RedisTarget, SentinelTarget } from './redis-url.ts'

export interface RedisClientOptions {
  readonly target: RedisTarget
  /** PEM of a private certificate authority, for the TLS schemes. */
  readonly ca?: string
  /** The time limit of every command, repetitions included. */
  readonly commandTimeoutMs: number
  readonly connectTimeoutMs: number
}

/**
 * A client for standalone Redis, Sentinel or Redis Cluster. It connects in the background and never stops trying. It has no offline
 * queue: a command that cannot be sent fails at once, and a command in flight fails when the connection breaks. (A queued command
 * would be executed long after its caller was told that it failed.) The caller enforces the time limit of a command.
 */
export function createRedisClient({
  target,
  ca,
  commandTimeoutMs,
  connectTimeoutMs,
}: RedisClientOptions): Redis | Cluster {
  if (ca !== undefined) new X509Certificate(ca) // throws here instead of at every attempt to connect
  const common = {
    ...target.credentials,
    ...(target.tls ? { tls: ca === undefined ? {} : { ca } } : {}),
    connectTimeout: connectTimeoutMs,
    // Closes a connection on which the server reads and never answers. Otherwise commands would pile up.
    socketTimeout: 2 * commandTimeoutMs,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    disableClientInfo: true, // the Redis user then needs one right less
  } satisfies Options

  const client =
    target.form === 'cluster'
      ? new StrictCluster([...target.addresses], clusterOptions(common, connectTimeoutMs))
      : new StrictRedis({
          ...common,
          ...(target.sentinel ? sentinelOptions(target, target.sentinel, common) : target.addresses[0]),
          db: target.db,
          enableOfflineQueue: false,
          enableAutoPipelining: true,
          autoPipeliningIgnoredCommands: ['gatehouseBatch'], // already a batch
          retryStrategy: (attempt) => backoffMs(attempt),
          reconnectOnError: createReadOnlyCheck(),
        })
  defineBatch(client)
  return client
}

/**
 * If SELECT is refused, ioredis reports the error and continues with database 0. This client disconnects instead, as after a
 * refused password: it emits the error, sends nothing else on this connection, and connects again later.
 */
class StrictRedis extends Redis {
  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const [command] = args
    if (command.name === 'select') this.#disconnectIfRefused(command)
    return rejectUnsent(command, () => super.sendCommand(...args))
  }

  #disconnectIfRefused(select: Command): void {
    const { reject } = select
    select.reject = (error: Error) => {
      const failure = error.name === 'ReplyError' ? toRedisFailure(error, connectionLost) : undefined
      if (failure === undefined) return reject(error)
      select.reject = () => {} // must stay pending: otherwise ioredis would treat the connection as ready
      this.silentEmit('error', failure.code === 'ERR' ? databaseNotFound() : failure)
      this.disconnect(true)
    }
  }
}

/** ioredis connects to a cluster node when it is first needed, and rejects commands for the node until the connection is ready. */
class StrictCluster extends Cluster {
  override sendCommand(...args: Parameters<Cluster['sendCommand']>): unknown {
    return rejectUnsent(args[0], () => super.sendCommand(...args))
  }
}

type Command = Parameters<Redis['sendCommand']>[0]

/** A command that ioredis rejects synchronously was not sent. The error of ioredis does not say so. */
function rejectUnsent<Reply>(command: Command, send: () => Reply): Reply {
  const { reject } = command
  let isSending = true
  command.reject = (error: Error) => reject(isSending ? notConnected() : error)
  try {
    return send()
  } finally {
    isSending = false
  }
}

/** 50 ms, doubled with every attempt up to 2 s, with up to 50% of random jitter, so that replicas do not reconnect together. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(2000, 50 * 2 ** Math.min(attempt - 1, 10))
  return Math.round(full * (0.5 + random() / 2))
}

/**
 * A primary that was demoted to a replica keeps its connections open. Reconnecting finds the new primary. The rate is limited: before
 * a new primary exists, every write would open a connection.
 */
function createReadOnlyCheck(): (error: Error) => boolean {
  let reconnectedAt = Number.NEGATIVE_INFINITY
  return (error) => {
    const isReadOnly = toRedisFailure(error, connectionLost)?.code === 'READONLY'
    if (!isReadOnly || performance.now() - reconnectedAt < READONLY_RECONNECT_INTERVAL_MS) return false
    reconnectedAt = performance.now()
    return true
  }
}

const READONLY_RECONNECT_INTERVAL_MS = 500
const DISCONNECT_TIMEOUT_MS = 500

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

function clusterOptions(redisOptions: Options, connectTimeoutMs: number) {
  return {
    redisOptions,
    enableOfflineQueue: false,
    // Must be off: while a node is down, ioredis may reject one command of a pipeline and wait for replies to the others without
    // sending them. Each later reply on that connection would then go to the wrong command.
    enableAutoPipelining: false,
    // keeps host names, because certificates contain names; the sockets resolve them
    dnsLookup: ((address, callback) => callback(null, address)) satisfies DNSLookupFunction,
    slotsRefreshTimeout: connectTimeoutMs,
    slotsRefreshInterval: 5000,
    clusterRetryStrategy: (attempt: number) => backoffMs(attempt),
    // the store decides whether a command is sent again: only it knows whether the caller has already been answered
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  }
}
