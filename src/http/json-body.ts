import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import express, { type RequestHandler } from 'express'
import { bodyTooLarge, notJson, wrongContentType } from '../errors.ts'

const JSON_IN_UTF8 = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?(?:;\s*)?$/i

/** Bodies are JSON objects in UTF-8 up to a size; no body is an empty object, and then the content type does not matter. */
export function jsonBody({ limitBytes }: { limitBytes: number }): RequestHandler {
  const parse = express.json({
    limit: limitBytes,
    inflate: false,
    strict: true,
    type: () => true,
    verify: refuseOtherEncodings,
  })

  return function jsonBody(req, res, next) {
    if (req.method === 'GET' || req.method === 'HEAD') return next()
    if (!hasBody(req)) {
      req.body = {}
      return next()
    }
    if (!JSON_IN_UTF8.test(req.headers['content-type'] ?? '')) throw wrongContentType()
    if (req.headers['content-encoding'] !== undefined) throw wrongContentType()
    // the parser would read such a body to its end before it says so
    if (Number(req.headers['content-length'] ?? 0) > limitBytes) throw bodyTooLarge(limitBytes)
    parse(req, res, (error?: unknown) => {
      if (error !== undefined) return next(toBrokerError(error, limitBytes))
      req.body ??= {}
      if (typeof req.body !== 'object' || Array.isArray(req.body)) return next(notJson())
      next()
    })
  }
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
}

/** The parser would put U+FFFD in the place of what is not UTF-8: a password would not pass byte for byte. */
function refuseOtherEncodings(_req: IncomingMessage, _res: unknown, bytes: Buffer): void {
  if (!isUtf8(bytes)) throw new TypeError('the body is not UTF-8')
}

/** body-parser names its errors in `type`. */
function toBrokerError(error: unknown, limitBytes: number): unknown {
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return bodyTooLarge(limitBytes)
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') return wrongContentType()
  return notJson(error)
}
