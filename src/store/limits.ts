import type { LimitWindow, WindowKey } from './attempt-counters.ts'

export interface LimitConfig {
  readonly attempts: number
  readonly perSeconds: number
}

export function limitWindow(key: WindowKey, { attempts, perSeconds }: LimitConfig): LimitWindow {
  return { ...key, maxAttempts: attempts, ttlMs: perSeconds * 1000 }
}

/** For the 429 of a limit whose window ends in `leftMs`. */
export function limitTimes(max: number, leftMs: number, nowMs: number) {
  return {
    limit: max,
    resetAtSeconds: Math.ceil((nowMs + leftMs) / 1000),
    retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  }
}
