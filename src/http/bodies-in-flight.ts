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
  /** Of all of them together; see `ArrivingBody`. */
  readonly bytes: number
}

export interface BodiesInFlightParts {
  readonly limits: BodyLimits
  readonly retryAfterSeconds: number
  readonly garbage: GarbageCollector
  readonly metrics: Metrics
}

export interface BodiesInFlight {
  /** Admits a body and evicts what is then too much, maybe this very body. `release` it once it is complete or gone. */
  admit(body: ArrivingBody): { release(): void }
}

export interface ArrivingBody {
  readonly address: string
  /** What its request may occupy: the announced length of the body, and what the header lines occupy already. */
  readonly bytes: number
  /** It makes room for newer bodies: nothing more of it may be kept. */
  evict(answer: BrokerError): void
}

/**
 * Bounds the memory that unfinished bodies occupy. An ordinary body is small, and complete within a moment. So where there
 * are too many bodies, the oldest is evicted, and where there are too many bytes, the largest: a client that holds many, or
 * only announces large ones, evicts its own and turns nobody away.
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
      byAddress.set(body.address, own)
      for (const pool of [own, all]) pool.add(body)
      evictFrom(own, 'perAddress')
      evictFrom(all, 'total')
      return { release: () => remove(body) }
    },
  }

  function evictFrom(pool: Pool, by: keyof BodyLimits): void {
    for (;;) {
      const evicted = tooMuchIn(pool, limits[by])
      if (evicted === undefined) return
      remove(evicted)
      metrics.shedRequests.inc({ kind: 'body', reason: REASONS[by] })
      evicted.evict(temporarilyUnavailable(retryAfterSeconds))
      garbage.dropped(evicted.bytes)
    }
  }

  function remove(body: ArrivingBody): void {
    const own = byAddress.get(body.address)
    own?.remove(body)
    all.remove(body)
    if (own?.bodies.size === 0) byAddress.delete(body.address)
  }
}

/** The body to evict next; undefined: none. A body that is alone may be as large as it is: other limits apply to it. */
function tooMuchIn({ bodies, bytes }: Pool, limit: BodyLimit): ArrivingBody | undefined {
  const [oldest] = bodies
  if (bodies.size > limit.bodies) return oldest
  if (bodies.size < 2 || bytes() <= limit.bytes) return undefined
  return [...bodies].reduce((largest, body) => (body.bytes > largest.bytes ? body : largest))
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
