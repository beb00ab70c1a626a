import { type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http'
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
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { socketAddress } from './client-address.ts'
import { contextIfBegun, type RequestContext } from './request-context.ts'
import { sendJson } from './send-json.ts'
import { isAnsweredWithoutBody } from './without-body.ts'

/** A URL that is longer than any of ours could be. */
export function refuseLongUrl({ maxUrlBytes }: { maxUrlBytes: number }): RequestHandler {
  return function refuseLongUrl(req, _res, next) {
    if (Buffer.byteLength(req.url) > maxUrlBytes) throw tooLong('url', 414)
    next()
  }
}

/** Where a refused request is written down, as `beginRequest` does with every other one. */
export interface RequestRecords {
  readonly log: Logger
  readonly metrics: Metrics
}

/**
 * Requests that Node refuses: no HTTP, headers too large, too slow. They get the one error shape too, and the connection
 * ends. Mostly none of our code has seen such a request, and its one log line and metric are made here; one that had
 * begun (`begun`: its body is at fault) is answered and written down like any other.
 */
export function refuseMalformed(records?: RequestRecords) {
  const refused = new WeakSet<Socket>()

  return function refuseMalformed(error: Error, socket: Socket, begun?: ServerResponse): void {
    if (refused.has(socket)) return // every further piece of it fails; all are dropped, so that the answer arrives
    if (!socket.writable || ('code' in error && error.code === 'ECONNRESET')) {
      socket.destroy()
      return
    }
    refused.add(socket)
    const refusal = refusalFor('code' in error ? error.code : undefined)
    const context = begun === undefined ? undefined : contextIfBegun(begun.req)
    if (begun !== undefined && context !== undefined) answerBegun(begun, refusal, context)
    else answerRaw(socket, refusal, records)
    // Node no longer counts this connection: one whose client never hangs up would stay for ever
    const hangUp = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(hangUp))
  }
}

/** For the answer to arrive before the connection is cut. */
const LINGER_MS = 1000

/** Express puts `locals` there. */
type BegunResponse = ServerResponse & { readonly locals?: object }

function answerBegun(res: BegunResponse, refusal: BrokerError, { requestId }: RequestContext): void {
  if (res.headersSent) return // too late to say more
  Object.assign(res.locals ?? {}, { errorCode: refusal.code })
  res.statusCode = refusal.status
  res.setHeader('Connection', 'close')
  if (isAnsweredWithoutBody(res.req)) res.end()
  else sendJson(res, toErrorObject(refusal, requestId))
}

function answerRaw(socket: Socket, refusal: BrokerError, records: RequestRecords | undefined): void {
  const { status } = refusal
  const { requestId, headers, body } = inFull(refusal)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  if (socket.bytesRead === 0) return // opened ahead and never used: no request
  writeDown(records, refusal, requestId, socket)
}

/** `Expect` with anything but `100-continue` (RFC 9110 §10.1.1): refused before any of our code sees it, as those are. */
export function refuseExpectation(records?: RequestRecords): RequestListener {
  return (req, res) => {
    const refusal = unmetExpectation()
    const { requestId, headers, body } = inFull(refusal)
    res.writeHead(refusal.status, headers).end(body)
    writeDown(records, refusal, requestId, req.socket)
  }
}

function inFull(refusal: BrokerError) {
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
  return { requestId, headers, body }
}

function writeDown(
  records: RequestRecords | undefined,
  { status, code }: BrokerError,
  requestId: string,
  socket: Socket,
): void {
  // what the request asked for is not known; the time until it was here is the client's
  const asked = { method: 'other', route: 'none', status }
  records?.metrics.httpRequests.observe(asked, 0)
  records?.log.info('request', { requestId, address: socketAddress(socket), ...asked, errorCode: code })
}

function refusalFor(code: unknown): BrokerError {
  if (code === 'HPE_HEADER_OVERFLOW') return tooLong('headers', 431)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTooSlow()
  return malformedRequest()
}
