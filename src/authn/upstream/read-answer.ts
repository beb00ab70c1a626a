import { addressBlocked, rateLimited, toErrorObject, upstreamUnavailable } from '../../errors.ts'
import { errorOf } from '../../okta-errors.ts'
import type { UpstreamResponse } from '../../upstream/http-api.ts'
import { parseNumber, parseRetryAfter } from '../../upstream/retry-after.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import { isUserId } from '../../user-id.ts'
import type { Answer, AnsweredUser } from '../transaction/answer.ts'
import { factorName, nonEmpty } from '../transaction/credentials.ts'

/** An answer of the Authentication API: a success or an Error object. */
export interface AuthnReply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly isError: boolean
  /**
   * undefined if it does not have the API's form: other text must not become a metric label or log
   * field.
   */
  readonly errorCode: string | undefined
  /** The `Date` header, to which the times in the answer are relative. */
  readonly date: string | undefined
  /** Headers for the browser. */
  readonly headers: Readonly<Record<string, string>>
}

const ERROR_CODE = /^E\d{7}$/

/**
 * Throws 502 if the response does not have the API's form, and 403 if it is a bare 403. Any 429 is
 * an Error object.
 */
export function toReply(answer: UpstreamResponse): AuthnReply {
  if (answer.status === 429 && text(record(answer.json).errorCode) === undefined)
    return toReply({ ...answer, json: rateLimitError(answer) })
  const isError = answer.status >= 400
  const isStatus = isError || (answer.status >= 200 && answer.status < 300)
  // an empty success, such as a 204 to a cancel, becomes the empty object that clients know
  const isEmpty = isStatus && !isError && answer.bytes.length === 0
  const { status, json: body } = isEmpty ? { status: 200, json: {} } : answer
  // the org blocks the address of the client or of the broker (S14)
  if (status === 403 && body === undefined)
    throw addressBlocked(new UpstreamFailure('address_blocked', { upstreamStatus: status }))
  if (!isRecord(body) || !isStatus || (isError && typeof body.errorCode !== 'string'))
    throw upstreamUnavailable(new UpstreamFailure('invalid_response', { upstreamStatus: status }))
  const code = text(body.errorCode) ?? ''
  const errorCode = ERROR_CODE.test(code) ? code : undefined
  const date = firstOf(answer.headers.date)
  return { status, body, isError, errorCode, date, headers: headersForBrowser(answer, date) }
}

/** For a 429 without an Error object, such as the page of a network in front of the org. */
function rateLimitError({ headers }: UpstreamResponse) {
  const id = firstOf(headers['x-okta-request-id']) ?? ''
  // its headers are not used
  const error = rateLimited({ limit: 0, resetAtSeconds: 0, retryAfterSeconds: 0 })
  return toErrorObject(error, /^[\w-]{1,64}$/.test(id) ? id : 'unknown')
}

const RATE_LIMIT_HEADERS = ['X-Rate-Limit-Limit', 'X-Rate-Limit-Remaining', 'X-Rate-Limit-Reset'] as const

/**
 * Rate limits only with a 429: on other answers, the remaining number would show how many calls a
 * step of someone else cost.
 */
function headersForBrowser(answer: UpstreamResponse, date: string | undefined): Record<string, string> {
  // a limit on messages is not about the rate limit in the headers
  const { sendLimitS } = errorOf(text(record(answer.json).errorCode)) ?? {}
  if (answer.status !== 429) return sendLimitS === undefined ? {} : { 'Retry-After': String(sendLimitS) }
  const headers: Record<string, string> = {}
  for (const name of RATE_LIMIT_HEADERS) {
    const value = firstOf(answer.headers[name.toLowerCase()])
    if (value !== undefined && /^\d{1,15}$/.test(value)) headers[name] = value
  }
  const reset = headers['X-Rate-Limit-Reset']
  const waitS = sendLimitS ?? retryAfterSeconds(reset, answer.headers['retry-after'], date)
  return { ...headers, 'Retry-After': String(waitS) }
}

/**
 * The time until the reset by Okta's clock, else Okta's own Retry-After; a minute if neither is
 * known.
 */
function retryAfterSeconds(reset: string | undefined, own: Header, date: string | undefined): number {
  const dateMs = Date.parse(date ?? '')
  const leftMs = [Number(reset) * 1000 - dateMs, msUntil(own, dateMs)].find(Number.isFinite)
  return leftMs === undefined ? 60 : Math.min(Math.max(Math.ceil(leftMs / 1000), 1), 3600)
}

/** `NaN` if the time is a date, and Okta's clock is unknown. */
function msUntil(retryAfter: Header, dateMs: number): number {
  const seconds = parseNumber(retryAfter)
  return seconds === undefined ? (parseRetryAfter(retryAfter, dateMs) ?? Number.NaN) - dateMs : seconds * 1000
}

type Header = UpstreamResponse['headers'][string]

function firstOf(value: Header): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/**
 * Reads the parts of an answer that the rules need. A value of a wrong type or form counts as
 * missing.
 */
export function readAnswer(body: Readonly<Record<string, unknown>>): Answer {
  const embedded = record(body._embedded)
  return {
    status: text(body.status) ?? '',
    factorResult: text(body.factorResult),
    stateToken: nonEmpty(body.stateToken),
    sessionToken: nonEmpty(body.sessionToken),
    type: text(body.type),
    user: readUser(embedded.user),
    factorTypes: readFactorTypes(embedded),
    activeFactors: readActiveFactors(embedded),
    expiresAt: text(body.expiresAt),
  }
}

function readUser(value: unknown): AnsweredUser | undefined {
  const { id, profile } = record(value)
  return isUserId(id) ? { id, profile: record(profile) } : undefined
}

function readFactorTypes(embedded: Readonly<Record<string, unknown>>): Record<string, string> {
  const types: Record<string, string> = {}
  for (const factor of factorsIn(embedded)) {
    const id = nonEmpty(factor.id)
    const type = factorTypeOf(factor)
    if (id !== undefined && type !== undefined) types[id] = type
  }
  return types
}

function readActiveFactors({ factors }: Readonly<Record<string, unknown>>): string[] {
  return [factors]
    .flat()
    .map(record)
    .flatMap((factor) => {
      const type = factorTypeOf(factor)
      const isActive = type !== undefined && factor.status === 'ACTIVE'
      return isActive ? [factorName(type, nonEmpty(factor.provider))] : []
    })
}

const MAX_TYPE_CHARS = 128

function factorTypeOf({ factorType }: Readonly<Record<string, unknown>>): string | undefined {
  const type = nonEmpty(factorType)
  return type === undefined || type.length > MAX_TYPE_CHARS ? undefined : type
}

/**
 * The factors in an answer. Okta sends the list as `factors`; the specification calls it `factor`,
 * which is a single object in other answers. An entry of `factorTypes` stands for all factors of
 * that type, and paths have the type instead of an id.
 */
export function factorsIn({ factors, factor, factorTypes }: Readonly<Record<string, unknown>>) {
  const types = [factorTypes].flat().map(record)
  return [
    ...[factors, factor].flat().map(record),
    ...types.map((type): Readonly<Record<string, unknown>> => ({ ...type, id: type.factorType })),
  ]
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
