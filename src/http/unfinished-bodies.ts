import type { ServerResponse } from 'node:http'
import type { Request, RequestHandler } from 'express'
import { type BrokerError, temporarilyUnavailable } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { GarbageCollector } from './garbage-collector.ts'
import { bodyProgress, contentLength, hasBody, measureUnfinishedBody } from './request-body.ts'
import { addressForLimits, getRequestContext } from './request-context.ts'

/** Limits on request bodies that have not arrived completely. */
export interface BodyLimits {
  readonly total: BodyLimit
  readonly perAddress: BodyLimit
}

export interface BodyLimit {
  readonly bodies: number
  /** Of memory, for all of them together. */
  readonly bytes: number
}

export interface UnfinishedBody {
  readonly address: string
  /** How much memory its request occupies. */
  bytes: number
  /** Frees that memory: nothing more of the body may be kept. */
  readonly evict: (answer: BrokerError) => void
}

export interface UnfinishedBodies {
  /** Evicts what exceeds a limit then, which may be this very body. */
  add(body: UnfinishedBody): void
  /** The same for a body that occupies more or less than before. */
  resize(body: UnfinishedBody, bytes: number): void
  /** It is complete or gone. */
  remove(body: UnfinishedBody): void
}

/**
 * Middleware that counts each request body as unfinished until it is complete or gone. A body that nobody reads, of a
 * GET or of a refused request, is discarded as it arrives, and only what Node keeps counts: headers and trailers.
 */
export function countBodies(bodies: UnfinishedBodies): RequestHandler {
  return function countBodies(req, res, next) {
    if (hasBody(req)) countBody(req, res, bodies)
    next()
  }
}

function countBody(req: Request, res: ServerResponse, bodies: UnfinishedBodies): void {
  const { socket } = req
  const isChunked = contentLength(req) === undefined
  const memoryOf = measureUnfinishedBody(req, res)
  let isReleased = false
  const body: UnfinishedBody = {
    address: addressForLimits(getRequestContext(req).address),
    bytes: 0,
    evict(answer) {
      release()
      evict(req, res, answer)
    },
  }
  // by then, the piece that has arrived is read: at least its first chunk, or all of an announced body
  const recount = () => queueMicrotask(() => bodies.resize(body, memoryOf()))
  const release = () => {
    isReleased = true
    socket.off('data', recount).off('close', release)
    bodies.remove(body)
  }
  req.once('end', () => {
    release()
    dropTrailers(req)
  })
  // the rest of a body that is answered already occupies nothing, but its trailers do
  if (isChunked) {
    res.once('close', recount)
    socket.once('close', release)
  } else res.once('close', release)
  queueMicrotask(() => {
    if (isReleased) return
    body.bytes = memoryOf()
    bodies.add(body)
    if (!isChunked || isReleased) return
    socket.on('data', recount) // only the connection tells that trailers arrive
    setImmediate(recount) // further chunks of the piece that has arrived were counted as trailers
  })
}

function evict(req: Request, res: ServerResponse, answer: BrokerError): void {
  const stop = bodyProgress(req)?.stop
  if (stop === undefined || res.writableEnded) {
    req.socket.destroy()
    return
  }
  if (contentLength(req) === undefined) res.once('close', () => req.socket.destroySoon()) // more trailers may come
  stop(answer)
}

/** Nobody reads them. */
function dropTrailers(req: Request): void {
  req.rawTrailers = []
  req.trailers = {}
}

export interface UnfinishedBodiesOptions {
  readonly limits: BodyLimits
  readonly retryAfterSeconds: number
  readonly garbage: GarbageCollector
  readonly metrics: Metrics
}

/**
 * Bounds the memory that unfinished bodies occupy. An ordinary body is small, and complete within a moment. So new ones are
 * never refused: others are evicted, of the address that holds the most. A client that holds many bodies, or announces large
 * ones, evicts its own and turns nobody away.
 */
