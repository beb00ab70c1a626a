import { unknownHandle, upstreamHeldBack, upstreamTimeout, upstreamUnavailable } from '../../errors.ts'
import type { BodyEncoding } from '../../http/request-body.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UpstreamAnswer, UpstreamClient, UpstreamRequest } from '../../upstream/upstream-client.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { Client } from '../browser/client.ts'
import { type ApiToken, createApiToken, type Turn } from './api-token.ts'
import type { AuthnLimit, LimitedCaller } from './authn-limit.ts'
import { type AuthnReply, toReply } from './authn-reply.ts'

/** The sign-in API as a trusted application sees it. */
export interface AuthnUpstream {
  /**
   * Sends one operation. An answer is a success or an Error object of the API; anything else (no answer, HTML, a
   * redirect, half a body) throws 502, 503 or 504.
   */
  send(call: AuthnCall, client: Client): Promise<AuthnReply>
  /** Until when all that a step sends must be over, if it begins now: for `AuthnCall.deadline`. */
  deadline(): number
  /** Fetches what a link offered to a GET; the raw answer, whatever it is. */
  fetch(path: string, accept: string, client: Client): Promise<UpstreamAnswer>
  /** True while every SSWS token that we hold is refused. */
  tokenState: ApiToken['state']
  close(): Promise<void>
}

export interface AuthnCall {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** JSON unless it says so. A form's answer is not read: whatever an accepted one holds counts as `{}`. */
  readonly encoding?: BodyEncoding
  /** The body bears a state or recovery token: then a refusal may be about that one. */
  readonly bearsToken: boolean
  /** That token is made up, and is refused for sure: then only a refusal of our own token is trouble. */
  readonly isDecoy?: boolean
  /** By the monotonic clock; without it this call is all that the step sends. */
  readonly deadline?: number | undefined
}

export interface AuthnUpstreamParts {
  readonly client: UpstreamClient
  readonly limit: Pick<AuthnLimit, 'send'>
  /** The SSWS token in use first, then the standby, if any. */
  readonly apiTokens: () => readonly string[]
  /** For all that one step sends, however many calls that is, in milliseconds: shorter than the step's lock. */
  readonly timeoutMs: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly monotonic?: () => number
}

const PRIMARY = '/api/v1/authn'
const RETRY_AFTER_REFUSAL_S = 30
/** So long one good answer vouches for our token. */
const TRUST_MS = 5000

