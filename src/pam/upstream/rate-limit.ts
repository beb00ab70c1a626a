import pLimit from 'p-limit'
import type { UpstreamResponse } from '../../upstream/http-api.ts'
import { parseNumber, parseRetryAfter } from '../../upstream/retry-after.ts'
import { takeTurn } from '../../upstream/take-turn.ts'
import { CLOCK_TOLERANCE_MS } from '../../upstream/upstream-clock.ts'
import type { PamDeps } from './pam-deps.ts'
import { PamFailure } from './pam-errors.ts'

/** The time that a caller may still wait; decreases as it waits. */
export interface WaitBudget {
  leftMs: number
}

/** Other replicas have calls in flight too: each takes this share of what remains. */
const SHARE = 1 / 4
/** When less than this share of the limit is left, it is for users' own lookups. */
const RESERVED_SHARE = 1 / 4
/** Connections that only users' own lookups may take. */
const OWN_CONNECTIONS = 3 / 4
/** If the API gives no time, or one in the past. */
const DEFAULT_CLOSED_MS = 1000
const MAX_CLOSED_MS = 300_000
/** The API opens up to this much later, so that replicas do not all send at once. */
const JITTER_MS = 1000

/**
 * The service user's rate limit, one budget for all replicas. After a 429, or when nothing remains,
 * a shared time closes the API for all replicas. It is checked when a call is about to be sent.
 * Calls in flight count against what remains, so few calls are in flight when little remains; and
 * one, until the API has told what remains.
 */
export function createRateLimit(deps: PamDeps) {
  const { store, clock, random, monotonic, startTimer, maxConnections } = deps
  /** The time until which no replica sends a call. */
  const closedKey = deps.keyOf('pamRateLimit')
  const maxOwn = Math.ceil(maxConnections * OWN_CONNECTIONS)
  const maxOther = Math.max(1, maxConnections - maxOwn)
  const [own, other] = [pLimit(1), pLimit(1)]
  let reservedUntilMs = 0

  async function getClosedMs(isOwn: boolean): Promise<number> {
    const untilText = await store.get(closedKey)
    if (untilText === undefined) return isOwn ? 0 : reservedUntilMs - clock.now()
    // Before the first response, this process does not know the API's time.
    return clock.isSet() ? Math.min(Number(untilText) - clock.now(), MAX_CLOSED_MS) : DEFAULT_CLOSED_MS
  }

  return {
    /**
     * Throws `too_many_requests` or `pool_exhausted` if the call cannot be sent within the budget.
     */
    async run<T>(isOwn: boolean, budget: WaitBudget, send: () => Promise<T>): Promise<T> {
      const queuedAt = monotonic()
      const endTurn = await takeTurn(isOwn ? own : other, budget.leftMs, startTimer)
      const opening = waitUntilOpen(budget, queuedAt, () => getClosedMs(isOwn), deps)
      return opening.then(send).finally(endTurn)
    },

    /** To be called with every response. `isRefusal`: a 429. */
    async observe(response: UpstreamResponse, isRefusal: boolean): Promise<void> {
      const nowMs = clock.now()
      const { limit = 0, remaining, untilMs = 0 } = readRateLimit(response, nowMs)
      const inFlight = Math.max(1, Math.floor((remaining ?? Number.POSITIVE_INFINITY) * SHARE))
      own.concurrency = Math.min(inFlight, maxOwn)
      other.concurrency = Math.min(inFlight, maxOther)
      const isLow = remaining !== undefined && remaining < limit * RESERVED_SHARE
      reservedUntilMs = isLow ? Math.min(untilMs, nowMs + MAX_CLOSED_MS) : 0
      if (!isRefusal && remaining !== 0) return
      const leftMs = untilMs > nowMs ? untilMs - nowMs : DEFAULT_CLOSED_MS
      const closedMs = Math.min(leftMs + random() * JITTER_MS, MAX_CLOSED_MS)
      await store.set(closedKey, String(nowMs + closedMs), closedMs)
    },
  }
}

async function waitUntilOpen(
  budget: WaitBudget,
  queuedAt: number,
  getClosedMs: () => Promise<number>,
  { monotonic, sleep, metrics }: PamDeps,
): Promise<void> {
  budget.leftMs -= monotonic() - queuedAt
  for (let leftMs = await getClosedMs(); leftMs > 0; leftMs = await getClosedMs()) {
    const isRefused = leftMs > budget.leftMs
    metrics.rateLimitHolds.inc({ upstream: 'pam', outcome: isRefused ? 'refused' : 'waited' })
    if (isRefused) throw new PamFailure('too_many_requests', { retryAfterMs: leftMs })
    budget.leftMs -= leftMs
    await sleep(leftMs)
  }
}

type Header = UpstreamResponse['headers'][string]

/**
 * `untilMs`: the sooner of Retry-At and Reset, else Retry-After, in milliseconds since 1970 by the
 * API's clock.
 */
function readRateLimit({ headers }: UpstreamResponse, nowMs: number) {
  const times = [headers['x-ratelimit-reset'], headers['x-ratelimit-retry-at']]
    .map((header) => parseTime(header) ?? 0)
    .filter((time) => time > nowMs - CLOCK_TOLERANCE_MS) // one in the past is ignored
  return {
    limit: parseNumber(headers['x-ratelimit-limit']),
    remaining: parseNumber(headers['x-ratelimit-remaining']),
    untilMs: times.length > 0 ? Math.min(...times) : parseRetryAfter(headers['retry-after'], nowMs),
  }
}

/** Unix times from here on are in milliseconds: in seconds, they would be after the year 5000. */
const MIN_MILLISECONDS = 1e11

function parseTime(header: Header): number | undefined {
  const time = parseNumber(header)
  return time === undefined || time >= MIN_MILLISECONDS ? time : time * 1000
}
