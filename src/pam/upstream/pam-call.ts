import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UpstreamClock } from '../../upstream/answer-headers.ts'
import { type BreakerOptions, createBreaker } from '../../upstream/breaker.ts'
import { type GatePass, type RateLimitGate, RateLimitRefusal } from '../../upstream/rate-limit-gate.ts'
import type { UpstreamAnswer, UpstreamClient } from '../../upstream/upstream-client.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import { errorNameOf, failureOf, failureOfCall, PamFailure, type PamSubject } from './pam-errors.ts'

/** One operation of the API: gate, send, read the time and the limits, tell what the answer means, send again. */
export type PamCall = (request: PamRequest) => Promise<UpstreamAnswer>

/** On whose account the API is called. What serves several requests bears the id of the one that began it. */
export interface OnAccountOf {
  readonly background: boolean
  /** undefined: of no request, such as a refresh by the clock. */
  readonly requestId: string | undefined
}

export interface PamRequest extends OnAccountOf {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly subject: PamSubject
  /** Users' own lookups go first: what is left of the rate limit is theirs, and so is the next free connection. */
  readonly yields?: boolean
  /** What may still be spent waiting for the rate limit and for a free connection. */
  readonly budget: { leftMs: number }
  /** For this operation as a whole. */
  readonly timeoutMs: number
  /** Is told of each answer, errors too. */
  readonly onAnswer?: (answer: UpstreamAnswer) => void
}

export interface PamCallParts {
  readonly client: UpstreamClient
  readonly gate: RateLimitGate
  readonly clock: UpstreamClock
  readonly breaker: Pick<BreakerOptions, 'consecutiveFailures' | 'halfOpenAfterMs'>
  readonly monotonic: () => number
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly log: Logger
  readonly metrics: Metrics
}

/** Before a call is sent again: this long, and as long again by chance. */
const RETRY_PAUSE_MS = 100

export function createPamCall(parts: PamCallParts): PamCall {
  const { client, gate, clock, monotonic, random, sleep, log, metrics } = parts
  const breaker = createBreaker(parts.breaker)

  return async function call(request) {
    const deadline = monotonic() + request.timeoutMs
    for (let sent = 1; ; ) {
      try {
        return await sendOnce(request, deadline)
      } catch (error) {
        if (!(error instanceof PamFailure)) throw error
        // The gate is closed by now: wait there if there is time, without counting it as another try.
        if (error.trouble === 'too_many_requests' && error.retryAfterMs === undefined) continue
        if (sent > error.rule.retries || !maySendAgain(request, error)) throw told(request, error)
        const pauseMs = RETRY_PAUSE_MS * (1 + random())
        if (monotonic() + pauseMs >= deadline) throw told(request, error)
        await sleep(pauseMs)
        sent += 1
      }
    }
  }

  async function sendOnce(request: PamRequest, deadline: number): Promise<UpstreamAnswer> {
    const pass = await enter(request)
    try {
      const timeoutMs = deadline - monotonic()
      if (timeoutMs <= 0) throw new PamFailure('no_answer', { reason: 'out of time' })
      return await breaker.run(() => exchange(request, timeoutMs, pass))
    } catch (error) {
      if (error instanceof CountedFailure) throw error.failure
      throw error instanceof UpstreamFailure ? failureOfCall(error) : error
    } finally {
      await pass.leave()
    }
  }

  async function enter({ background, yields, budget }: PamRequest): Promise<GatePass> {
    try {
      return await gate.enter({ priority: background ? 'background' : yields ? 'new' : 'ongoing', budget })
    } catch (error) {
      if (!(error instanceof RateLimitRefusal)) throw error
      throw new PamFailure('too_many_requests', { retryAfterMs: error.waitMs, gaveWay: background })
    }
  }

  async function exchange(request: PamRequest, timeoutMs: number, pass: GatePass): Promise<UpstreamAnswer> {
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
    await pass.observe(answer, failure?.trouble === 'too_many_requests')
    if (failure === undefined) return answer
    metrics.pamErrors.inc({ name: answer.status < 400 ? 'redirect' : errorNameOf(answer) })
    log.debug('pam_error', {
      requestId,
      upstream: 'pam',
      upstreamStatus: answer.status,
      name: failure.trouble,
    })
    throw failure.rule.breaker ? new CountedFailure(failure) : failure
  }

  /** A POST is sent again only when it was answered, or certainly did not arrive. */
  function maySendAgain({ method }: PamRequest, { trouble, cause }: PamFailure): boolean {
    if (method === 'GET' || trouble !== 'no_answer') return true
    return cause instanceof UpstreamFailure && cause.outcome === 'unreachable'
  }

  function told({ subject, requestId }: PamRequest, failure: PamFailure): PamFailure {
    const { trouble, cause } = failure
    if (cause instanceof UpstreamFailure) metrics.pamErrors.inc({ name: cause.outcome })
    const level = failure.rule.alarm ? 'error' : 'warn'
    // A token that ran out is renewed, and a person may be unknown: neither is anybody's trouble yet.
    const isOrdinary = trouble === 'unknown_person' || (failure.rule.renewsToken && subject !== 'token')
    if (!failure.gaveWay && !isOrdinary)
      log[level]('pam_call_failed', { requestId, upstream: 'pam', name: trouble, reason: subject }, failure)
    return failure
  }
}

/** Lets the breaker see an answer that says "offline" as the failure that it is. */
class CountedFailure extends UpstreamFailure {
  readonly failure: PamFailure

  constructor(failure: PamFailure) {
    super('unreachable', { code: failure.trouble })
    this.failure = failure
  }
}
