import { type BrokerError, temporarilyUnavailable } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { GarbageCollector } from './collect-garbage.ts'

/** Limits on request bodies that have not arrived completely. */
export interface BodyLimits {
  readonly total: BodyLimit
  readonly perAddress: BodyLimit
}

export interface BodyLimit {
  readonly bodies: number
  /** Of all of them together, as they were announced. */
  readonly bytes: number
}

export interface BodiesInFlightParts {
  readonly limits: BodyLimits
  readonly retryAfterSeconds: number
  readonly garbage: GarbageCollector
  readonly metrics: Metrics
}

export interface BodiesInFlight {
  /** Admits a body and evicts the oldest ones that it leaves no room for. `release` it once it is complete or gone. */
  admit(body: ArrivingBody): { release(): void }
}

export interface ArrivingBody {
  readonly address: string
  /** What it may occupy: its announced length. */
  readonly bytes: number
  /** It makes room for newer bodies: nothing more of it may be kept. */
  evict(answer: BrokerError): void
}

/**
 * Bounds the memory that unfinished bodies occupy. The oldest body makes room, not the newest: an ordinary body is
 * complete within a moment, so a client that holds many unfinished ones evicts its own and turns nobody away.
 */
export function createBodiesInFlight({
  limits,
  retryAfterSeconds,
  garbage,
  metrics,
}: BodiesInFlightParts): BodiesInFlight {
  const all = createPool()
  const byAddress = new Map<string, Pool>()

  return {
    admit(body) {
      const own = byAddress.get(body.address) ?? createPool()
      makeRoom(own, 'perAddress', body.bytes)
      makeRoom(all, 'total', body.bytes)
      byAddress.set(body.address, own)
      for (const pool of [own, all]) pool.add(body)
      return { release: () => remove(body) }
    },
  }

  function makeRoom(pool: Pool, by: keyof BodyLimits, bytes: number): void {
    for (const oldest of pool.bodies) {
      if (pool.bodies.size < limits[by].bodies && pool.bytes() + bytes <= limits[by].bytes) return
      remove(oldest)
      metrics.shedRequests.inc({ kind: 'body', reason: REASONS[by] })
      oldest.evict(temporarilyUnavailable(retryAfterSeconds))
      garbage.dropped(oldest.bytes)
    }
  }

  function remove(body: ArrivingBody): void {
    const own = byAddress.get(body.address)
    own?.remove(body)
    all.remove(body)
    if (own?.bodies.size === 0) byAddress.delete(body.address)
  }
}

const REASONS: Readonly<Record<keyof BodyLimits, string>> = { total: 'in_flight', perAddress: 'address' }

interface Pool {
  /** The oldest first. */
  readonly bodies: ReadonlySet<ArrivingBody>
  bytes(): number
  add(body: ArrivingBody): void
  remove(body: ArrivingBody): void
}

function createPool(): Pool {
  const bodies = new Set<ArrivingBody>()
  let bytes = 0
  return {
    bodies,
    bytes: () => bytes,
    add(body) {
      bodies.add(body)
      bytes += body.bytes
    },
    remove(body) {
      if (bodies.delete(body)) bytes -= body.bytes
    },
  }
}
