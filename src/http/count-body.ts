import type { IncomingMessage } from 'node:http'
import type { BrokerError } from '../errors.ts'
import type { BodiesInFlight, Place } from './bodies-in-flight.ts'
import { countedAddress } from './counted-address.ts'
import { BYTES_OF_A_STRING, headerBytes } from './request-bytes.ts'
import { contextOf } from './request-context.ts'
import { countWireBytes } from './wire-bytes.ts'

export interface CountedBody {
  /** Undefined: in chunks. */
  readonly announcedBytes: number | undefined
  readonly receivedBytes: () => number
  evict(answer: BrokerError): void
}

/** Counts a request's body among those in flight until it is released: it arrives, is refused, or is evicted. */
export function countBody(
  req: IncomingMessage,
  bodies: BodiesInFlight,
  { announcedBytes, receivedBytes, evict }: CountedBody,
): { release(): void } {
  const { socket } = req
  const wireBytes = countWireBytes(socket)
  const headers = headerBytes(req)
  const isChunked = announcedBytes === undefined
  let place: Place | undefined
  let isOver = false

  const bytes = () => headers + (announcedBytes ?? chunkedBytes(req, receivedBytes(), wireBytes()))
  const recount = () => afterData(() => place?.resize(bytes()))
  const release = () => {
    isOver = true
    if (isChunked) socket.off('data', recount)
    place?.release()
  }
  afterData(() => {
    if (isOver) return
    place = bodies.admit({
      address: countedAddress(contextOf(req).address),
      bytes: bytes(),
      evict(answer) {
        release()
        evict(answer)
        dropHeaders(req)
      },
    })
    if (!isChunked || isOver) return
    socket.on('data', recount) // of trailers, only the connection tells
    setImmediate(recount) // further chunks of the piece that has arrived passed for trailers
  })
  return { release }
}

/** The piece that has arrived is read by then: at least its first chunk, or all of what announced its length. */
function afterData(work: () => void): void {
  queueMicrotask(work)
}

/**
 * Of an evicted request, whose answer is on its way. Thousands of header lines occupy half a megabyte, which would otherwise stay until
 * its connection has ended.
 */
function dropHeaders(req: IncomingMessage): void {
  req.rawHeaders = []
  req.headers = {}
}

/**
 * What has arrived of it: the data, whose buffer grows by doubling, and all that stands around the data, each byte of which
 * may be a trailer, kept by Node.
 */
function chunkedBytes(req: IncomingMessage, receivedBytes: number, wireBytes: number): number {
  const around = wireBytes - headTextBytes(req) - receivedBytes
  return 2 * receivedBytes + BYTES_OF_A_STRING * Math.max(0, around)
}

/** Of the request's head at least, as it was sent: `POST /path HTTP/1.1`, lines with a colon, an empty line. */
function headTextBytes({ method = '', url = '', rawHeaders }: IncomingMessage): number {
  const firstAndEmptyLine = method.length + url.length + ' HTTP/1.1'.length + 5
  return (
    rawHeaders.reduce((bytes, text) => bytes + text.length, firstAndEmptyLine) + (rawHeaders.length / 2) * 3
  )
}
