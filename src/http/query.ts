import { type ParsedUrlQuery, parse } from 'node:querystring'
import type { z } from 'zod'
import { invalidField } from '../errors.ts'

/**
 * By default, Node would ignore the parameters after the first 1,000, and they could not be
 * refused.
 */
export function parseQuery(query: string): ParsedUrlQuery {
  return parse(query, '&', '=', { maxKeys: 0 })
}

/**
 * The query of a URL with `returnTo`. nginx and Caddy cannot encode a URL: one that is written as
 * it is, or its path, continues to the end of the query.
 */
export function parseReturnQuery(requestUrl: string): ParsedUrlQuery {
  const query = requestUrl.replace(/^[^?]*\??/, '')
  const encode = (_: string, target: string) => `returnTo=${encodeURIComponent(target)}`
  return parseQuery(query.replace(/(?<=^|&)returnTo=((?:https?:\/)?\/.*)/, encode))
}

const MAX_NAME_CHARS = 100 // in an error

/** @throws E0000001 that names every parameter that is wrong or unknown */
export function checkQuery<Schema extends z.ZodType>(
  schema: Schema,
  query: Readonly<Record<string, unknown>>,
): z.output<Schema> {
  const parsed = schema.safeParse(query)
  if (parsed.success) return parsed.data
  throw invalidField(
    ...parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((name) => `${name.slice(0, MAX_NAME_CHARS)}: unknown parameter`)
        : `${issue.path.map(String)[0]}: ${issue.message}`,
    ),
  )
}
