import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import { storeUnavailable } from '../errors.ts'
import { type CallRedis, createRedisBatch } from './redis-batch.ts'
import { backoffMs, createRedisClient, type RedisClientOptions } from './redis-client.ts'
import {
  connectionLost,
  RedisFailure,
  SENTINELS_UNREACHABLE,
  sentinelsUnreachable,
  timeout,
  toRedisFailure,
  toStoreError,
} from './redis-errors.ts'
import { parseRedisUrl } from './redis-url.ts'
import { tlsMismatch } from './tls-mismatch.ts'

export interface RedisConnection {
  readonly isCluster: boolean
  /** Commands can be sent now. */
  isReady(): boolean
  /**
   * Runs a command within the bound: waits for a connection, sends it, and sends it again if that cannot change its meaning.
   * Throws `storeUnavailable` for every failure of Redis or of the way to it.
   */
  run<Reply>(command: RedisCommand<Reply>, isRepeatable: boolean): Promise<Reply>
  /** Waits for running commands, within a bound, then leaves. */
  close(): Promise<void>
}

export type RedisCommand<Reply> = (call: CallRedis) => Promise<Reply>

/** For the log: what the connection meets, and what becomes of a changed URL. */
export interface StoreEvent {
  readonly event: 'store_connected' | 'store_lost' | 'store_reconnecting' | 'store_moved' | 'store_move_waits'
  /** A short code such as `ECONNREFUSED` or `WRONGPASS`, never a URL, an address or a password. */
  readonly reason?: string
}

export interface RedisConnectionOptions extends Omit<RedisClientOptions, 'target'> {
  readonly url: string
  readonly onEvent?: (event: StoreEvent) => void
}

/** Returns at once and connects in the background, so Redis need not be there yet. */
export function openRedisConnection({ url, onEvent, ...options }: RedisConnectionOptions): RedisConnection {
  const target = parseRedisUrl(url)
  return createRedisConnection({
    client: createRedisClient({ target, ...options }),
    boundMs: options.commandTimeoutMs,
    diagnose: () => tlsMismatch(target, options.connectTimeoutMs),
    onEvent,
  })
}

interface Parts {
  readonly client: Redis | Cluster
  /** No command takes longer. Without a connection for longer than this, commands fail at once instead of waiting for one. */
  readonly boundMs: number
  /** Finds a reason that the client's own errors do not name; asked until there has been a connection. */
  readonly diagnose?: () => Promise<string | undefined>
  readonly onEvent?: ((event: StoreEvent) => void) | undefined
}

export function createRedisConnection(parts: Parts): RedisConnection {
  return new WatchedClient(parts)
}

class WatchedClient implements RedisConnection {
  readonly #client: Redis | Cluster
  readonly #boundMs: number
  readonly #onEvent: (event: StoreEvent) => void
  readonly #call: CallRedis
  #diagnose: Parts['diagnose']
  #diagnosis: string | undefined
  #failure = new RedisFailure('not connected', 'final')
  /** undefined while there is a connection. */
  #lostAt: number | undefined = performance.now()
  #attempts = 0
  #running = 0
  #pausing: Promise<void> | undefined
  #onIdle = () => {}
  #closing: Promise<void> | undefined