export function createAuthnUpstream(parts: AuthnUpstreamParts): AuthnUpstream {
  const { client, limit, apiTokens, timeoutMs, log, metrics, monotonic = () => performance.now() } = parts
  const apiToken = createApiToken({ tokens: apiTokens, monotonic, log, metrics })
  let knocking: Promise<boolean> | undefined
  const stepDeadline = () => monotonic() + timeoutMs

  const ask = (request: UpstreamRequest, caller: LimitedCaller, deadline: number): Promise<UpstreamAnswer> =>
    limit.send(caller, async () => {
      const leftMs = Math.ceil(deadline - monotonic())
      if (leftMs <= 0) throw upstreamTimeout(new DependencyFailure('timeout'))
      try {
        return await client.send({ ...request, timeoutMs: leftMs })
      } catch (error) {
        throw asBrokerError(error)
      }
    })

  const post = async (turn: Turn, token: string, posted: Posted, from: Client, deadline: number) => {
    const { path, body, encoding = 'json' } = posted
    const content = encoding === 'form' ? { form: formOf(body) } : { body }
    const headers = { ...headersFor(token, from), ...(encoding === 'form' ? ANY_ANSWER : {}) }
    const caller = callerOf(path, body, from)
    const answer = await ask({ method: 'POST', path, headers, ...content }, caller, deadline)
    const reply = toReply(encoding === 'form' ? withoutContent(answer) : answer)
    if (provesToken({ status: answer.status, errorCode: reply.errorCode })) turn.taken(token)
    return reply
  }

  /** Whatever a call with every token says: E0000011 from all, or the first other answer. */
  const postInTurn = async (posted: Posted, from: Client, deadline: number) => {
    let reply: AuthnReply | undefined
    const turn = apiToken.inTurn()
    for (const token of turn.tokens) {
      reply = await post(turn, token, posted, from, deadline)
      if (!isInvalidToken(reply)) return reply
    }
    if (reply === undefined) throw new Error('there is always an API token')
    return reply
  }

  const refuse = () => upstreamHeldBack(RETRY_AFTER_REFUSAL_S, new DependencyFailure('token-refused'))

  /** Whether our token stands, by an empty sign-in, which a working API refuses for its form; throws when nobody can say. */
  const knock = async (from: Client, deadline: number): Promise<boolean> => {
    const body = { context: { deviceToken: from.device.id } }
    const reply = await postInTurn({ path: PRIMARY, body }, from, deadline)
    if (reply.status === 429 || reply.status >= 500)
      throw upstreamHeldBack(1, new DependencyFailure('unusable', { upstreamStatus: reply.status }))
    return !isInvalidToken(reply)
  }

  const knockOnce = (from: Client, deadline: number): Promise<boolean> => {
    knocking ??= knock(from, deadline).finally(() => {
      knocking = undefined
    })
    return knocking
  }

  /** E0000011 to a call with a token: is it that one, or ours? Unless ours stands, the client must keep its transaction. */
  const ourTokenStands = async (from: Client, deadline: number, isDecoy: boolean): Promise<boolean> => {
    if (apiToken.wasTakenWithin(TRUST_MS)) return true
    try {
      return await knockOnce(from, deadline)
    } catch (error) {
      if (isDecoy) return true // the real step would not have asked, and must not look any different
      throw error
    }
  }

  return {
    tokenState: apiToken.state,
    close: () => client.close(),
    deadline: stepDeadline,

    async fetch(path, accept, from) {
      const deadline = stepDeadline()
      for (const token of apiToken.inTurn().tokens) {
        const headers = { ...headersFor(token, from), Accept: accept }
        const answer = await ask({ method: 'GET', path, headers }, callerOf(path, {}, from), deadline)
        if (answer.status !== 401) return answer
      }
      // no alarm from here: the next step says it for sure; and never a 401, which clients take for the end
      throw refuse()
    },

    async send(call, from) {
      const { bearsToken, isDecoy = false, deadline = stepDeadline() } = call
      const reply = await postInTurn(call, from, deadline)
      if (!isInvalidToken(reply)) return reply
      if (bearsToken && (await ourTokenStands(from, deadline, isDecoy))) return reply
      apiToken.refused()
      throw refuse()
    },
  }
}

type Posted = Pick<AuthnCall, 'path' | 'body' | 'encoding'>

/**
 * New is what begins something: it names a person or bears a token for one use. All else goes on with a transaction. Each party
 * is labelled by its role, so that none can be typed as another.
 */
function callerOf(path: string, body: Posted['body'], from: Client): LimitedCaller {
  const role = PARTIES.find((name) => typeof body[name] === 'string')
  const party = role === undefined ? ['path', path] : [role, body[role]]
  const isOngoing = role === undefined || role === 'stateToken'
  return {
    priority: isOngoing ? 'ongoing' : 'new',
    parties: [['address', from.address], party].map((one) => JSON.stringify(one)),
  }
}

const PARTIES = ['stateToken', 'username', 'token', 'recoveryToken'] as const

function isInvalidToken({ status, errorCode }: AuthnReply): boolean {
  return status === 401 && errorCode === unknownHandle().code
}

/** A verdict on the person or the step, which only a caller with a good token gets. Limits and failures are none. */
function provesToken({ status, errorCode }: Pick<AuthnReply, 'status' | 'errorCode'>): boolean {
  return (status >= 200 && status < 300) || status === 403 || (status === 401 && errorCode === 'E0000004')
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

/** A form is answered for a browser: with a page, a redirect, or nothing. */
const ANY_ANSWER = { Accept: '*/*' }

function formOf(body: Posted['body']): URLSearchParams {
  return new URLSearchParams(
    Object.entries(body).map(([name, value]): [string, string] => [name, String(value)]),
  )
}

function withoutContent(answer: UpstreamAnswer): UpstreamAnswer {
  return answer.status < 400 ? { ...answer, status: 200, json: {} } : answer
}

function asBrokerError(error: unknown): unknown {
  if (!(error instanceof UpstreamFailure)) return error
  if (error.kind === 'timeout') return upstreamTimeout(error)
  if (error.kind === 'breaker-open' || error.kind === 'busy') {
    return upstreamHeldBack(Math.ceil((error.retryAfterMs ?? 1000) / 1000), error)
  }
  return upstreamUnavailable(error)
}
