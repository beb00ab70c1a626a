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
  /** The memory of all of them together. */
  readonly bytes: number
}

export interface UnfinishedBody {
  readonly address: string
  /** The memory of the request. */
  bytes: number
  /** Frees that memory and refuses the request. */
  readonly evict: (error: BrokerError) => void
}

export interface UnfinishedBodies {
  /** If a limit is exceeded, evicts bodies, possibly this one. */
  add(body: UnfinishedBody): void
  /** Changes the size of a body, and evicts bodies if a limit is exceeded. */
  resize(body: UnfinishedBody, bytes: number): void
  /** For a body that is complete, or whose client has disconnected. */
  remove(body: UnfinishedBody): void
}

/**
 * Counts each request body as unfinished until it is complete or the client disconnects. The body of a GET or of a refused request is
 * discarded as it arrives, so only the headers and trailers that Node stores are counted.
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
    evict(error) {
      release()
      evict(req, res, error)
    },
  }
  // in a microtask, after Node has read the data that has arrived: at least the first chunk, or a whole body with a length
  const recount = () => queueMicrotask(() => bodies.resize(body, memoryOf()))
  const release = () => {
    isReleased = true
    socket.off('data', recount).off('close', release)
    bodies.remove(body)
  }
  req.once('end', () => {
    release()
    freeTrailers(req)
  })
  // after an early response, the rest of the body occupies no memory, but its trailers do
  if (isChunked) {
    res.once('close', recount)
    socket.once('close', release)
  } else res.once('close', release)
  queueMicrotask(() => {
    if (isReleased) return
    body.bytes = memoryOf()
    bodies.add(body)
    if (!isChunked || isReleased) return
    socket.on('data', recount) // trailers cause no event of the request
    setImmediate(recount) // chunks that are not read yet were counted as trailers
  })
}

function evict(req: Request, res: ServerResponse, error: BrokerError): void {
  const stop = bodyProgress(req)?.stop
  if (stop === undefined || res.writableEnded) {
    req.socket.destroy()
    return
  }
  if (contentLength(req) === undefined) res.once('close', () => req.socket.destroySoon()) // more trailers may arrive
  stop(error)
}

/** Trailers are not used. */
function freeTrailers(req: Request): void {
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
 * Limits the memory of unfinished bodies. An ordinary body is small and complete at once, so new bodies are never refused. Instead, bodies
 * of the address with the largest usage are evicted. A client that keeps many bodies open, or declares large ones, therefore evicts its
 * own and does not affect other clients.
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
      garbage.noteFreed(body.bytes)
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
  /** Oldest first. */
  readonly bodies: ReadonlySet<UnfinishedBody>
  bytes: number
  add(body: UnfinishedBody): void
  /** False if the body is not in the pool. */
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

/** A single body never exceeds the limit in bytes: other limits apply to it. */
function exceeded(pool: Pool, limit: BodyLimit): keyof typeof SIZES | undefined {
  if (pool.bodies.size > limit.bodies) return 'bodies'
  return pool.bodies.size > 1 && pool.bytes > limit.bytes ? 'bytes' : undefined
}

/** Of one address: the oldest body if there are too many, the largest one if they are too large, so that small ones stay. */
function excessOf(own: Pool, limit: BodyLimit): UnfinishedBody | undefined {
  const size = exceeded(own, limit)
  if (size === 'bodies') return oldestIn(own)
  return size && largest(olderHalf([...own.bodies]), ({ bytes }) => bytes)
}

/** The oldest body of the address with the largest usage. The only body of an address stays while another address has several. */
function excessOfAll(
  all: Pool,
  byAddress: ReadonlyMap<string, Pool>,
  limit: BodyLimit,
): UnfinishedBody | undefined {
  const size = exceeded(all, limit)
  if (size === undefined) return undefined
  const pools = [...byAddress.values()]
  const several = pools.filter(({ bodies }) => bodies.size > 1)
  return oldestIn(largest(several.length > 0 ? several : olderHalf(pools), SIZES[size]))
}

function oldestIn(pool: Pool | undefined): UnfinishedBody | undefined {
  const [oldest] = pool?.bodies ?? []
  return oldest
}

/** The first of several equally large items. */
function largest<T>([first, ...others]: readonly T[], size: (item: T) => number): T | undefined {
  return first && others.reduce((max, item) => (size(item) > size(max) ? item : max), first)
}

/** Newer items get time to arrive: otherwise the largest body of all could be evicted every time. */
function olderHalf<T>(oldestFirst: readonly T[]): readonly T[] {
  return oldestFirst.slice(0, Math.floor(oldestFirst.length / 2) + 1)
}
