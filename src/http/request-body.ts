import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import type { Request, RequestHandler } from 'express'
import { type BrokerError, bodyTooLarge, notJson, wrongContentType } from '../errors.ts'
import { countWireBytes } from './connections.ts'

export type BodyEncoding = 'json' | 'form'

export const MEDIA_TYPES: Readonly<Record<BodyEncoding, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
}

const IN_UTF8 = '\\s*(?:;\\s*charset\\s*=\\s*"?utf-8"?\\s*)?(?:;\\s*)?$'
const CONTENT_TYPES: Readonly<Record<BodyEncoding, RegExp>> = {
  json: new RegExp(`^${MEDIA_TYPES.json}${IN_UTF8}`, 'i'),
  form: new RegExp(`^${MEDIA_TYPES.form}${IN_UTF8}`, 'i'),
}

export interface BodyParserOptions {
  readonly limitBytes: number
  /** Bodies are JSON unless the route of the path has another encoding. */
  readonly findRoutes?: (path: string) => { readonly encoding: BodyEncoding } | undefined
}

/**
 * Reads bodies into `req.body`: JSON objects, or forms where the route says so, in UTF-8 up to a size. No body is an empty
 * object, and then the content type does not matter.
 */
export function bodyParser({ limitBytes, findRoutes }: BodyParserOptions): RequestHandler {
  return function bodyParser(req, _res, next) {
    if (req.method === 'GET' || req.method === 'HEAD') {
      if (hasBody(req)) discardBody(req) // otherwise Node would keep it piece by piece
      return next()
    }
    if (!hasBody(req)) {
      req.body = {}
      return next()
    }
    const encoding = findRoutes?.(req.path)?.encoding ?? 'json'
    const isExpected = CONTENT_TYPES[encoding].test(req.headers['content-type'] ?? '')
    if (!isExpected || req.headers['content-encoding'] !== undefined)
      throw wrongContentType(MEDIA_TYPES[encoding])
    if ((contentLength(req) ?? 0) > limitBytes) throw bodyTooLarge(limitBytes)
    readBody(req, limitBytes, (error, bytes) => {
      if (error !== undefined) return next(error)
      req.body = parsed(bytes, encoding)
      next(req.body === undefined ? notJson() : undefined)
    })
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Undefined for a chunked body. Node accepts no request that has both headers. */
export function contentLength({ headers }: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length']) : undefined
}

/** How much of a body has arrived. */
interface Arrival {
  received: number
  /** Bytes that were not kept; undefined unless the rest of the body is discarded. */
  discarded?: number
  /** Stops reading, and answers with this error; undefined for a body that is not read. */
  stop?: (answer: BrokerError) => void
}

const arrivals = new WeakMap<IncomingMessage, Arrival>()

/** Undefined while nothing reads or discards the body. */
export function bodyProgress(req: IncomingMessage): Readonly<Arrival> | undefined {
  return arrivals.get(req)
}

/** Reads and drops the rest of a body, so that its connection can serve the next request. */
export function discardBody(req: IncomingMessage): void {
  if (req.complete) return
  const arrival: Arrival = arrivals.get(req) ?? { received: 0 }
  if (arrival.discarded !== undefined) return
  arrival.discarded = 0
  arrivals.set(req, arrival)
  req.on('data', ({ length }: Buffer) => {
    arrival.discarded = (arrival.discarded ?? 0) + length
  })
}

/**
 * Reads a body of at most `limitBytes`. Its pieces are copied into one buffer: 64 kB that a client sends byte by byte would
 * occupy 16 MB as a list of pieces. `done` is called once, but not if the client goes away first.
 */
function readBody(
  req: IncomingMessage,
  limitBytes: number,
  done: (error: BrokerError | undefined, body: Buffer) => void,
): void {
  let buffer = NOTHING
  const stop = (error: BrokerError | undefined, body = NOTHING) => {
    req.off('data', take).off('end', finish)
    buffer = NOTHING
    done(error, body)
  }
  const arrival: Arrival = { received: 0, stop }
  arrivals.set(req, arrival)

  function take(chunk: Buffer): void {
    const before = arrival.received
    const length = before + chunk.length
    arrival.received = length
    if (length > limitBytes) {
      stop(bodyTooLarge(limitBytes))
      return
    }
    if (before === 0) {
      buffer = chunk // mostly all of it
      return
    }
    if (length > buffer.length) buffer = grown(buffer, before, Math.min(limitBytes, 2 * length))
    chunk.copy(buffer, before)
  }
  function finish(): void {
    stop(undefined, buffer.subarray(0, arrival.received))
  }
  req.on('data', take).on('end', finish)
}

const NOTHING: Buffer = Buffer.alloc(0)

function grown(buffer: Buffer, length: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes)
  buffer.copy(larger, 0, 0, length)
  return larger
}

/**
 * Undefined if it is not a JSON object, or a form. Other encodings are refused: decoding would put U+FFFD in the place of
 * bytes that are not UTF-8, and a password would not pass byte for byte.
 */
function parsed(bytes: Buffer, encoding: BodyEncoding): object | undefined {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString().replace(BYTE_ORDER_MARK, '')
  if (encoding === 'form') return { ...parseQuery(text) }
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined // not JSON; the error's message quotes the body
  }
}

