import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import express, { type RequestHandler } from 'express'
import { bodyTooLarge, notJson, wrongContentType } from '../errors.ts'
import { type BodyEncoding, MEDIA_TYPES } from './body-encoding.ts'

const IN_UTF8 = '\\s*(?:;\\s*charset\\s*=\\s*"?utf-8"?\\s*)?(?:;\\s*)?$'
const CONTENT_TYPES: Readonly<Record<BodyEncoding, RegExp>> = {
  json: new RegExp(`^application/json${IN_UTF8}`, 'i'),
  form: new RegExp(`^application/x-www-form-urlencoded${IN_UTF8}`, 'i'),
}
const MAX_FORM_FIELDS = 20

export interface JsonBodyParts {
  readonly limitBytes: number
  /** Paths whose bodies are forms; all others take JSON and nothing else. */
  readonly takesForm?: (path: string) => boolean
}

/**
 * Bodies are JSON objects, or forms where the route says so, in UTF-8 up to a size; no body is an empty object, and then the
 * content type does not matter.
 */
export function jsonBody({ limitBytes, takesForm = () => false }: JsonBodyParts): RequestHandler {
  const bounds = { limit: limitBytes, inflate: false, type: () => true, verify: refuseOtherEncodings }
  const parsers: Readonly<Record<BodyEncoding, RequestHandler>> = {
    json: express.json({ ...bounds, strict: true }),
    form: express.urlencoded({ ...bounds, extended: false, parameterLimit: MAX_FORM_FIELDS }),
  }

  return function jsonBody(req, res, next) {
    if (req.method === 'GET' || req.method === 'HEAD') return next()
    if (!hasBody(req)) {
      req.body = {}
      return next()
    }
    const encoding = takesForm(req.path) ? 'form' : 'json'
    const isExpected = CONTENT_TYPES[encoding].test(req.headers['content-type'] ?? '')
    if (!isExpected || req.headers['content-encoding'] !== undefined)
      throw wrongContentType(MEDIA_TYPES[encoding])
    // the parser would read such a body to its end before it says so
    if (Number(req.headers['content-length'] ?? 0) > limitBytes) throw bodyTooLarge(limitBytes)
    parsers[encoding](req, res, (error?: unknown) => {
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
  if (type === 'entity.too.large' || type === 'parameters.too.many') return bodyTooLarge(limitBytes)
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') return wrongContentType()
  return notJson(error)
}
