import pLimit, { type LimitFunction } from 'p-limit'
import {
  type BrokerError,
  upstreamTemporarilyUnavailable,
  upstreamTimeout,
  upstreamUnavailable,
} from '../../errors.ts'
import type { BodyEncoding } from '../../http/body-parser.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { tokenEvidence } from '../../okta-errors.ts'
import type { HttpApi, UpstreamRequest, UpstreamResponse } from '../../upstream/http-api.ts'
import { takeTurn } from '../../upstream/take-turn.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { Client } from '../browser/client.ts'
import { type AuthnReply, toReply } from './read-answer.ts'

export type AuthnUpstream = ReturnType<typeof createAuthnUpstream>

export interface AuthnCall {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** The SSWS token is sent with it (`carriesApiToken` in operations.ts). */
  readonly carriesApiToken: boolean
  /** Default: JSON. The answer to an accepted form is not read, and counts as `{}`. */
  readonly encoding?: BodyEncoding | undefined
  /** The body has a state or recovery token, so E0000011 may be about that token. */
  readonly bearsToken: boolean
}

export interface AuthnUpstreamOptions {
  readonly api: HttpApi
  /** The SSWS token. */
  readonly apiToken: string
  /** For all calls of one step: shorter than the step lock. */
  readonly timeoutMs: number
  /** Calls in flight. */
  readonly maxConnections: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly monotonic?: () => number
}

/** The path of primary authentication; those of all other operations begin with it. */
export const PRIMARY = '/api/v1/authn'

/** The longest wait for other calls, as a share of the time for a step. */
const MAX_WAIT_SHARE = 0.5

/**
 * Calls Okta's Authentication API: as a trusted application or, without the API token, as a public
 * one.
 */
export function createAuthnUpstream(options: AuthnUpstreamOptions) {
  const { timeoutMs, monotonic = () => performance.now() } = options
  const sendCall = createSendCall({ ...options, limit: pLimit(options.maxConnections), monotonic })
  const token = createApiTokenState(options)
  const deadlineNow = () => monotonic() + timeoutMs
  const get = (call: AuthnGet) => sendCall({ method: 'GET', ...call, deadline: deadlineNow() })

  return {
    /** When all calls of a step that begins now must end, by the monotonic clock. */
    deadline: deadlineNow,
    tokenState: token.current,
    close: () => options.api.close(),

    /**
     * Sends one operation. Returns a success or an Error object of the API. Throws 502, 503 or 504
     * for anything else (no answer, HTML, a redirect, an incomplete body).
     */
    async send(call: AuthnCall, from: Client, deadline: number): Promise<AuthnReply> {
      const reply = await post(sendCall, call, from, deadline)
      if (!call.carriesApiToken) return reply // it shows nothing about the token
      const evidence = reply.isError ? tokenEvidence(reply) : 'accepted'
      if (evidence !== 'perhaps-refused') {
        if (evidence === 'accepted' && call.encoding !== 'form') token.reportAccepted()
        return reply
      }
      // not checked with a second call: the steps of a decoy, whose state token Okta never knows,
      // would cost more
      if (call.bearsToken && token.current() !== 'failing') return reply
      token.reportRefused()
      throw tokenRefused()
    },

    /** Fetches an offered resource. Returns any answer as it is. */
    fetch: get,

    /**
     * Okta's Users API, for the re-check of sessions. No client causes this call. Returns any
     * answer as it is.
     */
    readUser: (userId: string) =>
      get({
        path: `/api/v1/users/${encodeURIComponent(userId)}`,
        accept: 'application/json',
        carriesApiToken: true,
      }),
  }
}

function tokenRefused() {
  return upstreamTemporarilyUnavailable(30, new DependencyFailure('token_refused', { upstreamStatus: 401 }))
}

async function post(
  sendCall: SendCall,
  { path, body, encoding, carriesApiToken }: AuthnCall,
  client: Client,
  deadline: number,
): Promise<AuthnReply> {
  const isForm = encoding === 'form'
  // Okta answers a form with a page, a redirect or nothing
  const accept = isForm ? '*/*' : 'application/json'
  // replaces the browser's
  const context = path === PRIMARY ? { context: { deviceToken: client.device.id } } : {}
  const call = { path, accept, encoding, carriesApiToken, client, deadline }
  const answer = await sendCall({ ...call, method: 'POST', body: { ...body, ...context } })
  return toReply(isForm && answer.status < 400 ? { ...answer, status: 200, json: {} } : answer)
}

