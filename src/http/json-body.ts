import { isUtf8 } from 'node:buffer'
import type { RequestHandler } from 'express'
import { bodyTooLarge, notJson, wrongContentType } from '../errors.ts'
import { type BodyEncoding, MEDIA_TYPES } from './body-encoding.ts'
import { announcedBytes, discardBody, hasBody, readBy } from './count-body.ts'
import { readBody } from './read-body.ts'
import { wholeQuery } from './whole-query.ts'

const IN_UTF8 = '\\s*(?:;\\s*charset\\s*=\\s*"?utf-8"?\\s*)?(?:;\\s*)?$'
const CONTENT_TYPES: Readonly<Record<BodyEncoding, RegExp>> = {
  json: new RegExp(`^application/json${IN_UTF8}`, 'i'),
  form: new RegExp(`^application/x-www-form-urlencoded${IN_UTF8}`, 'i'),
}

export interface JsonBodyParts {
  readonly limitBytes: number
  /** Paths whose bodies are forms; all others take JSON and nothing else. */
  readonly takesForm?: (path: string) => boolean
}

/**
 * Bodies are JSON objects, or forms where the route says so, in UTF-8 up to a size; no body is an empty object, and then the
 * content type does not matter.
 */
export function jsonBody({ limitBytes, takesForm }: JsonBodyParts): RequestHandler {
  return function jsonBody(req, _res, next) {
    if (req.method === 'GET' || req.method === 'HEAD') {
      discardBody(req) // else Node would keep it piece by piece
      return next()
    }
    if (!hasBody(req)) {
      req.body = {}
      return next()
    }
    const encoding = takesForm?.(req.path) ? 'form' : 'json'
    const isExpected = CONTENT_TYPES[encoding].test(req.headers['content-type'] ?? '')
    if (!isExpected || req.headers['content-encoding'] !== undefined)
      throw wrongContentType(MEDIA_TYPES[encoding])
    if ((announcedBytes(req) ?? 0) > limitBytes) throw bodyTooLarge(limitBytes)

    const { receivedBytes, stop } = readBody(req, limitBytes, (error, bytes) => {
      if (error !== undefined) return next(error)
      req.body = parsed(bytes, encoding)
      next(req.body === undefined ? notJson() : undefined)
    })
    readBy(req, {
      receivedBytes,
      evict(answer) {
        stop()
        next(answer)
      },
    })
  }
}

/**
 * Undefined if it is not a JSON object, or a form. Other encodings are refused: decoding would put U+FFFD in the place of
 * what is not UTF-8, and a password would not pass byte for byte.
 */
function parsed(bytes: Buffer, encoding: BodyEncoding): object | undefined {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString().replace(BYTE_ORDER_MARK, '')
  if (encoding === 'form') return { ...wholeQuery(text) }
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined // not JSON; the error's message quotes the body
  }
}

const BYTE_ORDER_MARK = /^\uFEFF/
