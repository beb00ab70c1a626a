import { randomUUID } from 'node:crypto'
import { storeUnavailable } from '../errors.ts'
import { assertCountable, assertOneSlot, wholeMs } from './keys.ts'
import type { Claim, ClaimRequest, Settlement, Store } from './store.ts'

export interface MemoryStoreParts {
  /** Milliseconds on a clock that never jumps; default: the process's monotonic one. */
  readonly now?: () => number
  /** Milliseconds since 1970, for `notAfterMs` of a count; default: the system's clock. */
  readonly sinceEpoch?: () => number
  /** Where it keeps what it holds; given by those who want to look past the operations. */
  readonly entries?: Map<string, MemoryEntry>
}

export interface MemoryEntry {
  /** A value, or the fields of an index. */
  readonly content: string | Map<string, string>
  /** On the clock of `now`. */
  expiresAt: number
}

/**
 * The embedded store of one process: `memory:`. For the demo, for tests and for development; what it holds is gone
 * with the process. Every operation is atomic because its body never awaits.
 */
export function createMemoryStore({
  now = () => performance.now(),
  sinceEpoch = Date.now,
  entries = new Map(),
}: MemoryStoreParts = {}): Store {
  const sweep = startSweep(entries, now)
  let closed = false

  function entryAt(key: string): MemoryEntry | undefined {
    if (closed) throw storeUnavailable(new Error('store: closed'))
    const entry = entries.get(key)
    if (entry === undefined || entry.expiresAt > now()) return entry
    entries.delete(key)
    return undefined
  }

  function textAt(key: string): string | undefined {
    const content = entryAt(key)?.content
    if (content instanceof Map) throw new TypeError('store: this key holds an index')
    return content
  }

  function fieldsAt(key: string): Map<string, string> | undefined {
    const content = entryAt(key)?.content
    if (typeof content === 'string') throw new TypeError('store: this key holds no index')
    return content
  }

  function put(key: string, content: MemoryEntry['content'], ttlMs: number): void {
    entries.set(key, { content, expiresAt: now() + wholeMs(ttlMs) })
  }

  return {
    async get(key) {
      return textAt(key)
    },

    async set(key, value, ttlMs, when) {
      const present = entryAt(key) !== undefined
      if ((when === 'absent' && present) || (when === 'present' && !present)) return false
      put(key, value, ttlMs)
      return true
    },

    async delete(key) {
      return entryAt(key) !== undefined && entries.delete(key)
    },

    async deleteIf(key, expected) {
      return textAt(key) === expected && entries.delete(key)
    },

    async claim({ lockKey, recordKey, token, lockTtlMs, word: asked }: ClaimRequest): Promise<Claim> {
      assertOneSlot(lockKey, recordKey, ...(asked ? [asked.key] : []))
      const value = textAt(recordKey)
      const word = asked && textAt(asked.key)
      const isBarred = asked !== undefined && word?.startsWith(asked.bar) === true
      const holder = textAt(lockKey) ?? (isBarred ? undefined : token)
      if (holder === token) put(lockKey, token, lockTtlMs)
      return { claimed: holder === token, holder, value, word }
    },

    async settle({
      lockKey,
      recordKey,
      token,
      expected,
      record,
      result,
      word,
    }: Settlement): Promise<boolean> {
      const left = [result, word].filter((one) => one !== undefined)
      assertOneSlot(lockKey, recordKey, ...left.map(({ key }) => key))
      const current = textAt(recordKey)
      const settled = current === expected || (typeof record === 'object' && current === record.write)
      if (settled && typeof record === 'object') put(recordKey, record.write, record.ttlMs)
      if (settled && record === 'delete') entries.delete(recordKey)
      if (settled) for (const { key, value, ttlMs } of left) put(key, value, ttlMs)
      if (textAt(lockKey) === token) entries.delete(lockKey)
      return settled
    },

    async indexPut(key, field, value, ttlMs) {
      const fields = fieldsAt(key) ?? new Map<string, string>()
      const expiresAt = Math.max(entries.get(key)?.expiresAt ?? 0, now() + wholeMs(ttlMs))
      entries.set(key, { content: fields.set(field, value), expiresAt })
      return fields.size
    },

    async indexAll(key) {
      return Object.fromEntries(fieldsAt(key) ?? [])
    },

    async indexRemove(key, field) {
      const fields = fieldsAt(key)
      const removed = fields?.delete(field) ?? false
      if (fields?.size === 0) entries.delete(key)
      return removed
    },

    async count(counting) {
      assertCountable(counting)
      const { place, windows, instead, notAfterMs } = counting
      if (notAfterMs !== undefined && sinceEpoch() > notAfterMs)
        return { instead: false, full: undefined, late: true, countedIn: [] }
      const isInstead = instead !== undefined && entryAt(instead.ifThere) !== undefined
      const chosen = isInstead ? instead.windows : windows
      const fullest = chosen
        .map(({ name, most }, index) => ({ index, most, key: place + name }))
        .filter(({ most, key }) => Number(fieldsAt(key)?.get('count') ?? 0) >= most)
        .map(({ index, key }) => ({ index, leftMs: (entries.get(key)?.expiresAt ?? 0) - now() }))
        .sort((one, other) => other.leftMs - one.leftMs)[0]
      if (fullest !== undefined) return { instead: isInstead, full: fullest, countedIn: [] }
      const by = randomUUID()
      const countedIn = chosen.map(({ name, ttlMs }) => {
        const key = place + name
        const fields = fieldsAt(key) ?? new Map([['begunBy', by]])
        fields.set('count', String(Number(fields.get('count') ?? 0) + 1))
        if (entries.get(key)?.content !== fields) put(key, fields, ttlMs)
        return { window: name, begunBy: fields.get('begunBy') ?? by }
      })
      return { instead: isInstead, full: undefined, countedIn }
    },

    async uncount(place, counted) {
      for (const { window, begunBy } of counted) {
        const fields = fieldsAt(place + window)
        if (fields?.get('begunBy') !== begunBy) continue
        const left = Number(fields.get('count') ?? 0) - 1
        fields.set('count', String(left))
        if (left <= 0) entries.delete(place + window)
      }
    },

    async endCounts(place, windows, mark) {
      if (mark) assertOneSlot(place, mark.key)
      for (const window of windows) {
        entryAt(place + window)
        entries.delete(place + window)
      }
      if (mark) put(mark.key, '1', mark.ttlMs)
    },

    async ping() {
      if (closed) throw storeUnavailable(new Error('store: closed'))
    },

    async close() {
      closed = true
      clearInterval(sweep)
      entries.clear()
    },
  }
}

const SWEEP_INTERVAL_MS = 1000
const SWEEP_KEYS = 1000

/** Deletes what has expired though nobody reads it: walks through all keys, a bounded number at a time. */
function startSweep(entries: Map<string, MemoryEntry>, now: () => number): NodeJS.Timeout {
  let walk = entries.entries()
  return setInterval(() => {
    for (let looked = 0; looked < SWEEP_KEYS; looked++) {
      const next = walk.next()
      if (next.done) {
        walk = entries.entries()
        return
      }
      const [key, entry] = next.value
      if (entry.expiresAt <= now()) entries.delete(key)
    }
  }, SWEEP_INTERVAL_MS).unref()
}
