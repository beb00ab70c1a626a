import { setTimeout as delay } from 'node:timers/promises'
import type { Signer } from '../../crypto/keys.ts'
import { upstreamTemporarilyUnavailable, upstreamTimeout } from '../../errors.ts'
import type { BodyEncoding } from '../../http/request-body.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import { createFailFastStore } from '../../store/fail-fast-store.ts'
import type { Store } from '../../store/store.ts'
import {
  createRateLimitGate,
  type RateLimitGateOptions,
  RateLimitRefusal,
} from '../../upstream/rate-limit-gate.ts'
import type { GateCaller } from '../../upstream/rate-limit-record.ts'
import {
  createUpstreamClock,
  type UpstreamClient,
  type UpstreamClock,
  type UpstreamRequest,
  type UpstreamResponse,
} from '../../upstream/upstream-client.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { Client, DeviceTokens } from '../browser/client.ts'
import {
  type ApiTokens,
  type ApiTokensOptions,
  createApiTokens,
  createTokenCheck,
  isInvalidToken,
  type TokenState,
  tryTokens,
} from './api-tokens.ts'
import { type AuthnReply, isResendTooSoon, toReply } from './read-answer.ts'
import { toBrokerError, toRateLimitedError } from './upstream-errors.ts'

/** Calls Okta's Authentication API as a trusted application. */
export interface AuthnUpstream {
  /** Reads the rate limit as seen by other replicas. Called when a step begins, so that it shares a round trip. */
  prefetchRateLimit(): void
  /** The same for the device token. */
  prefetchDeviceToken(client: Client): void
  /**
   * Sends one operation. Returns a success or an Error object of the API. Throws 502, 503 or 504 for anything else (no
   * answer, HTML, a redirect, an incomplete body), and 429 if the rate-limit gate is closed.
   */
  send(call: AuthnCall, client: Client): Promise<AuthnReply>
  /** When all calls of a step that begins now must end: for `AuthnCall.deadline`. */
  deadline(): number
  /** Fetches an offered resource. Returns any answer as it is. */
  fetch(path: string, accept: string, client: Client): Promise<UpstreamResponse>
  tokenState(): TokenState
  close(): Promise<void>
}

export interface AuthnCall {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** Default: JSON. The answer to an accepted form is not read, and counts as `{}`. */
  readonly encoding?: BodyEncoding | undefined
  /** The body has a state or recovery token, so E0000011 may be about that token. */
  readonly bearsToken: boolean
  /** The state token is random, so Okta always rejects it. Only a refusal of our API token counts as a failure. */
  readonly isDecoy?: boolean
  /** By the monotonic clock. Default: this is the only call of the step. */
  readonly deadline?: number | undefined
}

export interface AuthnUpstreamOptions extends Omit<ApiTokensOptions, 'monotonic'> {
  readonly client: UpstreamClient
  /** Identifies the org's rate limit. */
  readonly baseUrl: string
  /** `authn.rateLimit` in `config/default.json`. */
  readonly rateLimit: AuthnRateLimit
  readonly store: Store
  readonly deviceTokens: Pick<DeviceTokens, 'of'>
  readonly names: Signer
  /** For all calls of one step: shorter than the step lock. */
  readonly timeoutMs: number
  readonly now: () => number
  readonly monotonic?: () => number
}

type GateTunables = 'jitterMs' | 'maxClosedMs' | 'refreshEveryMs' | 'reserveShare'

export interface AuthnRateLimit extends Pick<RateLimitGateOptions, GateTunables> {
  readonly maxWaitMs: number
}

export const PRIMARY = '/api/v1/authn' // the path of primary authentication

export function createAuthnUpstream(options: AuthnUpstreamOptions): AuthnUpstream {
  const { client, timeoutMs, monotonic = () => performance.now() } = options
  const calls = createLimitedCalls({ ...options, monotonic })
  const tokens = createApiTokens({ ...options, monotonic })
  const post = createPost(calls, tokens, options)
  const isOurTokenAccepted = createTokenCheck(tokens, (from, deadline) =>
    post({ path: PRIMARY, body: {} }, from, deadline),
  )
  const deadlineNow = () => monotonic() + timeoutMs

  return {
    prefetchRateLimit: calls.prefetch,
    prefetchDeviceToken: ({ device }) => void options.deviceTokens.of(device).catch(() => {}), // `send` throws it
    deadline: deadlineNow,
    tokenState: tokens.state,
    close: () => client.close(),

    async send(call, from) {
      const { bearsToken, isDecoy = false, deadline = deadlineNow() } = call
      const reply = await post(call, from, deadline)
      if (!isInvalidToken(reply)) return reply
      if (bearsToken && (await isOurTokenAccepted(from, deadline, isDecoy))) return reply
      tokens.reportRefused()
      throw tokenRefused()
    },

    async fetch(path, accept, from) {
      const deadline = deadlineNow()
      for (const apiToken of tokens.candidates().tokens) {
        const answer = await calls.send({ method: 'GET', path, accept, client: from, deadline }, apiToken)
        if (answer.status !== 401) return answer
      }
      // never 401, which would end the client's transaction; and no alarm: the next step shows whether the token is refused
      throw tokenRefused()
    },
  }
}