export function createUnfinishedBodies(options: UnfinishedBodiesOptions): UnfinishedBodies {
  const { limits, retryAfterSeconds, garbage, metrics } = options
  const all = createPool()
  const byAddress = new Map<string, Pool>()

  function remove(body: UnfinishedBody): void {
    const own = byAddress.get(body.address)
    if (own === undefined || !all.remove(body)) return
    own.remove(body)
    if (own.bodies.size === 0) byAddress.delete(body.address)
  }
  function evictWhile(next: () => UnfinishedBody | undefined, reason: string): void {
    for (let body = next(); body !== undefined; body = next()) {
      remove(body)
      metrics.requestsShed.inc({ kind: 'body', reason })
      body.evict(temporarilyUnavailable(retryAfterSeconds))
      garbage.dropped(body.bytes)
    }
  }
  function evictExcess(own: Pool): void {
    evictWhile(() => excessOf(own, limits.perAddress), 'address')
    evictWhile(() => excessOfAll(all, byAddress, limits.total), 'in_flight')
  }

  return {
    remove,
    add(body) {
      const own = byAddress.get(body.address) ?? createPool()
      byAddress.set(body.address, own)
      for (const pool of [all, own]) pool.add(body)
      evictExcess(own)
    },
    resize(body, bytes) {
      const own = byAddress.get(body.address)
      if (own === undefined || !all.bodies.has(body)) return
      for (const pool of [all, own]) pool.bytes += bytes - body.bytes
      body.bytes = bytes
      evictExcess(own)
    },
  }
}

interface Pool {
  /** The oldest first. */
  readonly bodies: ReadonlySet<UnfinishedBody>
  bytes: number
  add(body: UnfinishedBody): void
  /** False if it is not in the pool. */
  remove(body: UnfinishedBody): boolean
}

function createPool(): Pool {
  const bodies = new Set<UnfinishedBody>()
  return {
    bodies,
    bytes: 0,
    add(body) {
      bodies.add(body)
      this.bytes += body.bytes
    },
    remove(body) {
      const isRemoved = bodies.delete(body)
      if (isRemoved) this.bytes -= body.bytes
      return isRemoved
    },
  }
}

const SIZES = {
  bodies: ({ bodies }: Pool) => bodies.size,
  bytes: ({ bytes }: Pool) => bytes,
} as const

/** A body that is alone may be as large as it is: other limits apply to it. */
function exceeded(pool: Pool, limit: BodyLimit): keyof typeof SIZES | undefined {
  if (pool.bodies.size > limit.bodies) return 'bodies'
  return pool.bodies.size > 1 && pool.bytes > limit.bytes ? 'bytes' : undefined
}

/** Of one address: the oldest if there are too many, the largest if they are too large, so that its small ones stay. */
function excessOf(own: Pool, limit: BodyLimit): UnfinishedBody | undefined {
  const what = exceeded(own, limit)
  if (what === 'bodies') return oldestIn(own)
  return what && largest(olderHalf([...own.bodies]), ({ bytes }) => bytes)
}

/** The oldest of the address that holds the most. The only body of an address is spared while another address has several. */
function excessOfAll(
  all: Pool,
  byAddress: ReadonlyMap<string, Pool>,
  limit: BodyLimit,
): UnfinishedBody | undefined {
  const what = exceeded(all, limit)
  if (what === undefined) return undefined
  const pools = [...byAddress.values()]
  const several = pools.filter(({ bodies }) => bodies.size > 1)
  return oldestIn(largest(several.length > 0 ? several : olderHalf(pools), SIZES[what]))
}

function oldestIn(pool: Pool | undefined): UnfinishedBody | undefined {
  const [oldest] = pool?.bodies ?? []
  return oldest
}

/** The oldest of several that are equally large. */
function largest<T>([first, ...others]: readonly T[], size: (one: T) => number): T | undefined {
  return first && others.reduce((most, one) => (size(one) > size(most) ? one : most), first)
}

/** The newer ones get time to arrive, however large: otherwise a body larger than all others could always be evicted. */
function olderHalf<T>(oldestFirst: readonly T[]): readonly T[] {
  return oldestFirst.slice(0, Math.floor(oldestFirst.length / 2) + 1)
}
