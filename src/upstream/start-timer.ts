/** Calls `callback` once after `ms`. Returns a function that cancels the timer. */
export type StartTimer = (callback: () => void, ms: number) => () => void

export const startTimer: StartTimer = (callback, ms) => {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
