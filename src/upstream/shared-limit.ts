import { type LimitRecord, parseLimitRecord } from './rate-limit-record.ts'
import type { UpstreamClock } from './upstream-clock.ts'

/**
 * What all replicas know of an API's rate limit. It is written only when little or nothing is left, and read at most once in
 * `lookEveryMs`. Without the store each process goes by what it saw itself.
 */
export interface SharedLimit {
  record(): LimitRecord | undefined
  /** Begins to read it, unless that was done a moment ago. Never fails. */
  look(): void
  /** Begins to read it whenever that was. */
  refresh(): void
  /** Resolves when what was begun is read. */
  settled(): Promise<void>
  /** undefined: no limit is met any more. What is known already is not written again. */
  save(record: LimitRecord | undefined): Promise<void>
}

export interface LimitStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number, when?: 'absent'): Promise<boolean>
  delete(key: string): Promise<boolean>
}

export interface SharedLimitParts {
  readonly store: LimitStore
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly key: () => string
  readonly lookEveryMs: number
  /** A closed gate is remembered so much longer, until a probe is back. */
  readonly lingerMs: number
  readonly onUnreadable?: () => void
}

export function createSharedLimit(parts: SharedLimitParts): SharedLimit {
  const { store, clock, monotonic, key } = parts
  let local: { readonly record: LimitRecord; readonly saved: boolean } | undefined
  let looking: Promise<void> | undefined
  let lookedAt = Number.NEGATIVE_INFINITY

  async function read(): Promise<void> {
    const before = local
    try {
      const text = await store.get(key())
      if (local !== before) return // what this process was told meanwhile is newer
      const record = parseLimitRecord(text)
      if (text !== undefined && record === undefined) parts.onUnreadable?.()
      if (record !== undefined) local = { record, saved: true }
      else if (local?.saved) local = undefined
    } catch {
      // The store is away: what this process saw itself still holds.
    } finally {
      lookedAt = monotonic()
      looking = undefined
    }
  }

  const ttlOf = ({ met, closure }: LimitRecord): number => {
    const untilMs = Math.max(closure?.untilMs ?? 0, ...met.map((one) => one.untilMs))
    return untilMs - clock.now() + (closure?.state === 'closed' ? parts.lingerMs : 0)
  }

  return {
    record: () => local?.record,
    settled: async () => looking,

    look() {
      if (monotonic() - lookedAt >= parts.lookEveryMs) looking ??= read()
    },

    refresh() {
      looking ??= read()
    },

    async save(record) {
      if (record === local?.record) return
      local = record && { record, saved: false }
      try {
        if (record === undefined) await store.delete(key())
        else await store.set(key(), JSON.stringify(record), ttlOf(record))
        if (record !== undefined && local?.record === record) local = { record, saved: true }
      } catch {
        // The store is away: this process alone goes by it; what is there ends by itself.
      }
    },
  }
}
