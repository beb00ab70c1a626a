/** Calls `callback` once after `ms`. Returns a function that cancels the timer. */
export type StartTimer = (callback: () => void, ms: number) => () => void

export const startTimer: StartTimer = (callback, ms) => {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/** undefined after `ms`. Then `work` continues, and its failure is ignored. */
export function inTime<T>(work: Promise<T>, ms: number, start: StartTimer): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stopTimer = start(() => resolve(undefined), ms)
    work.finally(stopTimer).then(resolve, reject)
  })
}