export type AuthnGet = Pick<SingleCall, 'path' | 'accept' | 'carriesApiToken' | 'client'>

interface SingleCall extends Pick<AuthnCall, 'path' | 'encoding' | 'carriesApiToken'> {
  readonly method: 'GET' | 'POST'
  readonly accept: string
  readonly body?: AuthnCall['body']
  /** Default: the broker itself. */
  readonly client?: Client | undefined
  readonly deadline: number
}

type SendCall = ReturnType<typeof createSendCall>

interface SendCallDeps extends Pick<AuthnUpstreamOptions, 'api' | 'apiToken' | 'timeoutMs' | 'metrics'> {
  readonly limit: LimitFunction
  readonly monotonic: () => number
}

function createSendCall({ api, limit, apiToken, timeoutMs, metrics, monotonic }: SendCallDeps) {
  /** Throws 502, 503 or 504 if there is no answer. */
  return async (call: SingleCall): Promise<UpstreamResponse> => {
    const leftMs = () => Math.ceil(call.deadline - monotonic())
    try {
      const endTurn = await takeTurn(limit, Math.min(timeoutMs * MAX_WAIT_SHARE, leftMs()))
      try {
        if (leftMs() <= 0) throw new UpstreamFailure('timeout')
        return await api.send(toRequest(call, apiToken, leftMs()))
      } finally {
        endTurn()
      }
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error
      if (error.outcome === 'pool_exhausted') metrics.requestsShed.inc({ reason: 'upstream' })
      throw toBrokerError(error)
    }
  }
}

function toBrokerError(failure: UpstreamFailure): BrokerError {
  const { outcome, retryAfterMs } = failure
  if (outcome === 'timeout') return upstreamTimeout(failure)
  if (retryAfterMs !== undefined)
    return upstreamTemporarilyUnavailable(Math.ceil(retryAfterMs / 1000), failure)
  return upstreamUnavailable(failure)
}

function toRequest(call: SingleCall, apiToken: string, timeoutMs: number): UpstreamRequest {
  const { method, path, accept, body, encoding, carriesApiToken, client } = call
  const headers = {
    Accept: accept,
    'Content-Type': 'application/json',
    ...(carriesApiToken ? { Authorization: `SSWS ${apiToken}` } : {}),
    ...(client === undefined ? {} : headersOf(client, path)),
  }
  if (encoding !== 'form') return { method, path, headers, body, timeoutMs }
  const fields = Object.entries(body ?? {}).map(([name, value]): [string, string] => [name, String(value)])
  return { method, path, headers, form: new URLSearchParams(fields), timeoutMs }
}

function headersOf(client: Client, path: string) {
  return {
    'X-Forwarded-For': client.address,
    ...(client.userAgent === '' ? {} : { 'User-Agent': client.userAgent }),
    ...(client.acceptLanguage === '' ? {} : { 'Accept-Language': client.acceptLanguage }),
    ...(client.fingerprint === undefined ? {} : { 'X-Device-Fingerprint': client.fingerprint }),
    ...(client.origin === undefined || !path.startsWith(PRIMARY) ? {} : { Origin: client.origin }),
  }
}

/** `unknown` until Okta has accepted or refused the token; `failing` while it refuses it. */
export type TokenState = 'ok' | 'failing' | 'unknown'

/** Whether Okta accepts the SSWS token. */
function createApiTokenState({ log, metrics }: Pick<AuthnUpstreamOptions, 'log' | 'metrics'>) {
  let state: TokenState = 'unknown'

  return {
    current: () => state,
    reportAccepted() {
      if (state === 'ok') return
      if (state === 'failing') log.warn('upstream_token_accepted_again', { upstream: 'authn' })
      state = 'ok'
      metrics.upstreamTokenRefused.set(0)
    },
    /** Okta refuses the token: an operator must act. */
    reportRefused() {
      if (state !== 'failing') log.error('upstream_token_refused', { upstream: 'authn' })
      state = 'failing'
      metrics.upstreamTokenRefused.set(1)
    },
  }
}
