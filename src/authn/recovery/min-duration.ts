import { setTimeout as pause } from 'node:timers/promises'

/**
 * Does work whose duration could reveal whether a user exists, such as a call to Okta. Its result or error is returned
 * no sooner than `answerMs`. Not for answers from the broker's own record alone: waiting requests count as in flight
 * (`limitRequestsInFlight`).
 */
export async function withMinDuration<T>(answerMs: number, work: () => Promise<T>): Promise<T> {
  const [result] = await Promise.allSettled([work(), pause(answerMs)])
  if (result.status === 'rejected') throw result.reason
  return result.value
}
