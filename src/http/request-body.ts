import { isUtf8 } from 'node:buffer'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import express, { type Request, type RequestHandler } from 'express'
import { BrokerError, bodyTooLarge, notJson, wrongContentType } from '../errors.ts'

export type BodyEncoding = 'json' | 'form'

export const MEDIA_TYPES: Readonly<Record<BodyEncoding, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
}

export interface BodyParserOptions {
  /** Default: 64 kB. */
  readonly limitBytes?: number
  /** Default: JSON. */
  readonly encoding?: BodyEncoding | undefined
}

/**
 * Parses bodies into `req.body`: JSON objects or forms, in UTF-8. Without a body, `req.body` is an empty object, and the content type is not
 * checked.
 */
export function bodyParser({ limitBytes = 65_536, encoding = 'json' }: BodyParserOptions): RequestHandler {
  const mediaType = MEDIA_TYPES[encoding]
  const options = {
    limit: limitBytes,
    inflate: false,
    type(req: unknown) {
      if ((req as Request).is(mediaType)) return true // body-parser passes it the request of Express
      throw wrongContentType(mediaType)
    },
    /** Decoding would replace other bytes with U+FFFD, and a password would not be passed on byte for byte. */
    verify(_req: unknown, _res: unknown, bytes: Buffer, charset: string) {
      if (charset !== 'utf-8') throw wrongContentType(mediaType)
      if (!isUtf8(bytes)) throw notJson()
    },
  }
  const parseBody =
    encoding === 'json'
      ? express.json(options)
      : express.urlencoded({ ...options, extended: false, parameterLimit: limitBytes })
  const refusalOf = (error: unknown): BrokerError => {
    if (error instanceof BrokerError) return error
    const { status } = error as { status?: number } // of http-errors. Its message, which may quote the body, is not kept
    if (status === 413) return bodyTooLarge(limitBytes)
    return status === 415 ? wrongContentType(mediaType) : notJson()
  }

  return function bodyParser(req, res, next) {
    const length = Number(req.headers['content-length'])
    if (length > limitBytes) throw bodyTooLarge(limitBytes) // Express would read the whole body first
    if (length === 0) {
      req.body = {} // Express would check the content type
      return next()
    }
    parseBody(req, res, (error?: unknown) => {
      if (error !== undefined) return next(refusalOf(error))
      req.body ??= {}
      next(Array.isArray(req.body) ? notJson() : undefined)
    })
  }
}

/** By default, Node would ignore the parameters after the first 1,000, and they could not be refused. */
export function parseQuery(query: string): ParsedUrlQuery {
  return parse(query, '&', '=', { maxKeys: 0 })
}
