import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import { type CallRedis, createRedisBatch } from './redis-batch.ts'
import { backoffMs, createRedisClient, type RedisClientOptions } from './redis-client.ts'
import {
  connectionLost,
  failureOf,
  RedisFailure,
  SENTINELS_UNREACHABLE,
  sentinelsUnreachable,
  thrownFor,
  timeout,
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

/** For the log. `reason` is a short code such as `ECONNREFUSED` or `WRONGPASS`, never a URL, an address or a password. */
export interface ConnectionEvent {
  readonly event: 'store_connected' | 'store_lost' | 'store_reconnecting'
  readonly reason?: string
}

export interface RedisConnectionOptions extends Omit<RedisClientOptions, 'target'> {
  readonly url: string
  /** No command takes longer than this, whatever happens. */
  readonly commandTimeoutMs: number
  readonly onEvent?: (event: ConnectionEvent) => void
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
  readonly onEvent?: ((event: ConnectionEvent) => void) | undefined
}

export function createRedisConnection(parts: Parts): RedisConnection {
  return new WatchedClient(parts)
}

class WatchedClient implements RedisConnection {
  readonly isCluster: boolean
  readonly #parts: Parts
  readonly #client: Redis | Cluster
  readonly #call: CallRedis
  readonly #waiting = new Set<(isReady: boolean) => void>()
  #failure = new RedisFailure('not connected', 'final')
  #diagnosis: string | undefined
  #lostAt: number | undefined = performance.now()
  #wasReady = false
  #wasEverReady = false
  #attempts = 0
  #running = 0
  #onIdle = () => {}
  #closing: Promise<void> | undefined

  constructor(parts: Parts) {
    const { client } = parts
    this.#parts = parts
    this.#client = client
    this.#call = createRedisBatch(client)
    this.isCluster = client.isCluster
    client.on('error', (error) => this.#noteError(error))
    client.on('node error', (error) => this.#noteError(error))
    client.on('ready', () => this.#noteReady())
    client.on('close', () => this.#noteClose())
    client.on('reconnecting', () => this.#noteAttempt())
    client.on('end', () => this.#connectAgain())
  }

  isReady(): boolean {
    return this.#client.status === 'ready'
  }

  async run<Reply>(command: RedisCommand<Reply>, isRepeatable: boolean): Promise<Reply> {
    const deadline = performance.now() + this.#parts.boundMs
    this.#running += 1
    try {
      return await this.#runUntil(deadline, command, isRepeatable)
    } catch (error) {
      throw error instanceof RedisFailure ? thrownFor(error) : error
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#onIdle()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave()
    if (this.#attempts > 0) this.#endWaiting(false) // connecting has failed already: closing does not wait for another attempt
    return this.#closing
  }

  async #runUntil<Reply>(
    deadline: number,
    command: RedisCommand<Reply>,
    isRepeatable: boolean,
  ): Promise<Reply> {
    for (let told: RedisFailure | undefined; ; await delay(RETRY_MS)) {
      const notReady = await this.#untilReady(deadline)
      if (notReady !== undefined) throw told ?? notReady
      try {
        return await within(command(this.#call), deadline)
      } catch (error) {
        const failure = failureOf(error, connectionLost)
        if (failure === undefined) throw error
        // What Redis said before says more than that no answer came in time.
        if (told === undefined || failure.code !== 'timeout') told = failure
        const canRepeat = failure.effect === 'unsent' || (failure.effect === 'unknown' && isRepeatable)
        if (!canRepeat || performance.now() + RETRY_MS >= deadline) throw told
      }
    }
  }

  /** undefined: commands can be sent now. */
  async #untilReady(deadline: number): Promise<RedisFailure | undefined> {
    if (this.#closing) return new RedisFailure('closed', 'final')
    if (this.isReady()) return undefined
    const lostForMs = performance.now() - (this.#lostAt ?? performance.now())
    if (lostForMs > this.#parts.boundMs) return this.#whyNotReady()
    const isReady = await new Promise<boolean>((resolve) => {
      const end = (isReady: boolean) => {
        clearTimeout(timer)
        this.#waiting.delete(end)
        resolve(isReady)
      }
      const timer = setTimeout(end, deadline - performance.now(), false)
      this.#waiting.add(end)
    })
    return isReady ? undefined : this.#whyNotReady()
  }

  #endWaiting(isReady: boolean): void {
    for (const end of [...this.#waiting]) end(isReady)
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
    this.#wasReady = true
    this.#wasEverReady = true
    this.#diagnosis = undefined
    this.#attempts = 0
    this.#failure = connectionLost() // until an error names the reason: the reason of the last loss is over
    this.#parts.onEvent?.({ event: 'store_connected' })
    this.#endWaiting(true)
  }

  #noteClose(): void {
    this.#lostAt ??= performance.now()
    if (this.#wasReady && !this.#closing)
      this.#parts.onEvent?.({ event: 'store_lost', reason: this.#failure.code })
    this.#wasReady = false
  }

  #noteError(error: unknown): void {
    // The client emits two errors without a code: no sentinel has answered in this round, and an answer is overdue.
    const isConnecting = !this.isCluster && this.#client.status === 'connecting'
    this.#failure = failureOf(error, isConnecting ? sentinelsUnreachable : timeout) ?? connectionLost()
    if (this.#failure.code === SENTINELS_UNREACHABLE) this.#noteAttempt() // no `reconnecting` is emitted for a round
  }

  #noteAttempt(): void {
    if (this.#closing) return
    this.#attempts += 1
    this.#parts.onEvent?.({ event: 'store_reconnecting', reason: this.#whyNotReady().code })
    if (!this.#wasEverReady && SAYS_LITTLE.test(this.#failure.code))
      void this.#parts.diagnose?.().then((found) => {
        if (!this.#wasEverReady) this.#diagnosis = found
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
    const bound = delay(this.#parts.boundMs, undefined, { ref: false })
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#running > 0) await Promise.race([idle, bound])
    if (this.isReady()) await Promise.race([this.#client.quit().catch(() => {}), bound]) // it is cut below
    if (this.#client.status !== 'end') this.#client.disconnect()
  }
}

const RETRY_MS = 25

/** What a connection ends in if one side takes it for TLS and the other does not. */
const SAYS_LITTLE =
  /^(ETIMEDOUT|ECONNRESET|EPIPE|EPROTO|ERR_SSL_\w+|timeout|not connected|connection lost|sentinels unreachable|cluster unreachable)$/

function within<Reply>(reply: Promise<Reply>, deadline: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timeout()), deadline - performance.now())
    reply.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
