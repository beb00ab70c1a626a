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
  /** Gives the encoding of a path. Default: JSON. */
  readonly findRoutes?: (path: string) => { readonly encoding: BodyEncoding } | undefined
}

/**
 * Parses bodies into `req.body`: JSON objects, or forms if the route has that encoding, in UTF-8 and with a maximum size. Without a body,
 * `req.body` is an empty object, and the content type is not checked.
 */
export function bodyParser({ limitBytes, findRoutes }: BodyParserOptions): RequestHandler {
  return function bodyParser(req, _res, next) {
    if (req.method === 'GET' || req.method === 'HEAD') {
      if (hasBody(req)) discardBody(req) // otherwise Node would buffer it
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
      req.body = parseBytes(bytes, encoding)
      next(req.body === undefined ? notJson() : undefined)
    })
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Undefined for a chunked body. Node refuses a request with both headers. */
export function contentLength({ headers }: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length']) : undefined
}

/** How much of a body has arrived. */
interface BodyProgress {
  received: number
  /** Set if the rest of the body is discarded: how much of it has arrived. */
  discarded?: number
  /** Stops reading and responds with the error. Undefined for a body that is not read. */
  stop?: (error: BrokerError) => void
}

const progresses = new WeakMap<IncomingMessage, BodyProgress>()

/** Undefined if the body is neither read nor discarded yet. */
export function bodyProgress(req: IncomingMessage): Readonly<BodyProgress> | undefined {
  return progresses.get(req)
}

/** Discards the rest of a body as it arrives, so that the connection can serve the next request. */
export function discardBody(req: IncomingMessage): void {
  if (req.complete) return
  const progress: BodyProgress = progresses.get(req) ?? { received: 0 }
  if (progress.discarded !== undefined) return
  progress.discarded = 0
  progresses.set(req, progress)
  req.on('data', ({ length }: Buffer) => {
    progress.discarded = (progress.discarded ?? 0) + length
  })
}

/**
 * Reads a body of at most `limitBytes`. Chunks are copied into one buffer: as a list of chunks, 64 kB that a client sends byte by byte
 * would occupy 16 MB. `done` is called once, unless the client disconnects first.
 */
function readBody(
  req: IncomingMessage,
  limitBytes: number,
  done: (error: BrokerError | undefined, body: Buffer) => void,
): void {
  let buffer = EMPTY
  const stop = (error: BrokerError | undefined, body = EMPTY) => {
    req.off('data', append).off('end', finish)
    buffer = EMPTY
    done(error, body)
  }
  const progress: BodyProgress = { received: 0, stop }
  progresses.set(req, progress)

  function append(chunk: Buffer): void {
    const before = progress.received
    const length = before + chunk.length
    progress.received = length
    if (length > limitBytes) {
      stop(bodyTooLarge(limitBytes))
      return
    }
    if (before === 0) {
      buffer = chunk // usually the whole body
      return
    }
    if (length > buffer.length) buffer = grow(buffer, before, Math.min(limitBytes, 2 * length))
    chunk.copy(buffer, before)
  }
  function finish(): void {
    stop(undefined, buffer.subarray(0, progress.received))
  }
  req.on('data', append).on('end', finish)
}

const EMPTY: Buffer = Buffer.alloc(0)

function grow(buffer: Buffer, length: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes)
  buffer.copy(larger, 0, 0, length)
  return larger
}

/**
 * Undefined for invalid bodies. Bytes that are not UTF-8 are refused: decoding would replace them with U+FFFD, and a password would not be
 * passed on byte for byte.
 */
function parseBytes(bytes: Buffer, encoding: BodyEncoding): object | undefined {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString().replace(BYTE_ORDER_MARK, '')
  if (encoding === 'form') return { ...parseQuery(text) }
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined // the error is not kept, because its message quotes the body
  }
}

const BYTE_ORDER_MARK = /^\uFEFF/

/** By default, Node would ignore the parameters after the first 1,000, and they could not be refused. */
export function parseQuery(query: string): ParsedUrlQuery {
  return parse(query, '&', '=', { maxKeys: 0 })
}

/**
 * Estimates the memory of the URL and the header lines. Only `maxHeaderBytes` limits their number, and it does not count separators, so
 * 16 kB of empty header lines occupy half a megabyte.
 */
function headerBytes({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + BYTES_PER_STRING + text.length, url.length)
}

/** Returns a function that estimates the memory of a request with an unfinished body. */
export function measureUnfinishedBody(req: Request, res: ServerResponse): () => number {
  const length = contentLength(req)
  const [headers, headText] = [headerBytes(req), headTextBytes(req)]
  const wireBytes = countWireBytes(req.socket)
  return () => {
    const head = res.writableEnded ? 0 : headers
    const progress = bodyProgress(req)
    if (length !== undefined) return head + (progress?.stop === undefined ? 0 : length)
    const { received = 0, discarded = 0 } = progress ?? {}
    const buffer = res.writableEnded ? 0 : 2 * received // it grows by doubling
    const trailers = wireBytes() - headText - received - discarded // an upper bound, as it includes chunk headers
    return head + buffer + BYTES_PER_STRING * Math.max(0, trailers)
  }
}

/** The minimum length of the request's head: `POST /path HTTP/1.1`, header lines with a colon, an empty line. */
function headTextBytes({ method, url, rawHeaders }: Request): number {
  const firstAndEmptyLine = method.length + url.length + ' HTTP/1.1'.length + 5
  return (
    rawHeaders.reduce((bytes, text) => bytes + text.length, firstAndEmptyLine) + (rawHeaders.length / 2) * 3
  )
}

/** An upper bound of the memory of a request with a parsed body. */
export function estimateRequestBytes(req: IncomingMessage & { readonly body?: unknown }): number {
  return headerBytes(req) + valueBytes(req.body)
}

/** Not recursive, because a body of 64 kB can be thousands of levels deep. */
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

// Measured maxima in V8: for a header's name or value in `rawHeaders` and `headers`, for `{}` in a list, for a property name that no
// other object has, for a character outside Latin-1.
const BYTES_PER_STRING = 48
const BYTES_PER_VALUE = 72
const BYTES_PER_NAME = 150
const BYTES_PER_CHARACTER = 2
