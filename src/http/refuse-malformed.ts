import { type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { v4 as uuid } from 'uuid'
import {
  type BrokerError,
  malformedRequest,
  requestTooSlow,
  toErrorObject,
  tooLong,
  unmetExpectation,
} from '../errors.ts'
import { sendError } from './error-handler.ts'
import { findRequestContext, socketAddress, type Telemetry } from './request-context.ts'

/**
 * Answers requests that Node refuses (no HTTP, headers too large, too slow) with the one error shape, and closes the
 * connection. Most of them reached no middleware, so their log line and measurement are made here. One that did (`begun`:
 * its body is at fault) is answered like any other.
 */
export function refuseMalformed(telemetry?: Telemetry) {
  const refused = new WeakSet<Socket>()

  return function refuseMalformed(error: Error, socket: Socket, begun?: ServerResponse): void {
    if (refused.has(socket)) return // every further piece of it fails; all are dropped, so that the answer arrives
    const code = 'code' in error ? error.code : undefined
    if (!socket.writable || code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    refused.add(socket)
    const context = begun && findRequestContext(begun.req)
    if (begun === undefined || context === undefined) sendRaw(socket, refusalFor(code), telemetry)
    else if (!begun.headersSent) sendError(begun.setHeader('Connection', 'close'), refusalFor(code), context)
    // Node no longer watches this connection: if its client never closed it, it would stay open for ever
    const hangUp = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(hangUp))
  }
}

/** For the answer to arrive before the connection is cut. */
const LINGER_MS = 1000

function refusalFor(code: unknown): BrokerError {
  if (code === 'HPE_HEADER_OVERFLOW') return tooLong('headers', 431)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTooSlow()
  return malformedRequest()
}

function sendRaw(socket: Socket, refusal: BrokerError, telemetry: Telemetry | undefined): void {
  const { headers, body } = recordedAnswer(refusal, socket, telemetry)
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** Refuses an `Expect` other than `100-continue` (RFC 9110 §10.1.1). Such a request reaches no middleware either. */
export function refuseExpectation(telemetry?: Telemetry): RequestListener {
  return (req, res) => {
    const refusal = unmetExpectation()
    const { headers, body } = recordedAnswer(refusal, req.socket, telemetry)
    res.writeHead(refusal.status, headers).end(body)
  }
}

function recordedAnswer(refusal: BrokerError, socket: Socket, telemetry: Telemetry | undefined) {
  const requestId = uuid()
  const body = JSON.stringify(toErrorObject(refusal, requestId))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  }
  // a connection that was opened ahead and never used is no request
  if (telemetry !== undefined && socket.bytesRead > 0) {
    // method and route are not known; the time until it was here is the client's
    const labels = { method: 'other', route: 'none', status: refusal.status }
    telemetry.metrics.httpRequestDuration.observe(labels, 0)
    const address = socketAddress(socket)
    telemetry.log.info('request', { requestId, address, ...labels, errorCode: refusal.code })
  }
  return { headers, body }
}
