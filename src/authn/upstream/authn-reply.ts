import { upstreamUnavailable } from '../../errors.ts'
import type { UpstreamAnswer } from '../../upstream/upstream-client.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import { wasSentRecently } from './authn-limit.ts'
import { record } from './read-answer.ts'

/** What the sign-in API says: a success or an Error object, and the headers that pass on. */
export interface AuthnReply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly isError: boolean
  /** Of the API's own form; undefined for any other text, which must become neither a label nor a log field. */
  readonly errorCode: string | undefined
  /** The answer's own `Date`: its times are read against it. */
  readonly date: string | undefined
  /** Headers that pass on to the browser. */
  readonly headers: Readonly<Record<string, string>>
}

/** Throws 502 when the answer is no answer of the API. */
export function toReply(answer: UpstreamAnswer): AuthnReply {
  const { status, json } = answer
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw unreadable(status)
  }
  const body = record(json)
  const { errorCode } = body
  const isError = status >= 400
  if (status < 200 || (status >= 300 && !isError) || (isError && typeof errorCode !== 'string')) {
    throw unreadable(status)
  }
  const date = one(answer.headers.date)
  const isCode = typeof errorCode === 'string' && ERROR_CODE.test(errorCode)
  return {
    status,
    body,
    isError,
    errorCode: isCode ? errorCode : undefined,
    date,
    headers: passedOn(answer, date),
  }
}

const unreadable = (status: number) => upstreamUnavailable(new UpstreamFailure('unusable', { status }))

const ERROR_CODE = /^E\d{7}$/

const RATE_LIMIT_HEADERS = ['X-Rate-Limit-Limit', 'X-Rate-Limit-Remaining', 'X-Rate-Limit-Reset'] as const

const RESEND_AFTER_S = 30

function passedOn(answer: UpstreamAnswer, date: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of RATE_LIMIT_HEADERS) {
    const value = one(answer.headers[name.toLowerCase()])
    if (value !== undefined && /^\d{1,15}$/.test(value)) headers[name] = value
  }
  if (answer.status === 429) {
    const waitS = wasSentRecently(answer)
      ? RESEND_AFTER_S
      : retryAfterSeconds(headers['X-Rate-Limit-Reset'], date)
    headers['Retry-After'] = String(waitS)
  }
  return headers
}

/** Until the reset by the upstream's own clock; a minute when it does not say. */
function retryAfterSeconds(reset: string | undefined, date: string | undefined): number {
  const sentS = Date.parse(date ?? '') / 1000
  const leftS = Number(reset) - sentS
  return Number.isFinite(leftS) ? Math.min(Math.max(Math.ceil(leftS), 1), 3600) : 60
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