  constructor({ client, boundMs, diagnose, onEvent = () => {} }: Parts) {
    this.#client = client
    this.#boundMs = boundMs
    this.#diagnose = diagnose
    this.#onEvent = onEvent
    this.#call = createRedisBatch(client)
    client.on('error', (error) => this.#noteError(error))
    client.on('node error', (error) => this.#noteError(error))
    client.on('ready', () => this.#noteReady())
    client.on('close', () => this.#noteClose())
    client.on('reconnecting', () => this.#noteAttempt())
    client.on('end', () => this.#connectAgain())
  }

  get isCluster(): boolean {
    return this.#client.isCluster
  }

  isReady(): boolean {
    return this.#client.status === 'ready'
  }

  async run<Reply>(command: RedisCommand<Reply>, isRepeatable: boolean): Promise<Reply> {
    if (this.#closing) throw storeUnavailable(new RedisFailure('closed', 'final'))
    this.#running += 1
    try {
      return await this.#attemptUntil(performance.now() + this.#boundMs, command, isRepeatable)
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#onIdle()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave()
    return this.#closing
  }

  async #attemptUntil<Reply>(
    deadline: number,
    command: RedisCommand<Reply>,
    isRepeatable: boolean,
  ): Promise<Reply> {
    for (let told: RedisFailure | undefined; ; await this.#pause()) {
      if (!this.isReady()) {
        if (isLate(deadline) || this.#isAway()) throw toStoreError(told ?? this.#whyNotReady())
        continue
      }
      try {
        return await within(command(this.#call), deadline)
      } catch (error) {
        const failure = toRedisFailure(error, connectionLost)
        if (failure === undefined) throw error
        // What Redis said before says more than that no answer came in time.
        if (told === undefined || failure.code !== 'timeout') told = failure
        const canRepeat = failure.effect === 'unsent' || (failure.effect === 'unknown' && isRepeatable)
        if (!canRepeat || isLate(deadline)) throw toStoreError(told)
      }
    }
  }

  /** One pause for all that wait, so that they go on in the order in which they were asked for. */
  #pause(): Promise<void> {
    this.#pausing ??= delay(RETRY_MS).then(() => {
      this.#pausing = undefined
    })
    return this.#pausing
  }

  /** There has been no connection for long, or connecting has failed and the connection is closed. */
  #isAway(): boolean {
    const lostForMs = performance.now() - (this.#lostAt ?? performance.now())
    return lostForMs > this.#boundMs || (this.#closing !== undefined && this.#attempts > 0)
  }

  /** What Redis or the system said, if it says anything; else what was found out. */
  #whyNotReady(): RedisFailure {
    if (this.#diagnosis !== undefined && SAYS_LITTLE.test(this.#failure.code))
      return new RedisFailure(this.#diagnosis, 'final')
    const { code, outcome } = this.#failure
    return new RedisFailure(code, 'final', outcome)
  }

  #noteReady(): void {
    this.#lostAt = undefined
    this.#diagnose = undefined
    this.#diagnosis = undefined
    this.#attempts = 0
    this.#failure = connectionLost() // until an error names the reason: what kept us from connecting is over
    this.#onEvent({ event: 'store_connected' })
  }

  #noteClose(): void {
    if (this.#lostAt !== undefined) return
    this.#lostAt = performance.now()
    if (!this.#closing) this.#onEvent({ event: 'store_lost', reason: this.#failure.code })
  }

  #noteError(error: unknown): void {
    // The client emits two errors without a code: no sentinel has answered in this round, and an answer is overdue.
    const isConnecting = !this.isCluster && this.#client.status === 'connecting'
    this.#failure = toRedisFailure(error, isConnecting ? sentinelsUnreachable : timeout) ?? connectionLost()
    if (this.#failure.code === SENTINELS_UNREACHABLE) this.#noteAttempt() // no `reconnecting` is emitted for a round
  }

  #noteAttempt(): void {
    if (this.#closing) return
    this.#attempts += 1
    this.#onEvent({ event: 'store_reconnecting', reason: this.#whyNotReady().code })
    if (SAYS_LITTLE.test(this.#failure.code))
      void this.#diagnose?.().then((found) => {
        if (this.#diagnose !== undefined) this.#diagnosis = found
      })
  }

  /** The client has stopped trying, because it could not even begin to connect. */
  #connectAgain(): void {
    if (this.#closing) return
    this.#attempts += 1
    setTimeout(() => {
      if (!this.#closing) this.#client.connect().catch(() => {}) // an `error` event says why
    }, backoffMs(this.#attempts)).unref()
  }

  /** Waits for running commands, then says goodbye to Redis. After the bound, the connection is cut in any case. */
  async #leave(): Promise<void> {
    const bound = delay(this.#boundMs, undefined, { ref: false })
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#running > 0) await Promise.race([idle, bound])
    if (this.isReady()) await Promise.race([this.#client.quit().catch(() => {}), bound]) // it is cut below
    if (this.#client.status !== 'end') this.#client.disconnect()
  }
}

const RETRY_MS = 25
/** Too late for another attempt. */
const isLate = (deadline: number) => performance.now() + RETRY_MS >= deadline

/** What a connection ends in if one side takes it for TLS and the other does not. */
const SAYS_LITTLE =
  /^(ETIMEDOUT|ECONNRESET|EPIPE|EPROTO|ERR_SSL_\w+|timeout|not connected|connection lost|sentinels unreachable|cluster unreachable)$/

function within<Reply>(reply: Promise<Reply>, deadline: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timeout()), deadline - performance.now())
    reply.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
