import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { bodyTooLarge, notJson, wrongContentType } from '../errors.ts'
import type { BodiesInFlight } from './bodies-in-flight.ts'
import { countedAddress } from './counted-address.ts'
import { readBody } from './read-body.ts'
import { contextOf } from './request-context.ts'

const JSON_IN_UTF8 = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?(?:;\s*)?$/i

export interface JsonBodyParts {
  readonly limitBytes: number
  /** Limits the bodies that are still arriving; not needed where only operators may send any. */
  readonly bodies?: BodiesInFlight
}

/** Bodies are JSON objects in UTF-8 up to a size; no body is an empty object, and then the content type does not matter. */
export function jsonBody({ limitBytes, bodies }: JsonBodyParts): RequestHandler {
  return function jsonBody(req, _res, next) {
    if (req.method === 'GET' || req.method === 'HEAD') return next()
    if (!hasBody(req)) {
      req.body = {}
      return next()
    }
    if (!JSON_IN_UTF8.test(req.headers['content-type'] ?? '')) throw wrongContentType()
    if (req.headers['content-encoding'] !== undefined) throw wrongContentType()
    const announcedBytes = announced(req)
    if (announcedBytes !== undefined && announcedBytes > limitBytes) throw bodyTooLarge(limitBytes)

    const place = bodies?.admit({
      address: countedAddress(contextOf(req).address),
      bytes: announcedBytes ?? limitBytes,
      evict(answer) {
        stop()
        next(answer)
      },
    })
    req.once('close', () => place?.release())
    const stop = readBody(req, limitBytes, (error, bytes) => {
      place?.release()
      if (error !== undefined) return next(error)
      req.body = parsed(bytes)
      next(req.body === undefined ? notJson() : undefined)
    })
  }
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
}

/** Undefined for a body in chunks. Node accepts no request that has both headers. */
function announced(req: IncomingMessage): number | undefined {
  return req.headers['transfer-encoding'] === undefined ? Number(req.headers['content-length']) : undefined
}

/**
 * Undefined if it is not a JSON object. Other encodings are refused: decoding would put U+FFFD in the place of what is
 * not UTF-8, and a password would not pass byte for byte.
 */
function parsed(bytes: Buffer): object | undefined {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString().replace(BYTE_ORDER_MARK, ''))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined // not JSON; the error's message quotes the body
  }
}

const BYTE_ORDER_MARK = /^\uFEFF/
