import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import { storeUnavailable } from '../errors.ts'
import { type CallRedis, createRedisBatch } from './redis-batch.ts'
import { backoffMs, createRedisClient, type RedisClientOptions } from './redis-client.ts'
import {
  connectionLost,
  RedisFailure,
  sentinelsUnreachable,
  timeout,
  toRedisFailure,
  toStoreError,
} from './redis-errors.ts'
import { parseRedisUrl } from './redis-url.ts'
import { tlsMismatch } from './tls-mismatch.ts'

export interface RedisConnection {
  readonly isCluster: boolean
  /** Whether commands can be sent now. */
  isReady(): boolean
  /**
   * Runs a command within its time limit: waits for a connection, sends the command, and repeats it where that is safe.
   * Throws `storeUnavailable` for every failure of Redis or of the connection.
   */
  run<Reply>(command: RedisCommand<Reply>, isRepeatable: boolean): Promise<Reply>
  /** Waits for running commands, up to the time limit, and disconnects. */
  close(): Promise<void>
}

export type RedisCommand<Reply> = (call: CallRedis) => Promise<Reply>

/** For the log. */
export type StoreEvent =
  | { readonly event: 'store_connected' | 'store_url_changed' }
  | {
      readonly event: 'store_disconnected' | 'store_reconnecting' | 'store_url_unusable'
      /** A short code such as `ECONNREFUSED` or `WRONGPASS`, never a URL, an address or a password. */
      readonly reason: string
    }

export interface RedisConnectionOptions extends Omit<RedisClientOptions, 'target'> {
  readonly url: string
  readonly onEvent?: (event: StoreEvent) => void
}

/** Returns at once and connects in the background, so Redis may start later. */
export function createRedisConnection(
  options: RedisConnectionOptions,
  client = createRedisClient({ target: parseRedisUrl(options.url), ...options }),
): RedisConnection {
  return new ClientConnection(options, client)
}

class ClientConnection implements RedisConnection {
  readonly #client: Redis | Cluster
  /** Also: after this time without a connection, commands fail at once instead of waiting for one. */
  readonly #timeoutMs: number
  readonly #onEvent: (event: StoreEvent) => void
  readonly #call: CallRedis
  /** Finds a reason that the client's errors do not name. Not used any more once there has been a connection. */
  #diagnose: (() => Promise<string | undefined>) | undefined
  #diagnosis: string | undefined
  #failure = new RedisFailure('not connected', 'unavailable')
  /** Undefined while connected. */
  #disconnectedAt: number | undefined = performance.now()
  #attempts = 0
  #running = 0
  #pausing: Promise<void> | undefined
  #onIdle = () => {}
  #closing: Promise<void> | undefined

