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
  /** Admits a body and evicts what is then too much, maybe this very body. */
  admit(body: ArrivingBody): Place
}

export interface ArrivingBody {
  readonly address: string
  /** What its request may occupy (`count-body.ts`). */
  readonly bytes: number
  /** It makes room for others: nothing more of it may be kept. */
  evict(answer: BrokerError): void
}

export interface Place {
  /** The body occupies more than it did: evicts what is then too much. */
  resize(bytes: number): void
  /** It is complete or gone. */
  release(): void
}

/**
 * Bounds the memory that unfinished bodies occupy. An ordinary body is small, and complete within a moment. So new ones are
 * never refused: others are evicted, of the address that holds the most. A client that holds many bodies, or announces large
 * ones, evicts its own and turns nobody away.
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
    admit({ address, bytes, evict }) {
      const body: Body = { address, bytes, evict }
      const own = byAddress.get(address) ?? createPool()
      byAddress.set(address, own)
      for (const pool of [own, all]) pool.add(body)
      evictTooMuch(own)
      return {
        resize(bytes) {
          if (!all.bodies.has(body)) return
          for (const pool of [own, all]) pool.grow(bytes - body.bytes)
          body.bytes = bytes
          evictTooMuch(own)
        },
        release: () => remove(body),
      }
    },
  }

  function evictTooMuch(own: Pool): void {
    evictWhile(() => tooMuchOf(own, limits.perAddress), 'address')
    evictWhile(() => tooMuchOfAll(all, byAddress, limits.total), 'in_flight')
  }

  function evictWhile(next: () => Body | undefined, reason: string): void {
    for (let body = next(); body !== undefined; body = next()) {
      remove(body)
      metrics.shedRequests.inc({ kind: 'body', reason })
      body.evict(temporarilyUnavailable(retryAfterSeconds))
      garbage.dropped(body.bytes)
    }
  }

  function remove(body: Body): void {
    const own = byAddress.get(body.address)
    own?.remove(body)
    all.remove(body)
    if (own?.bodies.size === 0) byAddress.delete(body.address)
  }
}

/** Of one address: the oldest if there are too many, the largest if they are too large, so that its small ones stay. */
function tooMuchOf(own: Pool, limit: BodyLimit): Body | undefined {
  const measure = exceeded(own, limit)
  if (measure === 'number') return oldestIn(own)
  return measure && largest(olderHalf([...own.bodies]), ({ bytes }) => bytes)
}

/** The oldest of the address that holds the most; the only body of an address is spared while another one holds several. */
function tooMuchOfAll(all: Pool, byAddress: ReadonlyMap<string, Pool>, limit: BodyLimit): Body | undefined {
  const measure = exceeded(all, limit)
  if (measure === undefined) return undefined
  const pools = [...byAddress.values()]
  const several = pools.filter(({ bodies }) => bodies.size > 1)
  return oldestIn(largest(several.length > 0 ? several : olderHalf(pools), MEASURES[measure]))
}

const MEASURES = {
  number: ({ bodies }: Pool) => bodies.size,
  bytes: (pool: Pool) => pool.bytes(),
} as const

/** A body that is alone may be as large as it is: other limits apply to it. */
function exceeded({ bodies, bytes }: Pool, limit: BodyLimit): keyof typeof MEASURES | undefined {
  if (bodies.size > limit.bodies) return 'number'
  return bodies.size > 1 && bytes() > limit.bytes ? 'bytes' : undefined
}

function oldestIn(pool: Pool | undefined): Body | undefined {
  const [oldest] = pool?.bodies ?? []
  return oldest
}

/** The oldest first among equals. */
function largest<T>([first, ...others]: readonly T[], size: (one: T) => number): T | undefined {
  return first && others.reduce((most, one) => (size(one) > size(most) ? one : most), first)
}

/** The newer ones get time to arrive, however large they are: else everyone could be evicted who is larger than all others. */
function olderHalf<T>(oldestFirst: readonly T[]): readonly T[] {
  return oldestFirst.slice(0, Math.floor(oldestFirst.length / 2) + 1)
}

interface Body extends ArrivingBody {
  bytes: number
}

interface Pool {
  /** The oldest first. */
  readonly bodies: ReadonlySet<Body>
  bytes(): number
  add(body: Body): void
  remove(body: Body): void
  /** One of them occupies more by so much. */
  grow(bytes: number): void
}

function createPool(): Pool {
  const bodies = new Set<Body>()
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
    grow(by) {
      bytes += by
    },
  }
}
