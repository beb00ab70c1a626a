import { type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { v4 as uuid } from 'uuid'
import {
  type BrokerError,
  headersTooLong,
  malformedRequest,
  requestTooSlow,
  toErrorObject,
  unmetExpectation,
} from '../errors.ts'
import { sendError } from './error-handler.ts'
import { socketAddress, type Telemetry } from './request-context.ts'

/**
 * Responds to requests that Node refuses (invalid HTTP, headers too large, too slow) with an Error
 * object, and closes the connection. Most of them have reached no middleware, so they are logged
 * and counted here. `begun` is the response of a request that has: its body is invalid, and the
 * error is sent like any other.
 */
export function refuseMalformed(telemetry?: Telemetry) {
  const refused = new WeakSet<Socket>()

  return function refuseMalformed(error: Error, socket: Socket, begun?: ServerResponse): void {
    // each further chunk causes an error; ignored, so that the response arrives
    if (refused.has(socket)) return
    const code = 'code' in error ? error.code : undefined
    // browsers and proxies open connections ahead of time: a response would answer a later request
    const isUnused = socket.bytesRead === 0
    if (!socket.writable || code === 'ECONNRESET' || isUnused) {
      socket.destroy()
      return
    }
    refused.add(socket)
    const context = begun?.req.context
    if (begun === undefined || context === undefined) sendRaw(socket, refusalFor(code), telemetry)
    else if (!begun.headersSent) sendError(begun.setHeader('Connection', 'close'), refusalFor(code), context)
    // Node has no time limit for this connection any more
    const closing = setTimeout(() => socket.destroy(), CLOSE_AFTER_MS)
    socket.once('close', () => clearTimeout(closing))
  }
}

/** Time for the response to arrive. */
const CLOSE_AFTER_MS = 1000

function refusalFor(code: unknown): BrokerError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLong()
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTooSlow()
  return malformedRequest()
}

function sendRaw(socket: Socket, refusal: BrokerError, telemetry: Telemetry | undefined): void {
  const { headers, body } = createRefusal(refusal, socket, telemetry)
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/**
 * Refuses an `Expect` header other than `100-continue` (RFC 9110 §10.1.1). Such a request reaches
 * no middleware.
 */
export function refuseExpectation(telemetry?: Telemetry): RequestListener {
  return (req, res) => {
    const refusal = unmetExpectation()
    const { headers, body } = createRefusal(refusal, req.socket, telemetry)
    res.writeHead(refusal.status, headers).end(body)
  }
}

/** Logs and counts the refusal. */
function createRefusal(refusal: BrokerError, socket: Socket, telemetry: Telemetry | undefined) {
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
  if (telemetry !== undefined) {
    // method and route are unknown; the duration is the client's
    const labels = { method: 'other', route: 'none', status: refusal.status }
    telemetry.metrics.httpRequestDuration.observe(labels, 0)
    const address = socketAddress(socket)
    telemetry.log.info('request', { requestId, address, ...labels, errorCode: refusal.code })
  }
  return { headers, body }
}
