import type { SandboxConfig } from '../sandbox-config.ts'
import type { ClientContext } from './client-context.ts'

export type RateLimit = {
  /** Counts a request. The headers belong on every response, including 429. */
  count(client: ClientContext): { exceeded: boolean; headers: Record<string, string> }
  /**
   * Counts a sign-in of this user name. Whether Okta sends these headers with this 429 is unproven
   * (docs/unproven.md L3).
   */
  countSignIn(username: string): { exceeded: boolean; headers: Record<string, string> }
  clear(): void
}

/**
 * Limits requests per window and client address, or API token; public applications have their own,
 * lower limit.
 */
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
  const signIns = new Map<string, number[]>()
  return {
    count(client) {
      const start = now() - (now() % windowMs)
      if (start !== windowStart) {
        windowStart = start
        counts = new Map()
      }
      const { tokenShare } = limits
      const byToken = client.trusted && tokenShare !== undefined
      const key = byToken ? 'token' : `${client.trusted ? 'trusted' : 'public'} ${client.address}`
      const used = (counts.get(key) ?? 0) + 1
      counts.set(key, used)
      const orgLimit = client.trusted ? limits.trustedPerWindow : limits.publicPerWindow
      const limit = byToken ? Math.floor(orgLimit * tokenShare.share) : orgLimit
      const shown = byToken && !tokenShare.inHeaders ? orgLimit : limit
      return {
        exceeded: used > limit,
        headers: {
          'X-Rate-Limit-Limit': String(shown),
          'X-Rate-Limit-Remaining': String(Math.max(0, shown - used)),
          'X-Rate-Limit-Reset': String(Math.ceil((start + windowMs) / 1000)),
        },
      }
    },
    countSignIn(username) {
      const { signInsPerUserPerSecond: limit = Number.POSITIVE_INFINITY } = limits
      const key = username.toLowerCase()
      const recent = (signIns.get(key) ?? []).filter((at) => now() - at < 1000)
      const exceeded = recent.length >= limit
      if (limit < Number.POSITIVE_INFINITY) signIns.set(key, exceeded ? recent : [...recent, now()])
      return {
        exceeded,
        headers: {
          'X-Rate-Limit-Limit': String(limit),
          'X-Rate-Limit-Remaining': '0',
          'X-Rate-Limit-Reset': String(Math.ceil(now() / 1000) + 1),
        },
      }
    },
    clear() {
      signIns.clear()
      counts = new Map()
    },
  }
}
