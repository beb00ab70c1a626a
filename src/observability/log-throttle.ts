/** Whether a line about this key may be written now. */
export type LogThrottle = (key: string) => boolean

export interface LogThrottleOptions {
  readonly periodMs: number
  /** Per period, for all keys together: clients choose the keys. */
  readonly maxLines: number
  readonly now?: () => number
}

/** For log events that any client can cause: one line per key and period, and a limited number in total. */
export function createLogThrottle({
  periodMs,
  maxLines,
  now = () => performance.now(),
}: LogThrottleOptions): LogThrottle {
  const logged = new Set<string>()
  let periodEndsAt = Number.NEGATIVE_INFINITY
  return (key) => {
    if (now() >= periodEndsAt) {
      logged.clear()
      periodEndsAt = now() + periodMs
    }
    if (logged.has(key) || logged.size >= maxLines) return false
    logged.add(key)
    return true
  }
}
