import { rootCertificates } from 'node:tls'
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'
import type { StartTimer } from './start-timer.ts'
import { UpstreamFailure } from './upstream-failure.ts'

export interface ConnectionOptions {
  readonly connectTimeoutMs: number
  readonly totalTimeoutMs: number
  readonly maxResponseBytes: number
  readonly maxConnections: number
  /** PEM of private certificate authorities, besides the public ones. */
  readonly ca?: readonly string[] | undefined
  readonly httpsProxy?: string | undefined
  readonly noProxy?: string | undefined
}

/** A proxy is for https alone: plain http only ever goes to this very host, and its credentials stay here. */
export function createDispatcher(options: ConnectionOptions): Dispatcher {
  const connect = {
    timeout: options.connectTimeoutMs,
    ...(options.ca === undefined ? {} : { ca: [...rootCertificates, ...options.ca] }),
  }
  const settings = {
    connections: options.maxConnections,
    connect,
    headersTimeout: options.totalTimeoutMs,
    bodyTimeout: options.totalTimeoutMs,
    maxResponseSize: options.maxResponseBytes,
  }
  if (options.httpsProxy === undefined) return new Agent(settings)
  return new EnvHttpProxyAgent({
    ...settings,
    requestTls: connect,
    proxyTls: connect,
    httpProxy: '',
    httpsProxy: options.httpsProxy,
    noProxy: options.noProxy ?? '',
  })
}

/**
 * As many calls at once as there are connections. Further calls wait for a limited time, in a queue of any length: how
 * many can wait depends on how fast the upstream answers.
 */
export interface ConnectionSlots {
  /** Resolves with the function that releases the slot; throws `UpstreamFailure` `busy` if the budget is used up first. */
  acquire(wait: SlotWait): Promise<() => void>
}

export interface SlotWait {
  /** Gets the next free connection before all calls that are not urgent. */
  readonly urgent: boolean
  /** What this caller may still spend waiting; counted down. */
  readonly budget: { leftMs: number }
}

export interface ConnectionSlotsOptions {
  readonly max: number
  readonly monotonic: () => number
  readonly startTimer: StartTimer
}

export function createConnectionSlots({
  max,
  monotonic,
  startTimer,
}: ConnectionSlotsOptions): ConnectionSlots {
  const queues = { urgent: new Set<() => void>(), other: new Set<() => void>() }
  let used = 0

  return {
    async acquire({ urgent, budget }) {
      if (used < max) used += 1
      else await takeOver(urgent ? queues.urgent : queues.other, budget)
      return release
    },
  }

  /** Waits for a slot that a caller releases: it is handed on without becoming free in between. */
  function takeOver(queue: Set<() => void>, budget: { leftMs: number }): Promise<void> {
    if (budget.leftMs <= 0) return Promise.reject(busy())
    const startedAt = monotonic()
    return new Promise((resolve, reject) => {
      const stopTimer = startTimer(() => {
        queue.delete(take)
        budget.leftMs = 0 // timers can fire up to a millisecond early
        reject(busy())
      }, budget.leftMs)
      const take = () => {
        stopTimer()
        queue.delete(take)
        budget.leftMs = Math.max(0, budget.leftMs - (monotonic() - startedAt))
        resolve()
      }
      queue.add(take)
    })
  }

  function release(): void {
    const [next] = queues.urgent.size > 0 ? queues.urgent : queues.other
    if (next === undefined) used -= 1
    else next()
  }
}

export function busy(): UpstreamFailure {
  return new UpstreamFailure('busy', { retryAfterMs: 1000 })
}
