import type { UpstreamAnswer } from '../upstream/upstream-client.ts'

/**
 * The API's own time, carried on by our monotonic clock: everything that it dates (token expiry, rate limits) and
 * everything that replicas compare among each other is measured on it, so that no clock of ours has to be right.
 */
export interface UpstreamClock {
  /** Milliseconds since 1970 on the API's clock; on ours as long as there was no answer. */
  now(): number
  /** Whether there was an answer. */
  isSet(): boolean
  observe(answer: Pick<UpstreamAnswer, 'headers'>): void
}

/** `Date` has whole seconds, so that estimates differ by less than this; more means that a clock was set. */
const TOLERANCE_MS = 2000

export function createUpstreamClock(parts: { now: () => number; monotonic: () => number }): UpstreamClock {
  let offsetMs: number | undefined

  return {
    now: () => (offsetMs === undefined ? parts.now() : parts.monotonic() + offsetMs),
    isSet: () => offsetMs !== undefined,
    observe({ headers }) {
      const dateMs = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN
      if (Number.isNaN(dateMs)) {
        offsetMs ??= parts.now() - parts.monotonic() // an API that tells no time: ours must do
        return
      }
      const seen = dateMs - parts.monotonic()
      // The header cuts off a second's rest: of estimates that agree, the latest time is the nearest to the truth.
      offsetMs =
        offsetMs === undefined || Math.abs(seen - offsetMs) > TOLERANCE_MS ? seen : Math.max(seen, offsetMs)
    },
  }
}
