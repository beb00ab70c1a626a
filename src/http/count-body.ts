import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request, RequestHandler } from 'express'
import type { BrokerError } from '../errors.ts'
import type { BodiesInFlight, Place } from './bodies-in-flight.ts'
import { countedAddress } from './counted-address.ts'
import { BYTES_OF_A_STRING, headerBytes } from './request-bytes.ts'
import { contextOf } from './request-context.ts'
import { countWireBytes } from './wire-bytes.ts'

/** How a body is being read. */
export interface BodyReader {
  readonly receivedBytes: () => number
  evict(answer: BrokerError): void
}

const readers = new WeakMap<IncomingMessage, BodyReader>()

/** Instead of being cut, its connection is answered when the body is evicted. */
export function readBy(req: IncomingMessage, reader: BodyReader): void {
  readers.set(req, reader)
}

const discarded = new WeakMap<IncomingMessage, number>()

/** The rest of the body is read and dropped, so that its connection can serve the next request. */
export function discardBody(req: IncomingMessage): void {
  if (req.complete || discarded.has(req)) return
  discarded.set(req, 0)
  req.on('data', ({ length }: Buffer) => discarded.set(req, (discarded.get(req) ?? 0) + length))
}

/**
 * Counts each request's body among those in flight until it is complete or gone. One that nobody reads, of a GET or of a
 * request that is refused, is discarded as it arrives: only what Node keeps of it counts, its headers and trailers.
 */
export function countBodies(bodies: BodiesInFlight): RequestHandler {
  return function countBodies(req, res, next) {
    if (hasBody(req)) countBody(req, res, bodies)
    next()
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Undefined for a body in chunks. Node accepts no request that has both headers. */
export function announcedBytes({ headers }: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length']) : undefined
}

function countBody(req: Request, res: ServerResponse, bodies: BodiesInFlight): void {
  const { socket } = req
  const wireBytes = countWireBytes(socket)
  const [headers, headText] = [headerBytes(req), headTextBytes(req)]
  const announced = announcedBytes(req)
  let place: Place | undefined
  let isOver = false

  const chunkedBytes = () => {
    const received = readers.get(req)?.receivedBytes() ?? 0
    const around = wireBytes() - headText - received - (discarded.get(req) ?? 0)
    return (res.writableEnded ? 0 : bytesOfBuffer(received)) + bytesOfTrailers(around)
  }
  const bodyBytes = () => {
    if (announced === undefined) return chunkedBytes()
    return readers.has(req) ? announced : 0
  }
  const bytes = () => (res.writableEnded ? 0 : headers) + bodyBytes()
  const recount = () => afterData(() => place?.resize(bytes()))
  const release = () => {
    isOver = true
    socket.off('data', recount).off('close', release)
    place?.release()
  }
  req.once('end', () => {
    release()
    dropTrailers(req)
  })
  // the rest of a body that is answered already occupies nothing, but its trailers do
  if (announced === undefined) {
    res.once('close', recount)
    socket.once('close', release)
  } else res.once('close', release)
  afterData(() => {
    if (isOver) return
    place = bodies.admit({
      address: countedAddress(contextOf(req).address),
      bytes: bytes(),
      evict(answer) {
        release()
        const reader = readers.get(req)
        if (reader === undefined || res.writableEnded) socket.destroy()
        else {
          if (announced === undefined) res.once('close', () => socket.destroySoon()) // it would go on to hold its trailers
          reader.evict(answer)
        }
      },
    })
    if (announced !== undefined || isOver) return
    socket.on('data', recount) // of trailers, only the connection tells
    setImmediate(recount) // further chunks of the piece that has arrived passed for trailers
  })
}

/** The piece that has arrived is read by then: at least its first chunk, or all of what announced its length. */
function afterData(work: () => void): void {
  queueMicrotask(work)
}

/** Nobody reads them. */
function dropTrailers(req: IncomingMessage): void {
  req.rawTrailers = []
  req.trailers = {}
}

/** It grows by doubling. */
function bytesOfBuffer(received: number): number {
  return 2 * received
}

/** All that stands around the data: each byte may be a trailer, kept by Node. */
function bytesOfTrailers(around: number): number {
  return BYTES_OF_A_STRING * Math.max(0, around)
}

/** Of the request's head at least, as it was sent: `POST /path HTTP/1.1`, lines with a colon, an empty line. */
function headTextBytes({ method, url, rawHeaders }: Request): number {
  const firstAndEmptyLine = method.length + url.length + ' HTTP/1.1'.length + 5
  return (
    rawHeaders.reduce((bytes, text) => bytes + text.length, firstAndEmptyLine) + (rawHeaders.length / 2) * 3
  )
}
