import type { z } from 'zod'
import type { ErrorCode } from './error-object.ts'
import type { Route } from './routes.ts'

/**
 * What the OpenAPI document says of one route. A room describes its routes as data, with the very schemas that they
 * parse by; `openapi.ts` adds what every route has in common.
 */
export interface RouteDescription extends Pick<Route, 'method' | 'path' | 'encoding'> {
  /** Its name in generated clients: unique, never changed. */
  readonly id: string
  readonly group: 'Sign-in' | 'Recovery' | 'Factors' | 'Redirects' | 'Session' | 'Access'
  readonly summary: string
  readonly details?: string
  /** `required`: nothing is done without this cookie; `used`: it counts when it is there. */
  readonly cookies: Readonly<Partial<Record<'session' | 'device', 'required' | 'used'>>>
  /** One member for each `:name` of the path. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  /** Request headers that matter here, beside those that matter everywhere. */
  readonly headers?: readonly ('Accept-Language' | 'X-Device-Fingerprint' | 'If-None-Match')[]
  readonly body?: z.ZodType
  readonly answers: Readonly<Record<number, AnswerDescription>>
  /** Codes by status, beside those that every route has. */
  readonly refusals: Refusals
  /** No answer has a body, an error neither. */
  readonly withoutBody?: boolean
  /** Errors of the upstream pass on as they are, with codes that only it knows. */
  readonly passesErrorsOn?: boolean
  /** A browser that opens it sees errors as a page. */
  readonly showsErrorPages?: boolean
}

export type Refusals = Readonly<Record<number, readonly ErrorCode[]>>

export interface AnswerDescription {
  readonly says: string
  /** By media type; none: the answer has no body. */
  readonly content?: Readonly<Record<string, z.ZodType>>
  readonly headers?: readonly AnswerHeader[]
}

export type AnswerHeader =
  | 'Set-Cookie'
  | 'ETag'
  | 'Age'
  | 'Clear-Site-Data'
  | 'Location'
  | IdentityHeader
  | RateLimitHeader
type IdentityHeader = 'X-Auth-Request-User' | 'X-Auth-Request-Preferred-Username' | 'X-Auth-Request-Session'
type RateLimitHeader = 'X-Rate-Limit-Limit' | 'X-Rate-Limit-Remaining' | 'X-Rate-Limit-Reset' | 'Retry-After'

export const RATE_LIMIT_HEADERS = [
  'X-Rate-Limit-Limit',
  'X-Rate-Limit-Remaining',
  'X-Rate-Limit-Reset',
] as const

/** An answer in JSON. */
export function json(
  says: string,
  schema: z.ZodType,
  headers: readonly AnswerHeader[] = [],
): AnswerDescription {
  return { says, content: { 'application/json': schema }, headers }
}
