import { setTimeout as delay } from 'node:timers/promises'
import { BrokerError } from '../errors.ts'
import {
  createRedisConnection,
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
  /** Returns a function that removes the listener. */
  onChange(listener: (url: string) => void): () => void
}

export interface ReconnectingConnectionOptions extends Omit<RedisConnectionOptions, 'url'> {
  readonly url: ReloadableUrl
}

/** The active connection, the next one, or a replaced one that still finishes its commands. */
interface Member {
  readonly url: string
  readonly connection: RedisConnection
}

const RETRY_INTERVAL_MS = 250

/**
 * A connection that is replaced when its URL changes. A working connection is replaced only after a write on the new one has
 * succeeded, so a wrong URL causes no outage: `store_url_unusable` logs the reason, and the new URL is retried until it works or
 * changes again.
 *
 * No data is copied. Commands that run on the old connection finish there.
 */
export function createReconnectingConnection(options: ReconnectingConnectionOptions): RedisConnection {
  return new ReconnectingConnection(options)
}

class ReconnectingConnection implements RedisConnection {
  readonly #options: ReconnectingConnectionOptions
  readonly #opened = new Set<Member>()
  readonly #stopListening: () => void
  #active: Member
  #next: Member | undefined

  constructor(options: ReconnectingConnectionOptions) {
    this.#options = options
    this.#active = this.#open(options.url.current())
    this.#stopListening = options.url.onChange((url) => this.#change(url))
  }

  get isCluster(): boolean {
    return this.#active.connection.isCluster
  }

  isReady(): boolean {
    return this.#active.connection.isReady()
  }

  run<Reply>(command: RedisCommand<Reply>, isRepeatable: boolean): Promise<Reply> {
    return this.#active.connection.run(command, isRepeatable)
  }

  async close(): Promise<void> {
    this.#stopListening()
    this.#next = undefined
    await Promise.all([...this.#opened].map(({ connection }) => connection.close()))
  }

  #open(url: string): Member {
    const onEvent = (event: StoreEvent) => {
      if (member === this.#active) this.#options.onEvent?.(event)
    }
    const member: Member = { url, connection: createRedisConnection({ ...this.#options, url, onEvent }) }
    this.#opened.add(member)
    return member
  }

  #change(url: string): void {
    // The URL may have changed back. An invalid URL throws here, and nothing changes.
    const next = url === this.#active.url ? undefined : this.#open(url)
    if (this.#next !== undefined) this.#close(this.#next)
    this.#next = next
    if (next === undefined) return
    if (this.isReady()) void this.#activateOnceUsable(next)
    else this.#activate(next)
  }

  async #activateOnceUsable(next: Member): Promise<void> {
    let reported: string | undefined
    while (next === this.#next) {
      const reason = await next.connection.run(probeRedis, true).then(() => undefined, reasonOf)
      if (next !== this.#next) return
      if (reason === undefined) return this.#activate(next)
      if (reason !== reported) this.#options.onEvent?.({ event: 'store_url_unusable', reason })
      reported = reason
      await delay(RETRY_INTERVAL_MS, undefined, { ref: false })
    }
  }

  #activate(next: Member): void {
    const previous = this.#active
    this.#active = next
    this.#next = undefined
    this.#options.onEvent?.({ event: 'store_url_changed' })
    this.#close(previous)
  }

  #close(member: Member): void {
    void member.connection.close().then(() => this.#opened.delete(member))
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof BrokerError ? error.cause : error
  return cause instanceof RedisFailure ? cause.code : 'unexpected error'
}
