/** Maps tokens to values, each for the same lifetime. */
export type TokenStore<Value> = {
  put(token: string, value: Value): void
  /** undefined if the token is unknown, expired or used. */
  get(token: string): Value | undefined
  /** Whether the token was issued, and is expired or used. */
  isSpent(token: string): boolean
  /** Like `get`, and uses the token up. */
  take(token: string): Value | undefined
  /** Uses up all tokens whose value matches. */
  endWhere(matches: (value: Value) => boolean): void
  clear(): void
}

const SWEEP_INTERVAL = 1000

export function createTokenStore<Value>({
  now,
  lifetimeMinutes,
}: {
  now: () => number
  lifetimeMinutes: number
}): TokenStore<Value> {
  const entries = new Map<string, { value: Value; expiresAtMs: number; isUsed: boolean }>()
  let putCount = 0

  const lifetimeMs = lifetimeMinutes * 60_000
  const isValid = ({ expiresAtMs, isUsed }: { expiresAtMs: number; isUsed: boolean }) =>
    !isUsed && expiresAtMs > now()

  function get(token: string): Value | undefined {
    const entry = entries.get(token)
    return entry !== undefined && isValid(entry) ? entry.value : undefined
  }

  return {
    put(token, value) {
      entries.set(token, { value, expiresAtMs: now() + lifetimeMs, isUsed: false })
      putCount += 1
      if (putCount % SWEEP_INTERVAL === 0) sweep()
    },
    get,
    isSpent(token) {
      const entry = entries.get(token)
      return entry !== undefined && !isValid(entry)
    },
    take(token) {
      const value = get(token)
      const entry = entries.get(token)
      if (entry !== undefined) entry.isUsed = true
      return value
    },
    endWhere(matches) {
      for (const entry of entries.values()) if (matches(entry.value)) entry.isUsed = true
    },
    clear: () => entries.clear(),
  }

  /** Expired tokens are remembered for another lifetime. */
  function sweep() {
    for (const [token, { expiresAtMs }] of entries)
      if (expiresAtMs + lifetimeMs <= now()) entries.delete(token)
  }
}
