import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import { backoffMs } from './redis-client.ts'
import { SENTINELS_UNREACHABLE, troubleOf, unavailableBecause } from './redis-trouble.ts'
import type { StoreStatus } from './store.ts'

/** For the log. `reason` is a short code such as `ECONNREFUSED` or `WRONGPASS`. */
export type StoreEvent =
  | { readonly event: 'store_connected' }
  | { readonly event: 'store_lost'; readonly reason: string }
  | { readonly event: 'store_reconnecting'; readonly attempt: number; readonly reason: string }

export interface RedisLinkParts {
  readonly client: Redis | Cluster
  /** Once there has been no connection for so long, operations fail at once instead of waiting for one. */
  readonly patienceMs: number
  /** Finds a reason that the client's own errors do not tell; asked while there has not been any connection yet. */
  readonly diagnose?: () => Promise<string | undefined>
  readonly onEvent?: (event: StoreEvent) => void
}

export interface RedisLink {
  /**
   * Undefined when commands can be sent now, else a promise that resolves when they can. Throws `storeUnavailable` at the
   * deadline; at once when the link is closed, or has had no connection for longer than its patience.
   */
  ready(deadline: number): Promise<void> | undefined
  /** Marks a command as running, for `close` to wait for; call what it returns when the command is over. */
  enter(): () => void
  status(): StoreStatus
  close(): Promise<void>
}

/** Watches over the client's connection: who waits for it, what is told about it, and how it ends. */
export function createRedisLink({
  client,
  patienceMs,
  diagnose = async () => undefined,
  onEvent = () => {},
}: RedisLinkParts): RedisLink {
  const waiting = new Set<(isReady: boolean) => void>()
  let reason = 'not connected'
  let lostAt: number | undefined = performance.now()
  let diagnosis: string | undefined
  let wasEverConnected = false
  let wasConnected = false
  let attempts = 0
  let running = 0
  let closing: Promise<void> | undefined
  let onIdle: (() => void) | undefined

  client.on('error', noteTrouble)
  client.on('node error', noteTrouble)
  client.on('ready', () => {
    lostAt = undefined
    wasConnected = true
    wasEverConnected = true
    diagnosis = undefined
    attempts = 0
    reason = 'connection lost' // unless an error says more by then: what kept us from connecting is over
    onEvent({ event: 'store_connected' })
    endWaiting(true)
  })
  client.on('close', () => {
    lostAt ??= performance.now()
    if (wasConnected && !closing) onEvent({ event: 'store_lost', reason })
    wasConnected = false
  })
  client.on('reconnecting', noteAttempt)
  client.on('end', () => {
    if (closing) return
    // The client stops trying when it could not even begin to connect. We go on.
    setTimeout(() => {
      if (!closing) client.connect().catch(noteTrouble)
    }, backoffMs(++attempts)).unref()
  })

  return {
    ready(deadline) {
      if (closing) throw unavailableBecause('closed')
      if (client.status === 'ready') return undefined
      if (lostAt !== undefined && performance.now() - lostAt > patienceMs) throw unavailableBecause(why())
      return waitUntilReady(deadline)
    },
    enter() {
      running += 1
      return () => {
        running -= 1
        if (running === 0) onIdle?.()
      }
    },
    status() {
      if (closing) return 'closed'
      return client.status === 'ready' ? 'ready' : 'connecting'
    },
    close() {
      closing ??= leave()
      if (attempts > 0) endWaiting(false) // connecting has failed already: closing does not wait for another try
      return closing
    },
  }

  function noteTrouble(error: unknown): void {
    reason = troubleOf(error).reason
    // The client asks the sentinels round after round and emits no `reconnecting` for it: this error is the sign of a round.
    if (reason === SENTINELS_UNREACHABLE) noteAttempt()
  }

  function noteAttempt(): void {
    if (closing) return
    attempts += 1
    onEvent({ event: 'store_reconnecting', attempt: attempts, reason: why() })
    if (!wasEverConnected && SAYS_LITTLE.test(reason)) {
      void diagnose().then((found) => {
        if (!wasEverConnected) diagnosis = found
      })
    }
  }

  /** Where the client was told by Redis or by the system what is wrong, that is the reason. */
  function why(): string {
    return diagnosis !== undefined && SAYS_LITTLE.test(reason) ? diagnosis : reason
  }

  function waitUntilReady(deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (isReady: boolean) => {
        clearTimeout(timer)
        waiting.delete(end)
        if (isReady) resolve()
        else reject(unavailableBecause(why()))
      }
      const timer = setTimeout(end, deadline - performance.now(), false)
      waiting.add(end)
    })
  }

  function endWaiting(isReady: boolean): void {
    for (const end of [...waiting]) end(isReady)
  }

  /** Waits for running commands, then says goodbye to Redis. When the bound is over, the connection is cut in any case. */
  async function leave(): Promise<void> {
    const bound = delay(patienceMs, undefined, { ref: false })
    if (running > 0)
      await Promise.race([
        new Promise<void>((resolve) => {
          onIdle = resolve
        }),
        bound,
      ])
    if (client.status === 'ready') await Promise.race([client.quit().catch(noteTrouble), bound])
    if (client.status !== 'end') client.disconnect()
  }
}

/** What a connection ends in that one side takes for TLS, and the other does not. */
const SAYS_LITTLE =
  /^(ETIMEDOUT|ECONNRESET|EPIPE|EPROTO|ERR_SSL_\w+|timeout|not connected|connection lost|sentinels unreachable|cluster unreachable)$/
