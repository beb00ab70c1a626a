import type { RequestHandler } from 'express'
import { temporarilyUnavailable } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import { countedAddress } from './counted-address.ts'
import { requestBytes } from './request-bytes.ts'
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
 * A request whose body is still on its way has no place yet: else a few slow senders would hold all of them. The places of a
 * kind are limited in number, and one address may hold only a share of them: else one client could hold all. Larger requests than
 * ordinary ones are limited in bytes too, and by number alone the ordinary ones are: else a few large ones would keep all others out.
 */
export function shedLoad({ limits, routes, lagMs, metrics }: ShedLoadParts): ShedLoad {
  const held: Record<LoadKind, Held> = {
    sign_in: nothing(),
    recovery: nothing(),
    session: nothing(),
    pam: nothing(),
  }
  const heldBy = new Map<string, Held>()
  const kindOf = kindByPath(routes)

  return {
    atTheDoor: function shedAtTheDoor(req, _res, next) {
      const kind = kindOf(req.path)
      refuse(kind, isFull(kind) ? 'in_flight' : isLate(kind) ? 'lag' : undefined)
      next()
    },

    inside: function shedInside(req, res, next) {
      const kind = kindOf(req.path)
      const holder = `${kind} ${countedAddress(contextOf(req).address)}`
      const occupied = requestBytes(req)
      const bytes = occupied > ordinaryBytes(kind) ? occupied : 0
      // lag was judged at the door; a slow body is the client's lateness
      refuse(kind, isFull(kind, bytes) ? 'in_flight' : isGreedy(kind, holder, bytes) ? 'address' : undefined)
      if (res.destroyed) return next() // its client is gone: nobody would give the place back
      take(kind, holder, { places: 1, bytes })
      res.once('close', () => take(kind, holder, { places: -1, bytes: -bytes }))
      next()
    },
  }

  function take(kind: LoadKind, holder: string, { places, bytes }: Readonly<Held>): void {
    const own = heldBy.get(holder) ?? nothing()
    heldBy.set(holder, own)
    for (const one of [held[kind], own]) {
      one.places += places
      one.bytes += bytes
    }
    if (own.places === 0) heldBy.delete(holder)
    metrics.requestsUnderWay.set({ kind }, held[kind].places)
  }

  function isGreedy(kind: LoadKind, holder: string, bytes: number): boolean {
    const own = heldBy.get(holder)
    if (own === undefined) return false
    return (
      own.places >= limits.inFlight[kind] * PLACES_OF_ONE_ADDRESS[kind] ||
      own.bytes + bytes > MAX_BYTES * BYTES_OF_ONE_ADDRESS
    )
  }

  function isFull(kind: LoadKind, bytes = 0): boolean {
    return held[kind].places >= limits.inFlight[kind] || held[kind].bytes + bytes > MAX_BYTES
  }

  /** Twice what each would have if all places were taken. */
  function ordinaryBytes(kind: LoadKind): number {
    return (2 * MAX_BYTES) / limits.inFlight[kind]
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

/** What requests under way hold; bytes of the larger ones alone, as of `requestBytes`. */
interface Held {
  places: number
  bytes: number
}

const nothing = (): Held => ({ places: 0, bytes: 0 })

/** What the larger requests of one kind may occupy. Ordinary ones occupy some kilobytes each; one can be made to occupy two megabytes. */
const MAX_BYTES = 16_777_216

/**
 * The share of the places that one address may hold. Signing in and lookups: half, else one client, whose requests wait for each
 * other or for a slow upstream, would hold all; not less, for a whole company may have one address. Recovery: a tenth, for few
 * users of one address recover at once. Requests of a session wait for nothing but the store.
 */
const PLACES_OF_ONE_ADDRESS: Readonly<Record<LoadKind, number>> = {
  sign_in: 0.5,
  recovery: 0.1,
  session: 1,
  pam: 0.5,
}
const BYTES_OF_ONE_ADDRESS = 0.5

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
