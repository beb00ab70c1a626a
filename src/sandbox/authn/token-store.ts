/** Maps tokens to values, each for the same lifetime. */
export type TokenStore<Value> = {
  put(token: string, value: Value): void
  /** undefined if the token is unknown, expired or used. */
  get(token: string): Value | undefined
  /** Like `get`, and deletes the token. */
  take(token: string): Value | undefined
  /** Deletes all tokens whose value matches. */
  deleteWhere(matches: (value: Value) => boolean): void
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
  const entries = new Map<string, { value: Value; expiresAtMs: number }>()
  let putCount = 0

  function get(token: string): Value | undefined {
    const entry = entries.get(token)
    return entry !== undefined && entry.expiresAtMs > now() ? entry.value : undefined
  }

  return {
    put(token, value) {
      entries.set(token, { value, expiresAtMs: now() + lifetimeMinutes * 60_000 })
      putCount += 1
      if (putCount % SWEEP_INTERVAL === 0) sweep()
    },
    get,
    take(token) {
      const value = get(token)
      entries.delete(token)
      return value
    },
    deleteWhere(matches) {
      for (const [token, entry] of entries) if (matches(entry.value)) entries.delete(token)
    },
    clear: () => entries.clear(),
  }

  function sweep() {
    for (const [token, entry] of entries) if (entry.expiresAtMs <= now()) entries.delete(token)
  }
}
