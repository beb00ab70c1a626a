import { setTimeout as pause } from 'node:timers/promises'

/**
 * Does work whose duration shows which user it is about, such as a call to Okta: its result or error comes after the set time
 * at the earliest. What follows from the broker's own record alone is answered at once: requests that wait occupy places
 * (`load-shedding.ts`).
 */
export async function withMinDuration<T>(answerMs: number, work: () => Promise<T>): Promise<T> {
  const [result] = await Promise.allSettled([work(), pause(answerMs)])
  if (result.status === 'rejected') throw result.reason
  return result.value
}
