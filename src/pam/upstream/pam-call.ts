import { type GatePass, type RateLimitGate, RateLimitRefusal } from '../../upstream/rate-limit-gate.ts'
import {
  type BreakerOptions,
  createBreaker,
  type UpstreamClient,
  type UpstreamResponse,
} from '../../upstream/upstream-client.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { PamDeps } from './pam-deps.ts'
import { errorNameOf, failureOf, failureOfCall, PamFailure, type PamSubject } from './pam-errors.ts'

/**
 * One operation of the API: it passes the rate-limit gate and the breaker, and is sent again where the rules allow it. Throws
 * `PamFailure`.
 */
export type PamCall = (request: PamRequest) => Promise<UpstreamResponse>

/** On whose account the API is called. A call that serves several requests has the id of the one that began it. */
export interface OnAccountOf {
  readonly background: boolean
  /** undefined: of no request, such as a refresh by a timer. */
  readonly requestId: string | undefined
}

export interface PamRequest extends OnAccountOf {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly subject: PamSubject
  /** Users' own lookups precede this call: what is left of the rate limit is theirs, and so is the next free connection. */
  readonly yields?: boolean
  /** What may still be spent on waiting for the rate limit and for a free connection. */
  readonly budget: { leftMs: number }
  /** For all attempts together. */
  readonly timeoutMs: number
  /** Gets each answer, errors too. */
  readonly onAnswer?: (answer: UpstreamResponse) => void
}

export interface PamCallOptions
  extends Pick<PamDeps, 'clock' | 'monotonic' | 'random' | 'sleep' | 'log' | 'metrics'> {
  readonly client: UpstreamClient
  readonly gate: RateLimitGate
  /** For an API that answers, but only that it is offline. */
  readonly breaker: Pick<BreakerOptions, 'consecutiveFailures' | 'halfOpenAfterMs'>
}

/** The pause before a call is sent again, from this to twice as long. */
const RETRY_PAUSE_MS = 100

export function createPamCall(options: PamCallOptions): PamCall {
  const { gate, monotonic, random, sleep } = options
  const breaker = createBreaker(options.breaker)

  return async function call(request) {
    const deadline = monotonic() + request.timeoutMs
    for (let sent = 1; ; ) {
      try {
        return await sendOnce(request, deadline)
      } catch (error) {
        if (!(error instanceof PamFailure)) throw error
        // The gate is closed by now: wait there if there is time, without counting it as another attempt.
        if (error.outcome === 'too_many_requests' && error.retryAfterMs === undefined) continue
        const pauseMs = RETRY_PAUSE_MS * (1 + random())
        const isLast = sent > error.rule.retries || monotonic() + pauseMs >= deadline
        if (isLast || !maySendAgain(request, error)) {
          report(request, error, options)
          throw error
        }
        await sleep(pauseMs)
        sent += 1
      }
    }
  }

  async function sendOnce(request: PamRequest, deadline: number): Promise<UpstreamResponse> {
    const pass = await enter(gate, request)
    try {
      const timeoutMs = deadline - monotonic()
      if (timeoutMs <= 0) throw new PamFailure('no_answer', { reason: 'out of time' })
      return await breaker.run(() => exchange(request, timeoutMs, pass, options))
    } catch (error) {
      if (error instanceof CountedFailure) throw error.failure
      throw error instanceof UpstreamFailure ? failureOfCall(error) : error
    } finally {
      await pass.leave()
    }
  }
}

async function enter(gate: RateLimitGate, { background, yields, budget }: PamRequest): Promise<GatePass> {
  try {
    return await gate.enter({ priority: background ? 'background' : yields ? 'new' : 'ongoing', budget })
  } catch (error) {
    if (!(error instanceof RateLimitRefusal)) throw error
    throw new PamFailure('too_many_requests', { retryAfterMs: error.waitMs, wasDeferred: background })
  }
}

async function exchange(
  request: PamRequest,
  timeoutMs: number,
  pass: GatePass,
  { client, clock, log, metrics }: PamCallOptions,
): Promise<UpstreamResponse> {
  const { method, path, headers, body, subject, background, yields, budget, requestId } = request
  const answer = await client.send({
    method,
    path,
    headers: { Accept: 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
    timeoutMs,
    wait: { urgent: !background && !yields, budget },
  })
  clock.observe(answer)
  request.onAnswer?.(answer)
  const failure = failureOf(answer, subject)
  await pass.observe(answer, failure?.outcome === 'too_many_requests')
  if (failure === undefined) return answer
  metrics.pamErrors.inc({ name: answer.status < 400 ? 'redirect' : errorNameOf(answer) })
  const { outcome: name } = failure
  log.debug('pam_error', { requestId, upstream: 'pam', upstreamStatus: answer.status, name })
  throw failure.rule.breaker ? new CountedFailure(failure) : failure
}

/** A POST is sent again only if it was answered, or certainly did not arrive. */
function maySendAgain({ method }: PamRequest, { outcome, cause }: PamFailure): boolean {
  if (method === 'GET' || outcome !== 'no_answer') return true
  return cause instanceof UpstreamFailure && cause.outcome === 'unreachable'
}

function report(
  { subject, requestId }: PamRequest,
  failure: PamFailure,
  { log, metrics }: PamCallOptions,
): void {
  const { outcome: name, cause, rule, wasDeferred } = failure
  if (cause instanceof UpstreamFailure) metrics.pamErrors.inc({ name: cause.outcome })
  // An expired token is renewed, and a user may be unknown: neither is a problem yet.
  const isOrdinary = name === 'unknown_person' || (rule.renewsToken && subject !== 'token')
  if (wasDeferred || isOrdinary) return
  const level = rule.alarm ? 'error' : 'warn'
  log[level]('pam_call_failed', { requestId, upstream: 'pam', name, reason: subject }, failure)
}

/** Makes an answer that says "offline" a failure for the breaker. */
class CountedFailure extends UpstreamFailure {
  readonly failure: PamFailure

  constructor(failure: PamFailure) {
    super('unreachable', { code: failure.outcome })
    this.failure = failure
  }
}
