import { type ParsedUrlQuery, parse } from 'node:querystring'

/** Every parameter of a query or form, whose size is limited: Node reads the first 1,000 otherwise, and one that is not read could not be refused. */
export function wholeQuery(query: string): ParsedUrlQuery {
  return parse(query, '&', '=', { maxKeys: 0 })
}
