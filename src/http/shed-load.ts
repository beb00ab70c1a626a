import type { Request, RequestHandler } from 'express'
import { temporarilyUnavailable } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'

/** Requests that share a fate: each kind has places of its own, so that trouble with one leaves the others alone. */
export type LoadKind = 'sign_in' | 'session' | 'pam'

export interface LoadLimits {
  /** Requests of the kind that may be under way at once in this process. */
  readonly inFlight: Readonly<Record<LoadKind, number>>
  /** From this event-loop lag on they are turned away, in milliseconds. */
  readonly maxLagMs: Readonly<Record<LoadKind, number>>
  readonly retryAfterSeconds: number
}

export interface ShedLoadParts {
  readonly limits: LoadLimits
  /** How late this process is by now, in milliseconds. */
  readonly lagMs: () => number
  readonly metrics: Metrics
}

/**
 * Turns requests away while this process has too much to do: 503 E0000009 with `Retry-After`, before anything is read or
 * asked. What is taken in is done in time; what is not can go to another replica.
 */
export function shedLoad({ limits, lagMs, metrics }: ShedLoadParts): RequestHandler {
  const underWay: Record<LoadKind, number> = { sign_in: 0, session: 0, pam: 0 }

  return function shedLoad(req, res, next) {
    const kind = kindOf(req)
    const reason = reasonAgainst(kind)
    if (reason !== undefined) {
      metrics.shedRequests.inc({ kind, reason })
      throw temporarilyUnavailable(limits.retryAfterSeconds, new Error(`load is shed: ${reason}`))
    }
    underWay[kind] += 1
    metrics.requestsUnderWay.set({ kind }, underWay[kind])
    res.once('close', () => {
      underWay[kind] -= 1
      metrics.requestsUnderWay.set({ kind }, underWay[kind])
    })
    next()
  }

  function reasonAgainst(kind: LoadKind): 'in_flight' | 'lag' | undefined {
    if (underWay[kind] >= limits.inFlight[kind]) return 'in_flight'
    return lagMs() >= limits.maxLagMs[kind] ? 'lag' : undefined
  }
}

/** Looking at a session costs one read, and a portal asks for it with every request: it is turned away last. */
function kindOf({ path }: Request): LoadKind {
  if (path.startsWith('/api/v1/pam/')) return 'pam'
  return path === '/forward-auth' || path === '/api/v1/sessions/me' ? 'session' : 'sign_in'
}
