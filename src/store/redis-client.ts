import { X509Certificate } from 'node:crypto'
import type { DNSLookupFunction, RedisOptions } from 'ioredis'
import { Cluster, Redis } from 'ioredis'
import { connectionLost, databaseNotFound, notConnected, toRedisFailure } from './redis-errors.ts'
import { defineBatch } from './redis-scripts.ts'
import type { RedisTarget, SentinelTarget } from './redis-url.ts'

export interface RedisClientOptions {
  readonly target: RedisTarget
  /** A private certificate authority, as PEM text; used by the TLS schemes. */
  readonly ca?: string
  /** No command takes longer than this, whatever happens. */
  readonly commandTimeoutMs: number
  readonly connectTimeoutMs: number
}

/**
 * A client for the target's form of Redis. It connects by itself and never stops trying. It has no queue: a command that cannot be
 * sent now fails now, and one that was under way when the connection broke fails with it. (From a queue it would be carried out long
 * after its caller was told that it failed.) It has no bound for a command either: the caller has one.
 */
export function createRedisClient({
  target,
  ca,
  commandTimeoutMs,
  connectTimeoutMs,
}: RedisClientOptions): Redis | Cluster {
  if (ca !== undefined) new X509Certificate(ca) // throws now, not on every attempt to connect
  const common = {
    ...target.credentials,
    ...(target.tls ? { tls: ca === undefined ? {} : { ca } } : {}),
    connectTimeout: connectTimeoutMs,
    // If a server takes our bytes and does not answer, the connection is given up. Else commands would pile up in it.
    socketTimeout: 2 * commandTimeoutMs,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    disableClientInfo: true, // one right less that the Redis user needs
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
          autoPipeliningIgnoredCommands: ['gatehouseBatch'], // it is a batch already
          retryStrategy: (attempt) => backoffMs(attempt),
          reconnectOnError: leavesReadOnly(),
        })
  defineBatch(client)
  return client
}

/**
 * ioredis reports a refused SELECT and then uses database 0. This client gives the connection up, as after a refused
 * password: it emits the error, sends nothing else on this connection, and connects again later.
 */
class StrictRedis extends Redis {
  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const [command] = args
    if (command.name === 'select') this.#giveUpIfRefused(command)
    return rejectUnsent(command, () => super.sendCommand(...args))
  }

  #giveUpIfRefused(select: Command): void {
    const { reject } = select
    select.reject = (error: Error) => {
      const failure = error.name === 'ReplyError' ? toRedisFailure(error, connectionLost) : undefined
      if (failure === undefined) return reject(error)
      select.reject = () => {} // stays pending: if it were settled, ioredis would take the connection for ready
      this.silentEmit('error', failure.code === 'ERR' ? databaseNotFound() : failure)
      this.disconnect(true)
    }
  }
}

/** ioredis connects to a node of a cluster when the node is first needed, and rejects commands for it until the connection is ready. */
class StrictCluster extends Cluster {
  override sendCommand(...args: Parameters<Cluster['sendCommand']>): unknown {
    return rejectUnsent(args[0], () => super.sendCommand(...args))
  }
}

type Command = Parameters<Redis['sendCommand']>[0]

/** A command that ioredis rejects at once was not sent. Its own error leaves open what Redis has done. */
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

/** 50 ms, doubled with every attempt up to 2 s, and by chance up to half of it less, so that replicas spread. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(2000, 50 * 2 ** Math.min(attempt - 1, 10))
  return Math.round(full * (0.5 + random() / 2))
}

/**
 * A primary that became a replica keeps our connection: leave it, and find the new primary. Not at every refusal: where
 * there is no other one yet, each write would cost a connection.
 */
function leavesReadOnly(): (error: Error) => boolean {
  let leftAt = Number.NEGATIVE_INFINITY
  return (error) => {
    const isReadOnly = toRedisFailure(error, connectionLost)?.code === 'READONLY'
    if (!isReadOnly || performance.now() - leftAt < LEAVE_EVERY_MS) return false
    leftAt = performance.now()
    return true
  }
}

const LEAVE_EVERY_MS = 500
const DISCONNECT_TIMEOUT_MS = 500

/** ioredis types a client by its reply mapping; ours is always the default. */
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
    // No pipelines: while a node is away, ioredis may reject one command of a pipeline and wait for replies to the others
    // without sending them. Each later reply on that connection then goes to the wrong command.
    enableAutoPipelining: false,
    // Certificates name hosts, so let the names stand; the sockets resolve them.
    dnsLookup: ((address, callback) => callback(null, address)) satisfies DNSLookupFunction,
    slotsRefreshTimeout: connectTimeoutMs,
    slotsRefreshInterval: 5000,
    clusterRetryStrategy: (attempt: number) => backoffMs(attempt),
    // Sending a command again is the store's decision, not the client's: only the store knows when the caller was answered.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  }
}
