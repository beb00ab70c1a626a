import { temporarilyUnavailable, unknownHandle, upstreamTimeout, upstreamUnavailable } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { UpstreamAnswer, UpstreamClient } from '../upstream/upstream-client.ts'
import { UpstreamFailure } from '../upstream/upstream-failure.ts'
import type { Client } from './client.ts'
import { record } from './read-answer.ts'

/** The sign-in API as a trusted application sees it. */
export interface AuthnUpstream {
  /**
   * Sends one operation. An answer is a success or an Error object of the API; anything else (no answer, HTML, a
   * redirect, half a body) throws 502, 503 or 504.
   */
  send(call: AuthnCall, client: Client): Promise<AuthnReply>
  /** Fetches what a link offered to a GET; the raw answer, whatever it is. */
  fetch(path: string, accept: string, client: Client): Promise<UpstreamAnswer>
  /** True while every SSWS token that we hold is refused. */
  tokenIsRefused(): boolean
  close(): Promise<void>
}

export interface AuthnCall {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** The body bears a state or recovery token: then a refusal may be about that one. */
  readonly bearsToken: boolean
}

export interface AuthnReply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly isError: boolean
  readonly errorCode: string | undefined
  /** The answer's own `Date`: its times are read against it. */
  readonly date: string | undefined
  /** Headers that pass on to the browser. */
  readonly headers: Readonly<Record<string, string>>
}

export interface AuthnUpstreamParts {
  readonly client: UpstreamClient
  /** The SSWS token in use first, then the standby, if any. */
  readonly apiTokens: () => readonly string[]
  readonly log: Logger
  readonly metrics: Metrics
}

const RETRY_AFTER_REFUSAL_S = 30

export function createAuthnUpstream({ client, apiTokens, log, metrics }: AuthnUpstreamParts): AuthnUpstream {
  /** The token that the upstream took last. */
  let accepted: string | undefined
  let refused = false

  const setRefused = (now: boolean) => {
    if (now !== refused) {
      if (now) log.error('upstream_token_refused', { upstream: 'authn' })
      else log.warn('upstream_token_accepted_again', { upstream: 'authn' })
    }
    refused = now
    metrics.upstreamTokenRefused.set(now ? 1 : 0)
  }

  const inTurn = () => {
    const tokens = apiTokens()
    const first = tokens.find((token) => token === accepted)
    return first === undefined ? tokens : [first, ...tokens.filter((token) => token !== first)]
  }

  const sendWith = async (token: string, call: AuthnCall, from: Client): Promise<AuthnReply> => {
    const answer = await client
      .send({ method: 'POST', path: call.path, headers: headersFor(token, from), body: call.body })
      .catch((error: unknown) => {
        throw asBrokerError(error)
      })
    return toReply(answer)
  }

  return {
    tokenIsRefused: () => refused,
    close: () => client.close(),

    async fetch(path, accept, from) {
      for (const token of inTurn()) {
        const headers = { ...headersFor(token, from), Accept: accept }
        const answer = await client.send({ method: 'GET', path, headers }).catch((error: unknown) => {
          throw asBrokerError(error)
        })
        if (answer.status !== 401) return answer
      }
      // no alarm from here: the next step says it for sure; and never a 401, which clients take for the end
      throw temporarilyUnavailable(RETRY_AFTER_REFUSAL_S, new Error('SSWS token refused'))
    },

    async send(call, from) {
      const tokens = inTurn()
      for (const token of tokens) {
        const reply = await sendWith(token, call, from)
        if (!isInvalidToken(reply)) {
          if (!call.bearsToken) {
            if (accepted !== undefined && accepted !== token)
              log.warn('upstream_token_switched', { upstream: 'authn' })
            accepted = token
            setRefused(false)
          }
          return reply
        }
        if (call.bearsToken) {
          // while our own token is refused this says nothing of the transaction: the client must keep it
          if (refused) throw temporarilyUnavailable(RETRY_AFTER_REFUSAL_S, new Error('SSWS token refused'))
          return reply
        }
      }
      setRefused(true)
      throw temporarilyUnavailable(RETRY_AFTER_REFUSAL_S, new Error('SSWS token refused'))
    },
  }
}

/** On a call that bears no other token, only our own can be the invalid one. */
function isInvalidToken({ status, errorCode }: AuthnReply): boolean {
  return status === 401 && errorCode === unknownHandle().code
}

function headersFor(token: string, from: Client): Record<string, string> {
  return {
    Accept: 'application/json',
    'Content-Type': 'application/json',
    Authorization: `SSWS ${token}`,
    'X-Forwarded-For': from.address,
    ...(from.userAgent === '' ? {} : { 'User-Agent': from.userAgent }),
    ...(from.acceptLanguage === '' ? {} : { 'Accept-Language': from.acceptLanguage }),
    ...(from.fingerprint === undefined ? {} : { 'X-Device-Fingerprint': from.fingerprint }),
  }
}

/** Throws 502 when the answer is no answer of the API. */
export function toReply(answer: UpstreamAnswer): AuthnReply {
  const { status, json } = answer
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw upstreamUnavailable(new Error(`status ${status} without a JSON object`))
  }
  const body = record(json)
  const errorCode = typeof body.errorCode === 'string' ? body.errorCode : undefined
  const isError = status >= 400
  if (status < 200 || (status >= 300 && !isError) || (isError && errorCode === undefined)) {
    throw upstreamUnavailable(new Error(`status ${status} that is no answer of the API`))
  }
  const date = one(answer.headers.date)
  return { status, body, isError, errorCode, date, headers: passedOn(answer, errorCode, date) }
}

const RATE_LIMIT_HEADERS = ['X-Rate-Limit-Limit', 'X-Rate-Limit-Remaining', 'X-Rate-Limit-Reset'] as const

/** A text message or a call was made in the last 30 seconds: not the limit that the rate headers speak of. */
const SENT_RECENTLY = new Set(['E0000109', 'E0000133'])
const RESEND_AFTER_S = 30

function passedOn(
  answer: UpstreamAnswer,
  errorCode: string | undefined,
  date: string | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of RATE_LIMIT_HEADERS) {
    const value = one(answer.headers[name.toLowerCase()])
    if (value !== undefined && /^\d{1,15}$/.test(value)) headers[name] = value
  }
  if (answer.status === 429) {
    const waitS = SENT_RECENTLY.has(errorCode ?? '')
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

function asBrokerError(error: unknown): unknown {
  if (!(error instanceof UpstreamFailure)) return error
  if (error.kind === 'timeout') return upstreamTimeout(error)
  if (error.kind === 'breaker-open') {
    return temporarilyUnavailable(Math.ceil((error.retryAfterMs ?? 1000) / 1000), error)
  }
  return upstreamUnavailable(error)
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
