import type { z } from 'zod'
import type { ErrorCode } from './error-object.ts'
import type { LoadKind } from './load-shedding.ts'
import type { Route } from './routes.ts'

/**
 * One operation of the public API, declared once: its route, and what the OpenAPI document says about it. The request is
 * parsed with the schemas that stand here. `routesOf` adds the handlers; `openapi.ts` adds what all operations share.
 */
export interface Operation extends Omit<Route, 'handle' | 'loadKind'> {
  /** The requests that it shares its capacity with. */
  readonly loadKind: LoadKind
  readonly tag: 'Sign-in' | 'Recovery' | 'Factors' | 'Redirects' | 'Session' | 'Access'
  readonly summary: string
  readonly description?: string
  /** `required`: refused without this cookie, for lack of a session with E0000005. `used`: it counts if it is there. */
  readonly cookies: Readonly<Partial<Record<'session' | 'device', 'required' | 'used'>>>
  /** One member for each `:name` of the path. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  /** Request headers that this operation reads, besides those that every operation reads. */
  readonly headers?: readonly Exclude<keyof typeof REQUEST_HEADERS, 'X-Gatehouse-Session'>[]
  readonly body?: z.ZodType
  /** Responses without an error, by status. */
  readonly responses: Readonly<Record<number, SuccessResponse>>
  /** Error codes by status, besides those of every operation. */
  readonly errors?: ErrorsByStatus
  /** No response has a body, error responses included. */
  readonly withoutBody?: boolean
  /** Error objects of the upstream are passed on, with codes that are not listed here. */
  readonly forwardsUpstreamErrors?: boolean
  /** A browser that navigates here gets errors as a page. */
  readonly rendersErrorPages?: boolean
}

/** By operation id: the name in generated clients, which never changes. */
export type Operations = Readonly<Record<string, Operation>>

export type ErrorsByStatus = Readonly<Record<number, readonly ErrorCode[]>>

export interface SuccessResponse {
  readonly description: string
  /** By media type; without it, the response has no body. */
  readonly content?: Readonly<Record<string, z.ZodType>>
  readonly headers?: readonly ResponseHeader[]
}

/** The routes of these operations; the compiler finds an operation without a handler. */
export function routesOf<Id extends string>(
  operations: Readonly<Record<Id, Operation>>,
  handlers: Readonly<Record<Id, Route['handle']>>,
): Route[] {
  const ids = Object.keys(operations) as Id[] // both are literals with the same keys
  return ids.map((id) => ({ ...operations[id], handle: handlers[id] }))
}

/** A response in JSON. */
export function jsonResponse(
  description: string,
  schema: z.ZodType,
  headers: readonly ResponseHeader[] = [],
): SuccessResponse {
  return { description, content: { 'application/json': schema }, headers }
}

const text = { type: 'string' } as const
const integer = { type: 'integer', minimum: 0 } as const

export const REQUEST_HEADERS = {
  'X-Gatehouse-Session': {
    description:
      'The public id of the session that the page was loaded with. If the browser has another session by now: 409, and nothing is done.',
    schema: text,
  },
  'X-Device-Fingerprint': {
    description: 'Forwarded to the sign-in API.',
    schema: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[\\x21-\\x7e]+$' },
  },
  'Accept-Language': {
    description: 'Forwarded to the sign-in API: the language of its messages.',
    schema: text,
  },
  'If-None-Match': { description: 'ETags that the caller has.', schema: text },
} as const

export const RESPONSE_HEADERS = {
  'X-Request-Id': {
    description:
      'The request id, which is in every log line of the request and is the `errorId` of the broker’s own errors.',
    schema: text,
  },
  'Retry-After': { description: 'Seconds until a retry makes sense.', schema: integer },
  'X-Rate-Limit-Limit': { description: 'The limit, in requests.', schema: integer },
  'X-Rate-Limit-Remaining': { description: 'Requests left.', schema: integer },
  'X-Rate-Limit-Reset': {
    description: 'When the limit is reset, in seconds since 1970.',
    schema: integer,
  },
  ETag: { description: 'Over the data; the time of the fetch does not count.', schema: text },
  Age: { description: 'Seconds since the access service was asked.', schema: integer },
  'Set-Cookie': { description: 'The device cookie, the session cookie, or both.', schema: text },
  'Clear-Site-Data': { description: '`"cache", "storage"`', schema: text },
  'X-Auth-Request-User': { description: 'The opaque user id, percent-encoded UTF-8.', schema: text },
  'X-Auth-Request-Preferred-Username': {
    description: 'The login, percent-encoded UTF-8.',
    schema: text,
  },
  'X-Auth-Request-Session': { description: 'The public id of the session.', schema: text },
  Location: { description: 'The target of the redirect.', schema: { type: 'string', format: 'uri' } },
} as const

export type ResponseHeader = keyof typeof RESPONSE_HEADERS

export const RATE_LIMIT_HEADERS = [
  'X-Rate-Limit-Limit',
  'X-Rate-Limit-Remaining',
  'X-Rate-Limit-Reset',
] as const
