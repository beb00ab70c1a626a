import type { RequestHandler } from 'express'
import { temporarilyUnavailable } from '../errors.ts'
import type { EventLoopLag } from '../observability/event-loop-lag.ts'
import type { Metrics } from '../observability/metrics.ts'
import { estimateRequestBytes } from './request-body.ts'
import { addressForLimits, getRequestContext } from './request-context.ts'

/**
 * Requests that share capacity; the other kinds go on when one of them has none left. Those of a session cost a read or
 * two, and a portal sends them with every page, so they are refused last. Those of a recovery wait on purpose, and
 * anybody can start one.
 */
export type LoadKind = 'sign_in' | 'recovery' | 'session' | 'pam'

export interface LoadLimits {
  /** Requests of the kind that this process serves at once. */
  readonly inFlight: Readonly<Record<LoadKind, number>>
  /** From this event-loop lag on, requests of the kind are refused, in milliseconds. */
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
  /** Before anything is read: refuses a request that could not be served in time. */
  readonly admit: RequestHandler
  /** Once the whole request is here: reserves capacity until it is answered or its client is gone. */
  readonly reserve: RequestHandler
}

/**
 * Refuses requests while this process has too many: 503 E0000009 with `Retry-After`, before anything is read or looked
 * up. Those that it admits are served in time; the others can go to another replica.
 *
 * A request whose body has not arrived holds no capacity: otherwise a few slow clients would hold all of it. Nor does one
 * address get all of the requests of a kind. Requests that occupy much memory are limited in bytes too, apart from
 * ordinary ones: otherwise a few large ones would keep all others out.
 */
export function createLoadShedding({ limits, findRoutes, lag, metrics }: LoadSheddingOptions): LoadShedding {
  const kindOf = (path: string) => findRoutes(path)?.loadKind ?? 'sign_in'
  const capacityFor = (kind: LoadKind) => createCapacity(limits.inFlight[kind], SHARE_OF_ONE_ADDRESS[kind])
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
      // not the lag again: the time that a body took is its client's
      if (isFull(bytes)) refuse(kind, 'in_flight')
      if (isFullFor(address, bytes)) refuse(kind, 'address')
      if (res.destroyed) return next() // its client is gone: nothing would release it
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
 * Of the requests of a kind, how many one address may have. Sign-in and lookups: half, otherwise one client, whose
 * requests wait for each other or for a slow upstream, would hold all; not less, for a whole company may have one
 * address. Recovery: a tenth, for few users of one address recover at once. Requests of a session wait for nothing but
 * the store.
 */
const SHARE_OF_ONE_ADDRESS: Readonly<Record<LoadKind, number>> = {
  sign_in: 0.5,
  recovery: 0.1,
  session: 1,
  pam: 0.5,
}

/** Of large requests of a kind, in all and of one address. An ordinary request occupies some kilobytes, the largest 2 MB. */
const MAX_LARGE_BYTES = 16_777_216
const MAX_LARGE_BYTES_OF_ONE_ADDRESS = MAX_LARGE_BYTES / 2

interface Usage {
  requests: number
  /** Of large requests only. */
  bytes: number
}

/** How many requests of a kind are served at once. `bytes`: the memory of a request. */
interface Capacity {
  isFull(bytes: number): boolean
  isFullFor(address: string, bytes: number): boolean
  reserve(address: string, bytes: number): void
  release(address: string, bytes: number): void
  requests(): number
}

function createCapacity(maxRequests: number, shareOfOneAddress: number): Capacity {
  const total: Usage = { requests: 0, bytes: 0 }
  const byAddress = new Map<string, Usage>()
  /** Twice the average if the capacity is used up. */
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
        own.requests >= maxRequests * shareOfOneAddress ||
        own.bytes + counted(bytes) > MAX_LARGE_BYTES_OF_ONE_ADDRESS
      )
    },
    reserve: (address, bytes) => use(address, 1, bytes),
    release: (address, bytes) => use(address, -1, bytes),
    requests: () => total.requests,
  }
}
