import { setTimeout as pause } from 'node:timers/promises'

/**
 * Does work whose duration could reveal whether a user exists, such as a call to Okta. Its result
 * or error is returned no sooner than `durationMs`. Not for answers from the broker's own record
 * alone: waiting requests count as in flight.
 */
export async function noSooner<Result>(durationMs: number, work: () => Promise<Result>): Promise<Result> {
  if (durationMs === 0) return work()
  const [result] = await Promise.allSettled([work(), pause(durationMs)])
  if (result.status === 'rejected') throw result.reason
  return result.value
}
