import { type RequestListener, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { RequestHandler } from 'express'
import { v4 as uuid } from 'uuid'
import {
  type BrokerError,
  malformedRequest,
  requestTooSlow,
  toErrorObject,
  tooLong,
  unmetExpectation,
} from '../errors.ts'

/** A URL that is longer than any of ours could be. */
export function refuseLongUrl({ maxUrlBytes }: { maxUrlBytes: number }): RequestHandler {
  return function refuseLongUrl(req, _res, next) {
    if (Buffer.byteLength(req.url) > maxUrlBytes) throw tooLong('url', 414)
    next()
  }
}

/**
 * Requests that Node refuses before any of our code sees them: no HTTP, headers too large, too slow. They get the
 * one error shape too, and the connection ends.
 */
export function answerMalformed(error: Error, socket: Socket): void {
  if (!socket.writable || ('code' in error && error.code === 'ECONNRESET')) {
    socket.destroy()
    return
  }
  const { status, headers, body } = inFull(refusalFor('code' in error ? error.code : undefined))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Node no longer counts this connection: one whose client never hangs up would stay for ever
  const hangUp = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(hangUp))
}

/** `Expect` with anything but `100-continue` (RFC 9110 §10.1.1): refused before any of our code sees it, as those are. */
export const refuseExpectation: RequestListener = (_req, res) => {
  const { status, headers, body } = inFull(unmetExpectation())
  res.writeHead(status, headers).end(body)
}

/** For the answer to arrive before the connection is cut. */
const LINGER_MS = 1000

function inFull(refusal: BrokerError) {
  const body = JSON.stringify(toErrorObject(refusal, uuid()))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  }
  return { status: refusal.status, headers, body }
}

function refusalFor(code: unknown): BrokerError {
  if (code === 'HPE_HEADER_OVERFLOW') return tooLong('headers', 431)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTooSlow()
  return malformedRequest()
}