  constructor(options: RedisConnectionOptions, client: Redis | Cluster) {
    const { url, commandTimeoutMs, connectTimeoutMs, onEvent = () => {} } = options
    this.#client = client
    this.#timeoutMs = commandTimeoutMs
    this.#onEvent = onEvent
    this.#call = createRedisBatch(client)
    this.#diagnose = () => tlsMismatch(parseRedisUrl(url), connectTimeoutMs)
    client.on('error', (error) => this.#onError(error))
    client.on('node error', (error) => this.#onError(error))
    client.on('ready', () => this.#onReady())
    client.on('close', () => this.#onClose())
    client.on('reconnecting', () => this.#onAttempt())
    client.on('end', () => this.#reconnect())
  }

  get isCluster(): boolean {
    return this.#client.isCluster
  }

  isReady(): boolean {
    return this.#client.status === 'ready'
  }

  async run<Reply>(command: RedisCommand<Reply>, isRepeatable: boolean): Promise<Reply> {
    if (this.#closing) throw storeUnavailable(new RedisFailure('closed', 'unavailable'))
    this.#running += 1
    try {
      return await this.#runUntil(performance.now() + this.#timeoutMs, command, isRepeatable)
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#onIdle()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#disconnect()
    return this.#closing
  }

  async #runUntil<Reply>(
    deadline: number,
    command: RedisCommand<Reply>,
    isRepeatable: boolean,
  ): Promise<Reply> {
    for (let failure: RedisFailure | undefined; ; await this.#pause()) {
      if (!this.isReady()) {
        if (isTooLate(deadline) || this.#isUnreachable())
          throw toStoreError(failure ?? this.#connectFailure())
        continue
      }
      try {
        return await withDeadline(command(this.#call), deadline)
      } catch (error) {
        const current = toRedisFailure(error, connectionLost)
        if (current === undefined) throw error
        // an earlier reply of Redis is a better reason than a time-out of the last attempt
        if (failure === undefined || current.code !== 'timeout') failure = current
        const { effect } = current
        const canRepeat = effect === 'not-executed' || (effect === 'unknown' && isRepeatable)
        if (!canRepeat || isTooLate(deadline)) throw toStoreError(failure)
      }
    }
  }

  /** One pause for all waiting commands, so that they continue in the order of their calls. */
  #pause(): Promise<void> {
    this.#pausing ??= delay(RETRY_MS).then(() => {
      this.#pausing = undefined
    })
    return this.#pausing
  }

  /** Disconnected for longer than the time limit, or an attempt to connect failed while closing. */
  #isUnreachable(): boolean {
    const disconnectedMs = performance.now() - (this.#disconnectedAt ?? performance.now())
    return disconnectedMs > this.#timeoutMs || (this.#closing !== undefined && this.#attempts > 0)
  }

  /** The last error of Redis or the system; the diagnosis if that error is unspecific. */
  #connectFailure(): RedisFailure {
    const { code, outcome } = this.#failure
    if (this.#diagnosis !== undefined && UNSPECIFIC.test(code))
      return new RedisFailure(this.#diagnosis, 'unavailable')
    return new RedisFailure(code, 'unavailable', outcome)
  }

  #onReady(): void {
    this.#disconnectedAt = undefined
    this.#diagnose = undefined
    this.#diagnosis = undefined
    this.#attempts = 0
    this.#failure = connectionLost() // replaces the reason why connecting failed before
    this.#onEvent({ event: 'store_connected' })
  }

  #onClose(): void {
    if (this.#disconnectedAt !== undefined) return
    this.#disconnectedAt = performance.now()
    if (!this.#closing) this.#onEvent({ event: 'store_disconnected', reason: this.#failure.code })
  }

  #onError(error: unknown): void {
    // The client emits two errors without a code: no sentinel answered in this round, and a reply is overdue.
    const isConnecting = !this.isCluster && this.#client.status === 'connecting'
    const unnamed = isConnecting ? sentinelsUnreachable() : timeout()
    this.#failure = toRedisFailure(error, () => unnamed) ?? connectionLost()
    if (isConnecting && this.#failure === unnamed) this.#onAttempt() // no `reconnecting` is emitted for a round
  }

  #onAttempt(): void {
    if (this.#closing) return
    this.#attempts += 1
    this.#onEvent({ event: 'store_reconnecting', reason: this.#connectFailure().code })
    if (UNSPECIFIC.test(this.#failure.code))
      void this.#diagnose?.().then((found) => {
        if (this.#diagnose !== undefined) this.#diagnosis = found
      })
  }

  /** The client stops trying if it cannot start to connect. */
  #reconnect(): void {
    if (this.#closing) return
    this.#attempts += 1
    setTimeout(() => {
      if (!this.#closing) this.#client.connect().catch(() => {}) // reported as an `error` event
    }, backoffMs(this.#attempts)).unref()
  }

  /** Waits for running commands, sends QUIT, and after the time limit disconnects in any case. */
  async #disconnect(): Promise<void> {
    const limit = delay(this.#timeoutMs, undefined, { ref: false })
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#running > 0) await Promise.race([idle, limit])
    if (this.isReady()) await Promise.race([this.#client.quit().catch(() => {}), limit])
    if (this.#client.status !== 'end') this.#client.disconnect()
  }
}

const RETRY_MS = 25
/** Too late for another attempt. */
const isTooLate = (deadline: number) => performance.now() + RETRY_MS >= deadline

/** Errors that a TLS mismatch can cause. */
const UNSPECIFIC =
  /^(ETIMEDOUT|ECONNRESET|EPIPE|EPROTO|ERR_SSL_\w+|timeout|not connected|connection lost|sentinels unreachable|cluster unreachable)$/

function withDeadline<Reply>(reply: Promise<Reply>, deadline: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timeout()), deadline - performance.now())
    reply.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
