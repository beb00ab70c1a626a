import { type BreakerOptions, createBreaker } from '../../upstream/connections.ts'
import { type RateLimitGate, RateLimitRefusal, type ReportResponse } from '../../upstream/rate-limit-gate.ts'
import type { UpstreamClient, UpstreamResponse } from '../../upstream/upstream-client.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { PamDeps, PamTunables } from './pam-deps.ts'
import {
  failureFromAnswer,
  failureFromUpstream,
  PamFailure,
  type PamSubject,
  readErrorName,
} from './pam-errors.ts'

/**
 * Sends one API request through the rate-limit gate and the circuit breaker, and retries it if the error policy allows that.
 *
 * @throws PamFailure
 */
export type PamCall = (request: PamRequest) => Promise<UpstreamResponse>

/** Why the API is called. A call that several requests share has the id of the request that started it. */
export interface CallContext {
  readonly background: boolean
  /** undefined: started by a timer. */
  readonly requestId: string | undefined
}

export interface PamRequest extends CallContext {
  readonly path: string
  /** The service user's token. Only the operation that issues tokens needs none. */
  readonly bearer?: string
  /** Sent with POST. Without it, the request is a GET. */
  readonly body?: object
  readonly subject: PamSubject
  /** Users' own lookups get the rest of the rate limit, and the next free connection, before this request. */
  readonly lowPriority?: boolean
  /** The caller does not need the response: the priority is low, and a failure is neither counted nor logged. */
  readonly isOptional?: boolean
  /** Time left to wait for the rate limit and for a free connection. Default: `rateLimit.maxWaitMs`. */
  readonly budget?: { leftMs: number }
  /** For all attempts together. Default: `lists.maxTotalMs`. */
  readonly timeoutMs?: number
  /** Called with every response, errors included. */
  readonly onAnswer?: (answer: UpstreamResponse) => void
}

export interface PamCallOptions
  extends Pick<PamDeps, 'clock' | 'monotonic' | 'random' | 'sleep' | 'tunables' | 'log' | 'metrics'> {
  readonly client: UpstreamClient
  readonly gate: RateLimitGate
  /** Counts only responses that say that the API is offline. */
  readonly breaker: Pick<BreakerOptions, 'consecutiveFailures' | 'halfOpenAfterMs'>
}

type Request = ReturnType<typeof withDefaults>

function withDefaults(request: PamRequest, { lists, rateLimit }: PamTunables) {
  const defaults = { lowPriority: request.isOptional ?? false, timeoutMs: lists.maxTotalMs }
  return { ...defaults, budget: { leftMs: rateLimit.maxWaitMs }, ...request }
}

/** The shortest pause before a retry. A random part of up to the same length is added. */
const RETRY_PAUSE_MS = 100

export function createPamCall(options: PamCallOptions): PamCall {
  const { gate, monotonic, random, sleep, tunables } = options
  const breaker = createBreaker(options.breaker)

  return async function call(given) {
    const request = withDefaults(given, tunables)
    const deadline = monotonic() + request.timeoutMs
    for (let attempts = 1; ; ) {
      try {
        return await sendOnce(request, deadline)
      } catch (error) {
        if (!(error instanceof PamFailure)) throw error
        // The response has closed the gate. Waiting at the gate is not another attempt.
        if (error.outcome === 'too_many_requests' && error.retryAfterMs === undefined) continue
        const pauseMs = RETRY_PAUSE_MS * (1 + random())
        const isLast = attempts > error.policy.retries || monotonic() + pauseMs >= deadline
        if (isLast || !isRetrySafe(request, error)) {
          logFailure(request, error, options)
          throw error
        }
        await sleep(pauseMs)
        attempts += 1
      }
    }
  }

  async function sendOnce(request: Request, deadline: number): Promise<UpstreamResponse> {
    const { background, lowPriority, budget } = request
    const priority = background ? 'background' : lowPriority ? 'new' : 'ongoing'
    try {
      return await gate.run({ priority, budget, parties: () => [] }, (report) => {
        const timeoutMs = deadline - monotonic()
        if (timeoutMs <= 0) throw new PamFailure('no_answer', { reason: 'out of time' })
        return breaker.run(() => sendRequest(request, timeoutMs, report, options))
      })
    } catch (error) {
      throw toPamFailure(error, background)
    }
  }
}

function toPamFailure(error: unknown, wasDeferred = false): unknown {
  if (error instanceof RateLimitRefusal)
    return new PamFailure('too_many_requests', { retryAfterMs: error.waitMs, wasDeferred })
  if (error instanceof BreakerFailure) return error.failure
  return error instanceof UpstreamFailure ? failureFromUpstream(error) : error
}

async function sendRequest(
  request: Request,
  timeoutMs: number,
  report: ReportResponse,
  { client, clock, log, metrics }: PamCallOptions,
): Promise<UpstreamResponse> {
  const { path, bearer, body, subject, background, lowPriority, budget, requestId } = request
  const answer = await client.send({
    method: body === undefined ? 'GET' : 'POST',
    path,
    headers: { Accept: 'application/json', ...(bearer && { Authorization: `Bearer ${bearer}` }) },
    body,
    timeoutMs,
    wait: { urgent: !background && !lowPriority, budget },
  })
  clock.observe(answer)
  request.onAnswer?.(answer)
  const failure = failureFromAnswer(answer, subject)
  await report(answer, failure?.outcome === 'too_many_requests')
  if (failure === undefined) return answer
  if (!request.isOptional)
    metrics.pamErrors.inc({ name: answer.status < 400 ? 'redirect' : readErrorName(answer) })
  const { outcome: name } = failure
  log.debug('pam_error', { requestId, upstream: 'pam', upstreamStatus: answer.status, name })
  throw failure.policy.breaker ? new BreakerFailure(failure) : failure
}

/** A POST is sent again only after a response, or if it certainly did not arrive. */
function isRetrySafe({ body }: PamRequest, { outcome, cause }: PamFailure): boolean {
  if (body === undefined || outcome !== 'no_answer') return true
  return cause instanceof UpstreamFailure && cause.outcome === 'unreachable'
}

function logFailure(
  { subject, requestId, isOptional }: PamRequest,
  failure: PamFailure,
  { log, metrics }: PamCallOptions,
): void {
  if (isOptional) return
  const { outcome: name, cause, policy, wasDeferred } = failure
  if (cause instanceof UpstreamFailure) metrics.pamErrors.inc({ name: cause.outcome })
  // Expired tokens are renewed, and unknown users are normal.
  const isExpected = name === 'unknown_user' || (policy.renewsToken && subject !== 'token')
  if (wasDeferred || isExpected) return
  const level = policy.alarm ? 'error' : 'warn'
  log[level]('pam_call_failed', { requestId, upstream: 'pam', name, reason: subject }, failure)
}

/** The breaker counts `UpstreamFailure` only. This makes it count a response as a failure. */
class BreakerFailure extends UpstreamFailure {
  readonly failure: PamFailure

  constructor(failure: PamFailure) {
    super('unreachable', { code: failure.outcome })
    this.failure = failure
  }
}
