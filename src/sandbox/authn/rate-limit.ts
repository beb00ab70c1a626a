import type { SandboxConfig } from '../sandbox-config.ts'
import type { ClientContext } from './client-context.ts'

export type RateLimit = {
  /** Counts a request. The headers belong on every response, including 429. */
  count(client: ClientContext): { exceeded: boolean; headers: Record<string, string> }
  clear(): void
}

/** Limits requests per window and client address; public applications have their own, lower limit. */
export function createRateLimit({
  limits,
  now,
}: {
  limits: SandboxConfig['rateLimits']
  now: () => number
}): RateLimit {
  const windowMs = limits.windowSeconds * 1000
  let windowStart = 0
  let counts = new Map<string, number>()
  return {
    count(client) {
      const start = now() - (now() % windowMs)
      if (start !== windowStart) {
        windowStart = start
        counts = new Map()
      }
      const key = `${client.trusted ? 'trusted' : 'public'} ${client.address}`
      const used = (counts.get(key) ?? 0) + 1
      counts.set(key, used)
      const limit = client.trusted ? limits.trustedPerWindow : limits.publicPerWindow
      return {
        exceeded: used > limit,
        headers: {
          'X-Rate-Limit-Limit': String(limit),
          'X-Rate-Limit-Remaining': String(Math.max(0, limit - used)),
          'X-Rate-Limit-Reset': String(Math.ceil((start + windowMs) / 1000)),
        },
      }
    },
    clear() {
      counts = new Map()
    },
  }
}
