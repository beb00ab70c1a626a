import { setTimeout as delay } from 'node:timers/promises'
import { BrokerError } from '../errors.ts'
import {
  openRedisConnection,
  type RedisCommand,
  type RedisConnection,
  type RedisConnectionOptions,
  type StoreEvent,
} from './redis-connection.ts'
import { RedisFailure } from './redis-errors.ts'
import { probeRedis } from './redis-probe.ts'

/** A `REDIS_URL` that may change while the broker runs. */
export interface ReloadableUrl {
  current(): string
  /** Returns how to stop listening. */
  onChange(listener: (url: string) => void): () => void
}

export interface ReconnectingConnectionOptions extends Omit<RedisConnectionOptions, 'url'> {
  readonly url: ReloadableUrl
}

/** The connection in use, the next one, or one that was left and still ends its commands. */
interface Member {
  readonly url: string
  readonly connection: RedisConnection
}

/** How soon a new URL that could not be used is tried again. */
const TRY_AGAIN_MS = 250

/**
 * A connection that is replaced when its URL changes. A living one is left only for one that has just taken a write, so
 * that a mistaken URL takes nothing away: `store_move_waits` says why nothing happens, and the new URL is tried until
 * it works or is changed again.
 *
 * Nothing is copied. Commands that run on the old connection end there.
 */
export function createReconnectingConnection(options: ReconnectingConnectionOptions): RedisConnection {
  return new ReconnectingConnection(options)
}

class ReconnectingConnection implements RedisConnection {
  readonly #options: ReconnectingConnectionOptions
  readonly #opened = new Set<Member>()
  readonly #stopListening: () => void
  #inUse: Member
  #next: Member | undefined

  constructor(options: ReconnectingConnectionOptions) {
    this.#options = options
    this.#inUse = this.#open(options.url.current())
    this.#stopListening = options.url.onChange((url) => this.#change(url))
  }

  get isCluster(): boolean {
    return this.#inUse.connection.isCluster
  }

  isReady(): boolean {
    return this.#inUse.connection.isReady()
  }

  run<Reply>(command: RedisCommand<Reply>, isRepeatable: boolean): Promise<Reply> {
    return this.#inUse.connection.run(command, isRepeatable)
  }

  async close(): Promise<void> {
    this.#stopListening()
    this.#next = undefined
    await Promise.all([...this.#opened].map(({ connection }) => connection.close()))
  }

  #open(url: string): Member {
    const onEvent = (event: StoreEvent) => {
      if (member === this.#inUse) this.#options.onEvent?.(event)
    }
    const member: Member = { url, connection: openRedisConnection({ ...this.#options, url, onEvent }) }
    this.#opened.add(member)
    return member
  }

  #change(url: string): void {
    // A change that was taken back needs no new connection. A URL that cannot be read throws here, and changes nothing.
    const fresh = url === this.#inUse.url ? undefined : this.#open(url)
    if (this.#next !== undefined) this.#leave(this.#next)
    this.#next = fresh
    if (fresh === undefined) return
    if (this.isReady()) void this.#moveOnceUsable(fresh)
    else this.#moveTo(fresh)
  }

  async #moveOnceUsable(fresh: Member): Promise<void> {
    let told: string | undefined
    while (fresh === this.#next) {
      const reason = await fresh.connection.run(probeRedis, true).then(() => undefined, reasonOf)
      if (fresh !== this.#next) return
      if (reason === undefined) return this.#moveTo(fresh)
      if (reason !== told) this.#options.onEvent?.({ event: 'store_move_waits', reason })
      told = reason
      await delay(TRY_AGAIN_MS, undefined, { ref: false })
    }
  }

  #moveTo(fresh: Member): void {
    const left = this.#inUse
    this.#inUse = fresh
    this.#next = undefined
    this.#options.onEvent?.({ event: 'store_moved' })
    this.#leave(left)
  }

  #leave(member: Member): void {
    void member.connection.close().then(() => this.#opened.delete(member))
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof BrokerError ? error.cause : error
  return cause instanceof RedisFailure ? cause.code : 'unexpected error'
}
