/** Whether a line about this key may be written now. */
export type LogThrottle = (key: string) => boolean

export interface LogThrottleOptions {
  readonly periodMs: number
  /** In one period. Clients choose the keys, so their number needs a limit too. */
  readonly maxLines: number
  readonly now?: () => number
}

/** For log events that any client can cause: one line for each key in each period, and few lines in all. */
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
