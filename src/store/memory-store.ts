import { storeUnavailable } from '../errors.ts'
import type { WindowName } from './counting.ts'
import { assertCountable, assertOneSlot, MANY_WINDOWS, newWindowId, wholeMs } from './keys.ts'
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

interface Running {
  readonly count: number
  readonly endsAt: number
  readonly begunBy: string
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

  /** A window that has not ended. */
  function windowAt(place: string, { keySuffix, name }: WindowName): Running | undefined {
    const text = fieldsAt(place + keySuffix)?.get(name)
    const running = text === undefined ? undefined : readWindow(text)
    return running !== undefined && running.endsAt > now() ? running : undefined
  }

  function endWindow(place: string, { keySuffix, name }: WindowName): void {
    const fields = fieldsAt(place + keySuffix)
    fields?.delete(name)
    if (fields?.size === 0) entries.delete(place + keySuffix)
  }

  function dropEnded(fields: Map<string, string>): void {
    if (fields.size < MANY_WINDOWS) return
    for (const [name, text] of fields) if (readWindow(text).endsAt <= now()) fields.delete(name)
  }

  function put(key: string, content: MemoryEntry['content'], ttlMs: number): void {
    entries.set(key, { content, expiresAt: now() + wholeMs(ttlMs) })
  }

  return {
    keepsOrder: true,

    async get(key) {
      return textAt(key)
    },

    async set(key, value, ttlMs, when) {
      const present = entryAt(key) !== undefined
      if ((when === 'absent' && present) || (when === 'present' && !present)) return false
      put(key, value, ttlMs)
      return true
    },

    async swap(key, value, ttlMs) {
      const before = textAt(key)
      put(key, value, ttlMs)
      return before
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
      const begunBy = newWindowId()
      const running = chosen.map((window) => ({
        window,
        key: place + window.keySuffix,
        ...(windowAt(place, window) ?? { count: 0, endsAt: now() + wholeMs(window.ttlMs), begunBy }),
      }))
      const fullest = running
        .map(({ window, count, endsAt }, index) => ({
          index,
          isFull: count >= window.most,
          leftMs: endsAt - now(),
        }))
        .filter(({ isFull }) => isFull)
        .sort((one, other) => other.leftMs - one.leftMs)[0]
      if (fullest !== undefined) {
        const { index, leftMs } = fullest
        return { instead: isInstead, full: { index, leftMs }, countedIn: [] }
      }
      for (const { window, key, count, endsAt, begunBy } of running) {
        const fields = fieldsAt(key) ?? new Map<string, string>()
        if (count === 0) dropEnded(fields)
        const expiresAt = Math.max(entries.get(key)?.expiresAt ?? 0, endsAt)
        fields.set(window.name, JSON.stringify({ count: count + 1, endsAt, begunBy }))
        entries.set(key, { content: fields, expiresAt })
      }
      const countedIn = running.map(({ window, begunBy }) => ({ window, begunBy }))
      return { instead: isInstead, full: undefined, countedIn }
    },

    async uncount(place, counted) {
      for (const { window, begunBy } of counted) {
        const running = windowAt(place, window)
        if (running?.begunBy !== begunBy) continue
        const left = { ...running, count: running.count - 1 }
        if (left.count <= 0) endWindow(place, window)
        else fieldsAt(place + window.keySuffix)?.set(window.name, JSON.stringify(left))
      }
    },

    async endCounts(place, windows, mark) {
      if (mark) assertOneSlot(place, mark.key)
      for (const window of windows) endWindow(place, window)
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

function readWindow(text: string): Running {
  return JSON.parse(text) as Running // only `count` and `uncount` write one
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
