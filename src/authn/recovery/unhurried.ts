import { setTimeout as pause } from 'node:timers/promises'

/**
 * Does work that shows by its time whom it is about, such as a call to the org: its answer or error comes no sooner than
 * the set time. What follows from the broker's own record alone is answered before, at once: requests that wait hold
 * places (`shed-load.ts`).
 */
export type Unhurried = <Result>(work: () => Promise<Result>) => Promise<Result>

export function createUnhurried(answerMs: number): Unhurried {
  return async (work) => {
    const [result] = await Promise.allSettled([work(), pause(answerMs)])
    if (result.status === 'rejected') throw result.reason
    return result.value
  }
}
