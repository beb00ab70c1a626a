/** Calls `ring` once after that time. @returns what stops it */
export type StartTimer = (ring: () => void, ms: number) => () => void

export const startTimer: StartTimer = (ring, ms) => {
  const timer = setTimeout(ring, ms)
  return () => clearTimeout(timer)
}