const BYTE_ORDER_MARK = /^\uFEFF/

/** Every parameter of a query or form. Node would read the first 1,000, and one that is not read could not be refused. */
export function parseQuery(query: string): ParsedUrlQuery {
  return parse(query, '&', '=', { maxKeys: 0 })
}

/**
 * About how much memory the URL and the header lines of a request occupy. Only `maxHeaderBytes` limits their number, and it
 * counts no separators, so 16 kB of empty lines occupy half a megabyte.
 */
export function headerBytes({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + BYTES_PER_STRING + text.length, url.length)
}

/** Gives the memory that a request with an unfinished body occupies at the moment. */
export function measureUnfinishedBody(req: Request, res: ServerResponse): () => number {
  const announced = contentLength(req)
  const [headers, headText] = [headerBytes(req), headTextBytes(req)]
  const wireBytes = countWireBytes(req.socket)
  return () => {
    const head = res.writableEnded ? 0 : headers
    const arrival = bodyProgress(req)
    if (announced !== undefined) return head + (arrival?.stop === undefined ? 0 : announced)
    const { received = 0, discarded = 0 } = arrival ?? {}
    const buffer = res.writableEnded ? 0 : 2 * received // it grows by doubling
    const around = wireBytes() - headText - received - discarded // each byte may be a trailer, kept by Node
    return head + buffer + BYTES_PER_STRING * Math.max(0, around)
  }
}

/** The least size of the request's head as it was sent: `POST /path HTTP/1.1`, lines with a colon, an empty line. */
function headTextBytes({ method, url, rawHeaders }: Request): number {
  const firstAndEmptyLine = method.length + url.length + ' HTTP/1.1'.length + 5
  return (
    rawHeaders.reduce((bytes, text) => bytes + text.length, firstAndEmptyLine) + (rawHeaders.length / 2) * 3
  )
}

/** The memory that a request with a parsed body occupies until it is answered, at most. */
export function estimateRequestBytes(req: IncomingMessage & { readonly body?: unknown }): number {
  return headerBytes(req) + valueBytes(req.body)
}

/** Not recursive: a body may be as deep as it is long. */
function valueBytes(body: unknown): number {
  let bytes = 0
  const values = [body]
  while (values.length > 0) {
    const value = values.pop()
    bytes += BYTES_PER_VALUE
    if (typeof value === 'string') bytes += BYTES_PER_CHARACTER * value.length
    else if (Array.isArray(value)) for (const item of value) values.push(item)
    else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        bytes += BYTES_PER_NAME + BYTES_PER_CHARACTER * name.length
        values.push(member)
      }
    }
  }
  return bytes
}

// The most that V8 needs, as measured: for a header's name or value in `rawHeaders` and in `headers`, for `{}` in a list,
// for a name that no other object has, for a character that is not in Latin-1.
export const BYTES_PER_STRING = 48
const BYTES_PER_VALUE = 72
const BYTES_PER_NAME = 150
const BYTES_PER_CHARACTER = 2
