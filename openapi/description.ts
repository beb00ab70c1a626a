import type { z } from 'zod'
import type { Operation } from '../src/http/route.ts'
import type { ErrorCode } from './error-object.ts'

/**
 * What the document says of an operation, besides its route and the schemas with which the route
 * parses requests.
 */
export interface Description {
  readonly tag: 'Sign-in' | 'Recovery' | 'Factors' | 'Redirects' | 'Session' | 'Access' | 'Event hook'
  readonly summary: string
  readonly description?: string
  /** `required`: refused without it (E0000005 without a session). `used`: optional. */
  readonly cookies: Readonly<Partial<Record<'session' | 'device', 'required' | 'used'>>>
  /** Instead of cookies: a token of `APP_TOKENS`. */
  readonly hasAppToken?: true
  /** A member for each `:name` of the path. Default: the parameters of Okta's paths. */
  readonly params?: z.ZodObject
  /**
   * The route's own schema with descriptions, or the schema of a query that the route does not
   * parse with one.
   */
  readonly query?: z.ZodObject
  /** The route's own schema with descriptions. */
  readonly body?: z.ZodType
  /** Request headers of this operation, besides those of every operation. */
  readonly headers?: readonly Exclude<keyof typeof REQUEST_HEADERS, 'X-Gatehouse-Session'>[]
  /** Successful responses, by status. */
  readonly responses: Readonly<Record<number, SuccessResponse>>
  /** Error codes by status, besides those of every operation. */
  readonly errors?: ErrorsByStatus
  /** No response has a body, not even an error. */
  readonly withoutBody?: boolean
  /** Error objects of Okta are forwarded, with codes that are not listed here. */
  readonly forwardsUpstreamErrors?: boolean
  /** A browser that navigates here gets errors as HTML pages. */
  readonly rendersErrorPages?: boolean
}

export type DescribedOperation = Operation & Description

/** The types require a description of every operation. */
export function describe<Id extends string>(
  operations: Readonly<Record<Id, Operation>>,
  descriptions: Readonly<Record<NoInfer<Id>, Description>>,
): Readonly<Record<string, DescribedOperation>> {
  const ids = Object.keys(operations) as Id[] // literals, so there are no other keys
  return Object.fromEntries(ids.map((id) => [id, { ...operations[id], ...descriptions[id] }]))
}

export type ErrorsByStatus = Readonly<Record<number, readonly ErrorCode[]>>

export interface SuccessResponse {
  readonly description: string
  /** By media type. Undefined for a response without a body. */
  readonly content?: Readonly<Record<string, z.ZodType>>
  readonly headers?: readonly ResponseHeader[]
}

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
      'The public id of the session that the browser had when the page was loaded. If the browser now has another session: 409, and the request has no effect.',
    schema: text,
  },
  'X-Device-Fingerprint': {
    description: 'Forwarded to Okta.',
    schema: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[\\x21-\\x7e]+$' },
  },
  'Accept-Language': {
    description: 'Forwarded to Okta, for the language of its messages.',
    schema: text,
  },
  'X-Okta-Verification-Challenge': { description: 'Chosen by Okta.', schema: text },
  'If-None-Match': { description: 'ETags of cached responses.', schema: text },
} as const

export const RESPONSE_HEADERS = {
  'X-Request-Id': {
    description:
      'The request id. Every log line of the request has it, and it is the `errorId` of the broker’s own errors.',
    schema: text,
  },
  'Retry-After': { description: 'Seconds until the client should retry.', schema: integer },
  'X-Rate-Limit-Limit': { description: 'The limit, in requests.', schema: integer },
  'X-Rate-Limit-Remaining': { description: 'The number of requests left.', schema: integer },
  'X-Rate-Limit-Reset': {
    description: 'When the limit is reset, in seconds since 1970.',
    schema: integer,
  },
  ETag: { description: 'Depends on the data, not on the time of the fetch.', schema: text },
  Age: { description: 'Seconds since the data was fetched from PAM.', schema: integer },
  'Set-Cookie': {
    description:
      'The device cookie, the session cookie, or both; on an application’s host, the cookies of the hand-over.',
    schema: text,
  },
  'Secure-Session-Challenge': {
    description: 'The next challenge for the browser, a structured field (RFC 9651).',
    schema: text,
  },
  'Clear-Site-Data': { description: 'Only with `SIGN_OUT_CLEARS`: its types.', schema: text },
  'X-Gatehouse-Sign-Out': {
    description:
      'Only if `OKTA_SIGN_OUT` is `on`: the address of Okta’s sign-out, which ends the Okta session of this browser and leads to the sign-in page. The page navigates there.',
    schema: { type: 'string', format: 'uri' },
  },
  'X-Auth-Request-User': { description: 'The opaque user id, percent-encoded UTF-8.', schema: text },
  'X-Auth-Request-Preferred-Username': {
    description: 'The login, percent-encoded UTF-8.',
    schema: text,
  },
  'X-Auth-Request-Session': { description: 'The public id of the session.', schema: text },
  'X-Auth-Request-Groups': {
    description:
      'Those PAM groups of the user that the rule names, each percent-encoded UTF-8, comma-separated.',
    schema: text,
  },
  'X-Auth-Request-Roles': { description: 'The PAM roles, likewise.', schema: text },
  'X-Auth-Request-Amr': { description: 'The authentication methods, likewise.', schema: text },
  'X-Auth-Request-Email': { description: 'The email address, percent-encoded UTF-8.', schema: text },
  'X-Auth-Request-Name': { description: 'First and last name, percent-encoded UTF-8.', schema: text },
  'X-Auth-Request-Jwt': { description: 'A JSON Web Token of at most a minute, ES256.', schema: text },
  Location: { description: 'The target of the redirect.', schema: { type: 'string', format: 'uri' } },
} as const

export type ResponseHeader = keyof typeof RESPONSE_HEADERS

export const RATE_LIMIT_HEADERS = [
  'X-Rate-Limit-Limit',
  'X-Rate-Limit-Remaining',
  'X-Rate-Limit-Reset',
] as const
