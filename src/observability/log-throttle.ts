/**
 * How many events about this key a line would stand for, those since its last line included; 0:
 * write none now.
 */
export type LogThrottle = (key: string) => number

/** `maxLines` is per period, for all keys together: clients may choose the keys. */
const DEFAULTS = { periodMs: 600_000, maxLines: 20, now: () => performance.now() }

/**
 * For log events that can be frequent: one line per key and period, and a limited number in total.
 */
export function createLogThrottle(options: Partial<typeof DEFAULTS> = {}): LogThrottle {
  const { periodMs, maxLines, now } = { ...DEFAULTS, ...options }
  const logged = new Map<string, { readonly untilMs: number; suppressed: number }>()
  return (key) => {
    const nowMs = now()
    const last = logged.get(key)
    if (last !== undefined && nowMs < last.untilMs) {
      last.suppressed += 1
      return 0
    }
    if (last === undefined && logged.size >= maxLines) {
      for (const [other, { untilMs }] of logged) if (nowMs >= untilMs) logged.delete(other)
      if (logged.size >= maxLines) return 0
    }
    logged.set(key, { untilMs: nowMs + periodMs, suppressed: 0 })
    return 1 + (last?.suppressed ?? 0)
  }
}
