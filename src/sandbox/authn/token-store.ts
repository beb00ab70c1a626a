/** Tokens with a meaning and an end. */
export type TokenStore<Value> = {
  put(token: string, value: Value): void
  /** undefined when unknown, expired or used. */
  read(token: string): Value | undefined
  /** Like read; the token is used up by it. */
  take(token: string): Value | undefined
  /** Forgets every token whose meaning matches. */
  drop(matches: (value: Value) => boolean): void
  clear(): void
}

const SWEEP_EVERY = 1000

export function createTokenStore<Value>({
  now,
  lifetimeMinutes,
}: {
  now: () => number
  lifetimeMinutes: number
}): TokenStore<Value> {
  const entries = new Map<string, { value: Value; expiresAtMs: number }>()
  let puts = 0

  function read(token: string): Value | undefined {
    const entry = entries.get(token)
    return entry !== undefined && entry.expiresAtMs > now() ? entry.value : undefined
  }

  return {
    put(token, value) {
      entries.set(token, { value, expiresAtMs: now() + lifetimeMinutes * 60_000 })
      puts += 1
      if (puts % SWEEP_EVERY === 0) sweep()
    },
    read,
    take(token) {
      const value = read(token)
      entries.delete(token)
      return value
    },
    drop(matches) {
      for (const [token, entry] of entries) if (matches(entry.value)) entries.delete(token)
    },
    clear: () => entries.clear(),
  }

  function sweep() {
    for (const [token, entry] of entries) if (entry.expiresAtMs <= now()) entries.delete(token)
  }
}
