import {
  createSharedRecord,
  findHold,
  type GateCaller,
  POLL_MS,
  type RateLimitStatus,
  type SharedRecordOptions,
} from './rate-limit-record.ts'
import { CLOCK_TOLERANCE_MS, type UpstreamResponse } from './upstream-client.ts'

export interface RateLimitGateOptions extends SharedRecordOptions {
  readonly prefix: RateLimitHeaderPrefix
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly onOutcome: (outcome: 'waited' | 'deferred' | 'refused' | 'probe') => void
  readonly onRemaining?: (remaining: number) => void
}

export type RateLimitGate = ReturnType<typeof createRateLimitGate>

/** Reads the headers of the response. `isRefusal`: the API refused the call because of its rate limit. */
export type ReportResponse = (response: UpstreamResponse, isRefusal: boolean) => Promise<void>

/** The call was not sent: the API would have refused it, or the last requests are reserved for other calls. */
export class RateLimitRefusal extends Error {
  override readonly name = 'RateLimitRefusal'
  readonly waitMs: number
  /** The limit in the API's headers. */
  readonly limit: number | undefined

  constructor(waitMs: number, limit: number | undefined) {
    super('not sent because of the rate limit')
    this.waitMs = waitMs
    this.limit = limit
  }
}

/**
 * Holds calls while an API's rate limit is exhausted, and reserves the last requests of a limit for sign-ins in progress.
 *
 * - A 429 holds the calls of its caller until the limit's reset, for at most `maxClosedMs`; for a second if the API names no
 *   reset (rate-limit-record.ts).
 * - 429s to two unrelated callers, or a response with no requests remaining, close the gate for all callers.
 * - A probe, one call over all replicas, reopens the gate. It is sent after the reset. If callers can be told apart, the limit may
 *   apply to one caller only, so a probe is also sent at once, and again 5 s after a refused one.
 *
 * Replicas share the state through the store. All times are on the API's clock.
 */
export function createRateLimitGate(options: RateLimitGateOptions) {
  const { clock, prefix, onRemaining } = options
  const record = createSharedRecord(options)

  return {
    /** Starts to read the state of other replicas, so that `run` need not wait for it. Never fails. */
    prefetch: () => void record.refresh(),

    /**
     * Runs `call` when it may be sent; throws `RateLimitRefusal` if that would take longer than the budget. `call` reports its response,
     * if there is one.
     */
    async run<T>(caller: GateCaller, call: (report: ReportResponse) => Promise<T>): Promise<T> {
      const probe = await enter(caller, record, options)
      try {
        return await call(async (response, isRefusal) => {
          const nowMs = clock.now()
          const rateLimit = readRateLimit(response, prefix, nowMs)
          if (rateLimit.remaining !== undefined) onRemaining?.(isRefusal ? 0 : rateLimit.remaining)
          const { parties } = caller
          await record.update({ nowMs, rateLimit, isRefusal, parties, probed: probe?.probeAtMs })
        })
      } finally {
        await probe?.release()
      }
    },
  }
}

type SharedRecord = ReturnType<typeof createSharedRecord>

/** Resolves when the call may be sent, with the probe if the call is one. */
async function enter(caller: GateCaller, record: SharedRecord, options: RateLimitGateOptions) {
  const { jitterMs, random, sleep, onOutcome } = options
  const spreadMs = random() * jitterMs
  for (let waited = false; ; waited = true) {
    await record.refresh()
    const next = await passOrWait(caller, spreadMs, record, options)
    if (typeof next !== 'number') return next
    if (!waited) onOutcome('waited')
    caller.budget.leftMs -= next
    await sleep(next)
  }
}

/** The time until the next check, in milliseconds; or a probe; or undefined if there is no limit. */
async function passOrWait(
  caller: GateCaller,
  spreadMs: number,
  record: SharedRecord,
  { clock, onOutcome }: RateLimitGateOptions,
) {
  const { limit, probeAtMs } = record.current()
  const hold = findHold(record.current(), caller, clock.now())
  if (hold === undefined) return undefined
  const opensInMs = hold.leftMs + spreadMs
  const isProbeDue = Math.min(opensInMs, hold.probeInMs) <= 0
  const release = isProbeDue ? await record.acquireProbe() : undefined
  if (release !== undefined) {
    await record.refresh(0)
    if (record.current().probeAtMs !== probeAtMs) return release().then(() => 0) // another probe has just ended
    onOutcome('probe')
    return { probeAtMs, release }
  }
  const waitMs = isProbeDue ? POLL_MS : opensInMs
  const mustNotWait = hold.isReserved || caller.priority === 'background'
  if (!mustNotWait && waitMs <= caller.budget.leftMs) return waitMs
  onOutcome(mustNotWait ? 'deferred' : 'refused')
  throw new RateLimitRefusal(Math.max(waitMs, opensInMs), limit)
}

/** The Authentication API sends `X-Rate-Limit-…`, the PAM API `X-RateLimit-…`. */
export type RateLimitHeaderPrefix = 'x-rate-limit' | 'x-ratelimit'

type Header = UpstreamResponse['headers'][string]

export function readRateLimit(
  { headers }: Pick<UpstreamResponse, 'headers'>,
  prefix: RateLimitHeaderPrefix,
  nowMs: number,
): RateLimitStatus {
  const resetMs = parseTime(headers[`${prefix}-reset`])
  const retryAtMs = parseTime(headers[`${prefix}-retry-at`])
  // a time in the past is ignored
  const times = [resetMs ?? 0, retryAtMs ?? 0].filter((time) => time > nowMs - CLOCK_TOLERANCE_MS)
  return {
    limit: parseNumber(headers[`${prefix}-limit`]),
    remaining: parseNumber(headers[`${prefix}-remaining`]),
    untilMs: times.length > 0 ? Math.min(...times) : parseRetryAfter(headers['retry-after'], nowMs),
    resetMs,
  }
}

/** Unix times from here on are in milliseconds: in seconds, they would be after the year 5000. */
const MIN_MILLISECONDS = 1e11

function parseTime(header: Header): number | undefined {
  const time = parseNumber(header)
  return time === undefined || time >= MIN_MILLISECONDS ? time : time * 1000
}

/** A number of seconds, or an HTTP date in one of its three forms (RFC 9110, sections 5.6.7 and 10.2.3). */
function parseRetryAfter(header: Header, nowMs: number): number | undefined {
  const seconds = parseNumber(header)
  if (seconds !== undefined) return nowMs + seconds * 1000
  if (typeof header !== 'string' || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(header)) return undefined
  const time = Date.parse(header.endsWith(' GMT') ? header : `${header} GMT`)
  return Number.isNaN(time) ? undefined : time
}

function parseNumber(header: Header): number | undefined {
  return /^\s*\d{1,15}(\.\d{1,9})?\s*$/.test(String(header)) ? Number(header) : undefined
}