function tokenRefused() {
  return upstreamTemporarilyUnavailable(30, new DependencyFailure('token_refused'))
}

type Posted = Pick<AuthnCall, 'path' | 'body' | 'encoding'>

function createPost(
  calls: LimitedCalls,
  tokens: ApiTokens,
  { deviceTokens }: Pick<AuthnUpstreamOptions, 'deviceTokens'>,
) {
  return async ({ path, body, encoding }: Posted, client: Client, deadline: number): Promise<AuthnReply> => {
    const isForm = encoding === 'form'
    const accept = isForm ? '*/*' : 'application/json' // Okta answers a form with a page, a redirect or nothing
    // replaces the browser's
    const context = path === PRIMARY ? { context: { deviceToken: await deviceTokens.of(client.device) } } : {}
    const call = {
      ...{ path, accept, encoding, client, deadline },
      method: 'POST',
      body: { ...body, ...context },
    } as const
    return tryTokens(
      tokens.candidates(),
      (apiToken) => calls.send(call, apiToken),
      (answer) => toReply(isForm && answer.status < 400 ? { ...answer, status: 200, json: {} } : answer),
    )
  }
}

interface SingleCall extends Partial<Posted> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly accept: string
  readonly client: Client
  readonly deadline: number
}

type LimitedCalls = ReturnType<typeof createLimitedCalls>

/** Sends single calls through the rate-limit gate. The specification has one limit for the whole API. */
function createLimitedCalls(options: AuthnUpstreamOptions & { monotonic: () => number }) {
  const { client, rateLimit, names, now, monotonic } = options
  const clock = createUpstreamClock({ now, monotonic })
  const gate = createGate(options, clock)

  return {
    prefetch: gate.prefetch,

    /** Throws 429 E0000047, like the API itself, if the gate is closed; 502, 503 or 504 if there is no answer. */
    async send(call: SingleCall, apiToken: string): Promise<UpstreamResponse> {
      try {
        return await gate.run(toGateCaller(call, names, rateLimit.maxWaitMs), async (report) => {
          const timeoutMs = Math.ceil(call.deadline - monotonic())
          if (timeoutMs <= 0) throw upstreamTimeout(new DependencyFailure('timeout')) // nothing was sent
          const answer = await client.send(toRequest(call, apiToken, timeoutMs))
          clock.observe(answer)
          if (!isResendTooSoon(answer)) await report(answer, answer.status === 429)
          return answer
        })
      } catch (error) {
        if (error instanceof RateLimitRefusal) throw toRateLimitedError(error, now())
        throw error instanceof UpstreamFailure ? toBrokerError(error) : error
      }
    },
  }
}

function createGate(options: AuthnUpstreamOptions & { monotonic: () => number }, clock: UpstreamClock) {
  const { rateLimit, store, names, baseUrl, metrics, monotonic } = options
  return createRateLimitGate({
    ...rateLimit,
    store: createFailFastStore({ store, monotonic }),
    clock,
    monotonic,
    api: 'authn',
    scope: () => names.sign(baseUrl),
    prefix: 'x-rate-limit',
    random: Math.random,
    sleep: (ms) => delay(ms),
    onOutcome: (outcome) => metrics.rateLimitHolds.inc({ upstream: 'authn', outcome }),
    onRemaining: (remaining) => metrics.upstreamRateLimitRemaining.set({ upstream: 'authn' }, remaining),
    onUnreadable: () => metrics.unreadableRecords.inc({ kind: 'limit' }),
  })
}

/** Body fields that identify the party that a call is for. Only a state token continues a sign-in. */
const PARTIES = ['stateToken', 'username', 'token', 'recoveryToken'] as const

/** Each party has its role, so that a user name cannot be mistaken for a token, for example. */
function toGateCaller({ path, body = {}, client }: SingleCall, names: Signer, maxWaitMs: number): GateCaller {
  const role = PARTIES.find((name) => typeof body[name] === 'string')
  const party = role === undefined ? ['path', path] : [role, body[role]]
  return {
    priority: role === undefined || role === 'stateToken' ? 'ongoing' : 'new',
    parties: () => [['address', client.address], party].map((one) => names.sign(JSON.stringify(one))),
    budget: { leftMs: maxWaitMs },
  }
}

function toRequest(call: SingleCall, apiToken: string, timeoutMs: number): UpstreamRequest {
  const { method, path, accept, body, encoding, client } = call
  const headers = {
    Accept: accept,
    'Content-Type': 'application/json',
    Authorization: `SSWS ${apiToken}`,
    'X-Forwarded-For': client.address,
    ...(client.userAgent === '' ? {} : { 'User-Agent': client.userAgent }),
    ...(client.acceptLanguage === '' ? {} : { 'Accept-Language': client.acceptLanguage }),
    ...(client.fingerprint === undefined ? {} : { 'X-Device-Fingerprint': client.fingerprint }),
    ...(client.origin === undefined || !path.startsWith(PRIMARY) ? {} : { Origin: client.origin }),
  }
  if (encoding !== 'form') return { method, path, headers, body, timeoutMs }
  const fields = Object.entries(body ?? {}).map(([name, value]): [string, string] => [name, String(value)])
  return { method, path, headers, form: new URLSearchParams(fields), timeoutMs }
}
