import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import { storeUnavailable } from '../errors.ts'
import { backoffMs } from './redis-client.ts'
import { SENTINELS_UNREACHABLE, troubleOf } from './redis-trouble.ts'

/** For the log. `reason` is a short code such as `ECONNREFUSED` or `WRONGPASS`. */
export type StoreEvent =
  | { readonly event: 'store_connected' }
  | { readonly event: 'store_lost'; readonly reason: string }
  | { readonly event: 'store_reconnecting'; readonly attempt: number; readonly reason: string }

export interface RedisLinkParts {
  readonly client: Redis | Cluster
  /** How long one waits for a connection; when there has been none for longer, nobody waits any more. */
  readonly patienceMs: number
  readonly onEvent?: (event: StoreEvent) => void
}

export interface RedisLink {
  /** Resolves when commands can be sent; throws `storeUnavailable` at the deadline, or sooner when there is no hope. */
  ready(deadline: number): Promise<void> | undefined
  /** Marks a command as running, for `close` to wait for; call what it returns when the command is over. */
  enter(): () => void
  status(): 'ready' | 'connecting' | 'closed'
  close(): Promise<void>
}

/** Watches over the client's connection: who waits for it, what is told about it, and how it ends. */
export function createRedisLink({ client, patienceMs, onEvent = () => {} }: RedisLinkParts): RedisLink {
  const waiting = new Set<() => void>()
  let reason = 'not connected'
  let lostAt: number | undefined = performance.now()
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
    attempts = 0
    onEvent({ event: 'store_connected' })
    for (const wake of [...waiting]) wake()
  })
  client.on('close', () => {
    lostAt ??= performance.now()
    if (wasConnected && !closing) onEvent({ event: 'store_lost', reason })
    wasConnected = false
  })
  client.on('reconnecting', noteAttempt)
  client.on('end', () => {
    if (closing) return
    // The client gave up, which it does where the way to the server could not even be tried. We do not.
    setTimeout(() => {
      if (!closing) client.connect().catch(noteTrouble)
    }, backoffMs(++attempts)).unref()
  })

  return {
    ready(deadline) {
      if (closing) throw unreachable('closed')
      if (client.status === 'ready') return undefined
      if (lostAt !== undefined && performance.now() - lostAt > patienceMs) throw unreachable(reason)
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
      return closing
    },
  }

  function noteTrouble(error: unknown): void {
    reason = troubleOf(error).reason
    // Looking for a sentinel that answers goes on within the client, without an event for every round.
    if (reason === SENTINELS_UNREACHABLE) noteAttempt()
  }

  function noteAttempt(): void {
    attempts += 1
    onEvent({ event: 'store_reconnecting', attempt: attempts, reason })
  }

  function waitUntilReady(deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        clearTimeout(timer)
        waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(() => {
        waiting.delete(wake)
        reject(unreachable(reason))
      }, deadline - performance.now())
      waiting.add(wake)
    })
  }

  /** Running commands first, then a polite end; both within the bound, and then the connection goes in any case. */
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

function unreachable(reason: string) {
  return storeUnavailable(new Error(`redis: ${reason}`))
}
