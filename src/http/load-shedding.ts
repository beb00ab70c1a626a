import type { RequestHandler } from 'express'
import { temporarilyUnavailable } from '../errors.ts'
import type { EventLoopLag } from '../observability/event-loop-lag.ts'
import type { Metrics } from '../observability/metrics.ts'
import { estimateRequestBytes } from './request-body.ts'
import { addressForLimits, getRequestContext } from './request-context.ts'

/**
 * Requests of one kind share capacity. Session requests are cheap and sent with every page, so they are refused last. Recovery requests
 * are delayed on purpose, and can be sent without credentials.
 */
export type LoadKind = 'sign_in' | 'recovery' | 'session' | 'pam'

export interface LoadLimits {
  /** Concurrent requests per process. */
  readonly inFlight: Readonly<Record<LoadKind, number>>
  /** Requests are refused from this event-loop lag on. */
  readonly maxLagMs: Readonly<Record<LoadKind, number>>
  readonly retryAfterSeconds: number
}

export interface LoadSheddingOptions {
  readonly limits: LoadLimits
  readonly findRoutes: (path: string) => { readonly loadKind: LoadKind | undefined } | undefined
  readonly lag: Pick<EventLoopLag, 'ms'>
  readonly metrics: Metrics
}

export interface LoadShedding {
  /** Runs before the body is read: refuses a request that could not be served in time. */
  readonly admit: RequestHandler
  /** Runs after the body is read: reserves capacity until the response is sent or the client disconnects. */
  readonly reserve: RequestHandler
}

/**
 * Refuses requests while this process is overloaded: 503 E0000009 with `Retry-After`, before any work is done. Admitted requests are
 * served in time; the client can send the others to another replica.
 *
 * A request reserves capacity only when its body is complete; otherwise a few slow clients could use up all of it. One address cannot
 * use all the capacity of a kind. Large requests have a separate limit in bytes, so that a few of them cannot block ordinary ones.
 */
export function createLoadShedding({ limits, findRoutes, lag, metrics }: LoadSheddingOptions): LoadShedding {
  const kindOf = (path: string) => findRoutes(path)?.loadKind ?? 'sign_in'
  const capacityFor = (kind: LoadKind) => createCapacity(limits.inFlight[kind], SHARE_PER_ADDRESS[kind])
  const capacities: Readonly<Record<LoadKind, Capacity>> = {
    sign_in: capacityFor('sign_in'),
    recovery: capacityFor('recovery'),
    session: capacityFor('session'),
    pam: capacityFor('pam'),
  }
  const refuse = (kind: LoadKind, reason: 'in_flight' | 'lag' | 'address'): never => {
    metrics.requestsShed.inc({ kind, reason })
    throw temporarilyUnavailable(limits.retryAfterSeconds)
  }

  return {
    admit: function admit(req, _res, next) {
      const kind = kindOf(req.path)
      if (capacities[kind].isFull(0)) refuse(kind, 'in_flight')
      if (lag.ms >= limits.maxLagMs[kind]) refuse(kind, 'lag')
      next()
    },

    reserve: function reserve(req, res, next) {
      const kind = kindOf(req.path)
      const { isFull, isFullFor, reserve, release, requests } = capacities[kind]
      const address = addressForLimits(getRequestContext(req).address)
      const bytes = estimateRequestBytes(req)
      if (isFull(bytes)) refuse(kind, 'in_flight')
      if (isFullFor(address, bytes)) refuse(kind, 'address')
      if (res.destroyed) return next() // disconnected: `close` would never release the capacity
      reserve(address, bytes)
      metrics.httpRequestsInFlight.set({ kind }, requests())
      res.once('close', () => {
        release(address, bytes)
        metrics.httpRequestsInFlight.set({ kind }, requests())
      })
      next()
    },
  }
}

/**
 * The share of the capacity that one address can use. Sign-in and lookups: half, because requests that wait for a slow upstream would
 * otherwise use all of it; not less, because a whole company may have one address. Recovery: a tenth, because few users of one address
 * recover at the same time. Session requests wait only for the store.
 */
const SHARE_PER_ADDRESS: Readonly<Record<LoadKind, number>> = {
  sign_in: 0.5,
  recovery: 0.1,
  session: 1,
  pam: 0.5,
}

/** The memory of large requests of a kind. An ordinary request occupies some kilobytes, the largest 2 MB. */
const MAX_LARGE_BYTES = 16_777_216
const MAX_LARGE_BYTES_PER_ADDRESS = MAX_LARGE_BYTES / 2

interface Usage {
  requests: number
  /** Large requests only. */
  bytes: number
}

/** The capacity of one kind. `bytes` is the memory of a request. */
interface Capacity {
  isFull(bytes: number): boolean
  isFullFor(address: string, bytes: number): boolean
  reserve(address: string, bytes: number): void
  release(address: string, bytes: number): void
  requests(): number
}

function createCapacity(maxRequests: number, sharePerAddress: number): Capacity {
  const total: Usage = { requests: 0, bytes: 0 }
  const byAddress = new Map<string, Usage>()
  /** Twice the average at full capacity. */
  const maxOrdinaryBytes = (2 * MAX_LARGE_BYTES) / maxRequests
  const counted = (bytes: number) => (bytes > maxOrdinaryBytes ? bytes : 0)

  function use(address: string, requests: 1 | -1, bytes: number): void {
    const own = byAddress.get(address) ?? { requests: 0, bytes: 0 }
    byAddress.set(address, own)
    for (const usage of [total, own]) {
      usage.requests += requests
      usage.bytes += requests * counted(bytes)
    }
    if (own.requests === 0) byAddress.delete(address)
  }

  return {
    isFull: (bytes) => total.requests >= maxRequests || total.bytes + counted(bytes) > MAX_LARGE_BYTES,
    isFullFor(address, bytes) {
      const own = byAddress.get(address)
      if (own === undefined) return false
      return (
        own.requests >= maxRequests * sharePerAddress ||
        own.bytes + counted(bytes) > MAX_LARGE_BYTES_PER_ADDRESS
      )
    },
    reserve: (address, bytes) => use(address, 1, bytes),
    release: (address, bytes) => use(address, -1, bytes),
    requests: () => total.requests,
  }
}
