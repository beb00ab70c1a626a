import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { BrokerError, bodyTooLarge, notJson, wrongContentType } from '../errors.ts'
import type { Guard } from './compose-guards.ts'
import { keepConnection } from './unread-body.ts'

export type BodyEncoding = 'json' | 'form'

export const MEDIA_TYPES: Readonly<Record<BodyEncoding, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
}

const MAX_BODY_BYTES = 65_536

/**
 * Parses bodies into `req.body`: JSON objects or forms, in UTF-8. Without a body, `req.body` is an
 * empty object, and the content type is not checked.
 */
export function bodyParser(encoding: BodyEncoding = 'json', maxBytes = MAX_BODY_BYTES): RequestHandler {
  const mediaType = MEDIA_TYPES[encoding]
  const options = {
    limit: maxBytes,
    inflate: false,
    type(req: unknown) {
      // body-parser passes it the request of Express
      if ((req as Request).is(mediaType)) return true
      throw wrongContentType(mediaType)
    },
    /**
     * Decoding would replace other bytes with U+FFFD, and a password would not be passed on byte
     * for byte.
     */
    verify(_req: unknown, _res: unknown, bytes: Buffer, charset: string) {
      if (charset !== 'utf-8') throw wrongContentType(mediaType)
      if (!isUtf8(bytes)) throw notJson()
    },
  }
  const parse =
    encoding === 'json'
      ? express.json(options)
      : express.urlencoded({ ...options, extended: false, parameterLimit: MAX_BODY_BYTES })
  const refusalOf = (error: unknown): BrokerError => {
    if (error instanceof BrokerError) return error
    // of http-errors. Its message, which may quote the body, is not kept
    const { status } = error as { status?: number }
    if (status === 413) return bodyTooLarge(maxBytes)
    return status === 415 ? wrongContentType(mediaType) : notJson()
  }

  return function bodyParser(req, res, next) {
    keepConnection(req, res)
    const type = req.headers['content-type']
    if (type !== undefined) req.headers['content-type'] = type.replace(UTF8, '$1utf-8')
    const length = Number(req.headers['content-length'])
    if (length > maxBytes) throw bodyTooLarge(maxBytes) // Express would read the whole body first
    if (length === 0) {
      req.body = {} // Express would check the content type
      return next()
    }
    parse(req, res, (error?: unknown) => {
      if (error !== undefined) return next(refusalOf(error))
      req.body ??= {}
      next(Array.isArray(req.body) ? notJson() : undefined)
    })
  }
}

/** A common name of UTF-8 (WHATWG Encoding), which body-parser does not know. */
const UTF8 = /(;\s*charset\s*=\s*)(?:utf8|"utf8")(?=\s*(?:;|$))/i

/** `bodyParser` as a guard. */
export function parseBody(encoding: BodyEncoding): Guard {
  const parse = promised(bodyParser(encoding))
  return async function parseBody(req, res, next) {
    await parse(req, res)
    return next()
  }
}

/** For a handler that reads the body itself. Its errors are those of `bodyParser`. */
export function createBodyReader(maxBytes?: number): (req: Request, res: Response) => Promise<unknown> {
  const parse = promised(bodyParser('json', maxBytes))
  return async (req, res) => {
    await parse(req, res)
    return req.body
  }
}

function promised(handle: RequestHandler) {
  return (req: Request, res: Response) =>
    new Promise<void>((resolve, reject) => {
      void handle(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
    })
}
