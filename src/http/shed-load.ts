import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { temporarilyUnavailable } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import { countedAddress } from './counted-address.ts'
import { contextOf } from './request-context.ts'
import type { Route } from './routes.ts'

/**
 * Requests that share a fate: each kind has places of its own, so that trouble with one leaves the others alone. Those
 * of a session cost a read or two, and a portal asks for it with every page: they are turned away last. Those of a recovery
 * wait on purpose, and anybody can begin one.
 */
export type LoadKind = 'sign_in' | 'recovery' | 'session' | 'pam'

export type RoutesByKind = Readonly<Record<LoadKind, readonly Route[]>>

export interface LoadLimits {
  /** Requests of the kind that may be under way at once in this process. */
  readonly inFlight: Readonly<Record<LoadKind, number>>
  /** From this event-loop lag on they are turned away, in milliseconds. */
  readonly maxLagMs: Readonly<Record<LoadKind, number>>
  readonly retryAfterSeconds: number
}

export interface ShedLoadParts {
  readonly limits: LoadLimits
  readonly routes: RoutesByKind
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
 * A request whose body is still on its way has no place yet: else a few slow senders would hold all of them. Of some kinds
 * one address may hold only a share of the places (`MOST_OF_ONE_ADDRESS`).
 */
export function shedLoad({ limits, routes, lagMs, metrics }: ShedLoadParts): ShedLoad {
  const underWay: Record<LoadKind, number> = { sign_in: 0, recovery: 0, session: 0, pam: 0 }
  const kindOf = kindByPath(routes)
  const heldBy = new Map<string, number>()

  return {
    atTheDoor: function shedAtTheDoor(req, _res, next) {
      const kind = kindOf(req.path)
      refuse(kind, isFull(kind) ? 'in_flight' : isLate(kind) ? 'lag' : undefined)
      next()
    },

    inside: function shedInside(req, res, next) {
      const kind = kindOf(req.path)
      const holder = holderOf(kind, req)
      // lag was judged at the door; a slow body is the client's lateness
      refuse(kind, isFull(kind) ? 'in_flight' : isGreedy(kind, holder) ? 'address' : undefined)
      if (res.destroyed) return next() // its client is gone: nobody would give the place back
      take(kind, holder, 1)
      res.once('close', () => take(kind, holder, -1))
      next()
    },
  }

  function take(kind: LoadKind, holder: string | undefined, places: 1 | -1): void {
    underWay[kind] += places
    metrics.requestsUnderWay.set({ kind }, underWay[kind])
    if (holder === undefined) return
    const held = (heldBy.get(holder) ?? 0) + places
    if (held > 0) heldBy.set(holder, held)
    else heldBy.delete(holder)
  }

  function isGreedy(kind: LoadKind, holder: string | undefined): boolean {
    const held = holder === undefined ? 0 : (heldBy.get(holder) ?? 0)
    return held >= limits.inFlight[kind] * (MOST_OF_ONE_ADDRESS[kind] ?? 1)
  }

  function isFull(kind: LoadKind): boolean {
    return underWay[kind] >= limits.inFlight[kind]
  }

  function isLate(kind: LoadKind): boolean {
    return lagMs() >= limits.maxLagMs[kind]
  }

  function refuse(kind: LoadKind, reason: 'in_flight' | 'lag' | 'address' | undefined): void {
    if (reason === undefined) return
    metrics.shedRequests.inc({ kind, reason })
    throw temporarilyUnavailable(limits.retryAfterSeconds, new Error(`load is shed: ${reason}`))
  }
}

/**
 * Signing in: half of the places, else one client, whose steps wait for each other or for a slow org, would hold all; not
 * less, for a whole company may have one address. Recovery: a tenth, for few users of one address recover at once.
 */
const MOST_OF_ONE_ADDRESS: Readonly<Partial<Record<LoadKind, number>>> = { sign_in: 0.5, recovery: 0.1 }

/** Whose places of this kind are counted; undefined: nobody's. */
function holderOf(kind: LoadKind, req: IncomingMessage): string | undefined {
  if (MOST_OF_ONE_ADDRESS[kind] === undefined) return undefined
  return `${kind} ${countedAddress(contextOf(req).address)}`
}

/**
 * Requests are told apart before they are routed. A path without a parameter is looked up; of one with a parameter, what
 * stands before it is compared. Whatever is neither, a path that is not listed too, counts as signing in.
 */
function kindByPath(routes: RoutesByKind): (path: string) => LoadKind {
  const known = new Map<string, LoadKind>()
  const beginnings: [beginning: string, kind: LoadKind][] = []
  for (const kind of ['recovery', 'session', 'pam'] as const) {
    for (const { path } of routes[kind]) {
      const parameterAt = path.indexOf(':')
      if (parameterAt === -1) known.set(path, kind)
      else beginnings.push([path.slice(0, parameterAt), kind])
    }
  }
  return (path) =>
    known.get(path) ?? beginnings.find(([beginning]) => path.startsWith(beginning))?.[1] ?? 'sign_in'
}
