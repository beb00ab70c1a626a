import { type BreakerOptions, createBreaker } from '../../upstream/breaker.ts'
import type { HttpApi, UpstreamResponse } from '../../upstream/http-api.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { PamDeps } from './pam-deps.ts'
import {
  failureFromAnswer,
  failureFromUpstream,
  PamFailure,
  type PamSubject,
  readErrorName,
} from './pam-errors.ts'
import { createRateLimit, type WaitBudget } from './rate-limit.ts'

/**
 * Sends one API request within the rate limit, through the circuit breaker, and retries it if the
 * error policy allows that.
 *
 * @throws PamFailure
 */
export type PamCall = (request: PamRequest) => Promise<UpstreamResponse>

/**
 * Why the API is called. A call that several requests share has the id of the request that started
 * it.
 */
export interface CallContext {
  readonly background: boolean
  readonly requestId: string
}

export interface PamRequest extends CallContext {
  readonly path: string
  /** The service user's token. Only the operation that issues tokens needs none. */
  readonly bearer?: string
  /** Sent with POST. Without it, the request is a GET. */
  readonly body?: object
  readonly subject: PamSubject
  /** Users' own lookups are sent before this request. */
  readonly lowPriority?: boolean
  /** Time left to wait for the rate limit and for a free connection. Default: `maxWaitMs`. */
  readonly budget?: WaitBudget
  /** For all attempts together. Default: `pageLimits.maxTotalMs`. */
  readonly timeoutMs?: number
}

export interface PamCallOptions extends PamDeps {
  readonly api: HttpApi
  /** Counts only responses that say that the API is offline; `api` counts lost connections. */
  readonly breaker?: Pick<BreakerOptions, 'consecutiveFailures' | 'halfOpenAfterMs'> | undefined
}

type SendDeps = PamCallOptions & { readonly rateLimit: ReturnType<typeof createRateLimit> }

/** The shortest pause before a retry. A random part of up to the same length is added. */
const RETRY_PAUSE_MS = 100

export function createPamCall(options: PamCallOptions): PamCall {
  const { monotonic, random, sleep, pageLimits, maxWaitMs } = options
  const rateLimit = createRateLimit(options)
  const deps = { ...options, rateLimit }
  const breaker = createBreaker({ ...options.breaker, outcomes: ['service_offline'] })

  return async function call(request) {
    const { timeoutMs = pageLimits.maxTotalMs, background, lowPriority = false } = request
    const { budget = { leftMs: maxWaitMs } } = request
    const deadline = monotonic() + timeoutMs
    const send = () => {
      const leftMs = deadline - monotonic()
      if (leftMs <= 0) throw new PamFailure('no_answer', { reason: 'out of time' })
      return breaker.run(() => sendRequest(request, leftMs, deps))
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await rateLimit.run(!background && !lowPriority, budget, send)
      } catch (error) {
        const failure = toPamFailure(error)
        // The rate limit has its own pause.
        const pauseMs = failure.outcome === 'too_many_requests' ? 0 : RETRY_PAUSE_MS * (1 + random())
        const isLast = attempt > failure.policy.retries || monotonic() + pauseMs >= deadline
        if (isLast || !mayRetry(request, failure)) {
          logFailure(request, failure, options)
          throw failure
        }
        await sleep(pauseMs)
      }
    }
  }
}

/** Throws any other error again. */
function toPamFailure(error: unknown): PamFailure {
  if (error instanceof UpstreamFailure) return failureFromUpstream(error)
  if (error instanceof PamFailure) return error
  throw error
}

async function sendRequest(
  { path, bearer, body, subject, requestId }: PamRequest,
  timeoutMs: number,
  { api, rateLimit, clock, log, metrics }: SendDeps,
): Promise<UpstreamResponse> {
  const answer = await api.send({
    method: body === undefined ? 'GET' : 'POST',
    path,
    headers: { Accept: 'application/json', ...(bearer && { Authorization: `Bearer ${bearer}` }) },
    body,
    timeoutMs,
  })
  clock.observe(answer)
  const failure = failureFromAnswer(answer, subject)
  await rateLimit.observe(answer, failure?.outcome === 'too_many_requests')
  if (failure === undefined) return answer
  metrics.pamErrors.inc({ name: answer.status < 400 ? 'redirect' : readErrorName(answer) })
  const { outcome: name } = failure
  log.debug('pam_error', { requestId, upstream: 'pam', upstreamStatus: answer.status, name })
  throw failure
}

/** Whether the rate limit did not allow the request in time. */
function isHeldBackByLimit({ outcome, status }: PamFailure): boolean {
  return outcome === 'too_many_requests' && status === undefined
}

/** A POST is sent again only after a response, or if it certainly did not arrive. */
function mayRetry({ body }: PamRequest, failure: PamFailure): boolean {
  if (isHeldBackByLimit(failure)) return false
  const { outcome, cause } = failure
  if (body === undefined || outcome !== 'no_answer') return true
  return cause instanceof UpstreamFailure && cause.outcome === 'unreachable'
}

function logFailure(
  { subject, requestId }: PamRequest,
  failure: PamFailure,
  { log, metrics }: PamDeps,
): void {
  const { outcome: name, cause, policy } = failure
  if (cause instanceof UpstreamFailure) metrics.pamErrors.inc({ name: cause.outcome })
  // Expired tokens are renewed, and unknown users are normal.
  const isExpected = name === 'unknown_user' || (policy.renewsToken && subject !== 'token')
  if (isHeldBackByLimit(failure) || isExpected) return
  const level = policy.alarm ? 'error' : 'warn'
  log[level]('pam_call_failed', { requestId, upstream: 'pam', name, reason: subject }, failure)
}
