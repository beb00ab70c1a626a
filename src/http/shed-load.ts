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

export interface ShedLoad {
  /** Before anything is read: what can't be taken in is turned away. */
  readonly atTheDoor: RequestHandler
  /** Once the whole request is here: it takes its place, until it is answered or its client is gone. */
  readonly inside: RequestHandler
}

/**
 * Turns requests away while this process has too much to do: 503 E0000009 with `Retry-After`, before anything is read or
 * asked. What is taken in is done in time; what is not can go to another replica.
 *
 * A request whose body is still on its way has no place yet: else a few slow senders would hold all of them.
 */
export function shedLoad({ limits, lagMs, metrics }: ShedLoadParts): ShedLoad {
  const underWay: Record<LoadKind, number> = { sign_in: 0, session: 0, pam: 0 }

  return {
    atTheDoor: function shedAtTheDoor(req, _res, next) {
      const kind = kindOf(req)
      refuse(kind, isFull(kind) ? 'in_flight' : isLate(kind) ? 'lag' : undefined)
      next()
    },

    inside: function shedInside(req, res, next) {
      const kind = kindOf(req)
      refuse(kind, isFull(kind) ? 'in_flight' : undefined) // it was late to come, not we
      if (res.destroyed) return next() // its client is gone: nobody would give the place back
      underWay[kind] += 1
      metrics.requestsUnderWay.set({ kind }, underWay[kind])
      res.once('close', () => {
        underWay[kind] -= 1
        metrics.requestsUnderWay.set({ kind }, underWay[kind])
      })
      next()
    },
  }

  function isFull(kind: LoadKind): boolean {
    return underWay[kind] >= limits.inFlight[kind]
  }

  function isLate(kind: LoadKind): boolean {
    return lagMs() >= limits.maxLagMs[kind]
  }

  function refuse(kind: LoadKind, reason: 'in_flight' | 'lag' | undefined): void {
    if (reason === undefined) return
    metrics.shedRequests.inc({ kind, reason })
    throw temporarilyUnavailable(limits.retryAfterSeconds, new Error(`load is shed: ${reason}`))
  }
}

/** Looking at a session costs one read, and a portal asks for it with every request: it is turned away last. */
function kindOf({ path }: Request): LoadKind {
  if (path.startsWith('/api/v1/pam/')) return 'pam'
  return path === '/forward-auth' || path === '/api/v1/sessions/me' ? 'session' : 'sign_in'
}
