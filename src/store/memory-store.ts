import { storeUnavailable } from '../errors.ts'
import { DependencyFailure } from '../observability/dependency-failure.ts'
import {
  type AttemptCounters,
  CLEANUP_THRESHOLD,
  newWindowId,
  shortened,
  type WindowKey,
} from './attempt-counters.ts'
import { assertOneSlot } from './hash-slot.ts'
import type { Indexes } from './indexes.ts'
import { KEY_PREFIX } from './keys.ts'
import type { LockedRecords } from './locked-records.ts'
import type { Store } from './store.ts'
import { roundUpTtl } from './time-to-live.ts'
import type { Values } from './values.ts'

export interface MemoryStoreOptions {
  /** A clock that never jumps, in milliseconds. */
  readonly monotonic?: () => number
  /** Milliseconds since 1970, compared with `notAfterMs`. */
  readonly now?: () => number
  /** The content, for tests that inspect it. */
  readonly entries?: Map<string, MemoryEntry>
}

export interface MemoryEntry {
  /** A value, or the fields of an index. */
  readonly content: string | Map<string, string>
  /** On the monotonic clock. */
  expiresAt: number
}

/**
 * The embedded store of one process (`memory:`), for the demo, tests and development. Its content
 * is lost when the process ends.
 */
export function createMemoryStore({
  monotonic = () => performance.now(),
  now = Date.now,
  entries = new Map(),
}: MemoryStoreOptions = {}): Store {
  let isClosed = false
  const assertOpen = () => {
    if (isClosed) throw storeUnavailable(new DependencyFailure('unreachable', { code: 'closed' }))
  }
  const memory = createMemory(entries, monotonic, assertOpen)
  return {
    keyPrefix: KEY_PREFIX,
    preservesWriteOrder: true,
    ...createValues(memory),
    ...createLockedRecords(memory),
    ...createIndexes(memory),
    ...createCounters(memory, now),
    ping: async () => assertOpen(),
    time: async () => now(),
    async close() {
      isClosed = true
      entries.clear()
    },
  }
}

// No operation waits for anything, so each is atomic.

function createValues(memory: Memory): Values {
  return {
    get: async (key) => memory.text(key),

    async set(key, value, ttlMs, when) {
      if (when !== undefined && memory.has(key) !== (when === 'present')) return false
      memory.put(key, value, ttlMs)
      return true
    },

    async raise(key, value, ttlMs) {
      if (Number(memory.text(key) ?? -1) >= value) return false
      memory.put(key, String(value), ttlMs)
      return true
    },

    async swap(key, value, ttlMs) {
      const before = memory.text(key)
      memory.put(key, value, ttlMs)
      return before
    },

    async replaceIf(key, expected, value, ttlMs) {
      if (memory.text(key) !== expected) return false
      memory.put(key, value, ttlMs)
      return true
    },

    delete: async (key) => memory.delete(key),
    deleteIf: async (key, expected) => memory.text(key) === expected && memory.delete(key),
    async deleteAll(prefix) {
      return memory.keys().filter((key) => key.startsWith(prefix) && memory.delete(key)).length
    },
  }
}

function createLockedRecords(memory: Memory): LockedRecords {
  return {
    async acquire({ lockKey, recordKey, token, lockTtlMs }) {
      assertOneSlot(lockKey, recordKey)
      const holder = memory.text(lockKey)
      if (holder === undefined) memory.put(lockKey, token, lockTtlMs)
      return { holder: holder ?? token, record: memory.text(recordKey) }
    },

    async commit({ lockKey, recordKey, token, expected, record, shared }) {
      assertOneSlot(lockKey, recordKey, shared.key)
      const committed = memory.text(recordKey) === expected
      if (committed) {
        if (typeof record === 'object') memory.put(recordKey, record.write, record.ttlMs)
        if (record === 'delete') memory.delete(recordKey)
        memory.put(shared.key, shared.value, shared.ttlMs)
      }
      if (memory.text(lockKey) === token) memory.delete(lockKey)
      return committed
    },
  }
}

function createIndexes(memory: Memory): Indexes {
  return {
    async indexPut(key, field, value, ttlMs) {
      const expiresAt = memory.monotonic() + roundUpTtl(ttlMs)
      const counts = [field].flat().map((one) => memory.putField(key, one, value, expiresAt))
      return Math.max(...counts)
    },
    indexAll: async (key) => Object.fromEntries(memory.fields(key) ?? []),
    indexRemove: async (key, field) => memory.deleteField(key, field),
  }
}

function createCounters(memory: Memory, now: () => number): AttemptCounters {
  return {
    async countAttempt(request) {
      const { keyPrefix, override, shorten, notAfterMs = Number.POSITIVE_INFINITY } = request
      if (override) assertOneSlot(keyPrefix, override.ifKeyExists)
      if (shorten) assertOneSlot(keyPrefix, shorten.unlessKeyExists)
      if (now() > notAfterMs) return { overridden: false, full: undefined, late: true, countedWindows: [] }
      const overridden = override !== undefined && memory.has(override.ifKeyExists)
      const newWindow = { count: 0, windowId: newWindowId() }
      const isShort = shorten !== undefined && !overridden && !memory.has(shorten.unlessKeyExists)
      const asked = (overridden ? override : request).windows
      const windows = isShort ? asked.map((window) => shortened(window, shorten)) : asked
      const states = windows.map((window) => {
        const endsAt = memory.monotonic() + roundUpTtl(window.ttlMs)
        return { window, state: windowAt(memory, keyPrefix, window) ?? { ...newWindow, endsAt } }
      })
      const [full] = states
        .flatMap(({ window, state }, index) =>
          state.count < window.maxAttempts ? [] : [{ index, leftMs: state.endsAt - memory.monotonic() }],
        )
        .sort((a, b) => b.leftMs - a.leftMs)
      if (full !== undefined) return { overridden, full, countedWindows: [] }
      for (const { window, state } of states)
        putWindow(memory, keyPrefix, window, { ...state, count: state.count + 1 })
      const countedWindows = states.map(({ window, state }) => ({ window, windowId: state.windowId }))
      return { overridden, full: undefined, countedWindows }
    },

    async refundAttempt(keyPrefix, counted) {
      for (const { window, windowId } of counted) {
        const state = windowAt(memory, keyPrefix, window)
        if (state?.windowId !== windowId) continue
        if (state.count > 1) putWindow(memory, keyPrefix, window, { ...state, count: state.count - 1 })
        else memory.deleteField(keyPrefix + window.keySuffix, window.name)
      }
    },

    async clearWindows(keyPrefix, windows, markers) {
      if (markers) assertOneSlot(keyPrefix, ...markers.keys)
      for (const { keySuffix, name } of windows) memory.deleteField(keyPrefix + keySuffix, name)
      for (const key of markers?.keys ?? []) memory.put(key, '1', markers?.ttlMs ?? 0)
    },
  }
}

const SWEEP_EVERY_MS = 10_000

type Memory = ReturnType<typeof createMemory>

/** Access to the entries that have not expired. */
function createMemory(entries: Map<string, MemoryEntry>, monotonic: () => number, assertOpen: () => void) {
  const contentAt = (key: string) => {
    assertOpen()
    if ((entries.get(key)?.expiresAt ?? 0) <= monotonic()) entries.delete(key)
    return entries.get(key)?.content
  }
  const text = (key: string): string | undefined => {
    const content = contentAt(key)
    if (content instanceof Map) throw new TypeError('store: this key is an index')
    return content
  }
  const fields = (key: string): Map<string, string> | undefined => {
    const content = contentAt(key)
    if (typeof content === 'string') throw new TypeError('store: this key is not an index')
    return content
  }
  let nextSweepAt = monotonic() + SWEEP_EVERY_MS
  /** Deletes expired entries that are never read again. */
  const sweepIfDue = () => {
    const now = monotonic()
    if (now < nextSweepAt) return
    nextSweepAt = now + SWEEP_EVERY_MS
    for (const [key, { expiresAt }] of entries) if (expiresAt <= now) entries.delete(key)
  }
  return {
    monotonic,
    has: (key: string): boolean => contentAt(key) !== undefined,
    keys: () => [...entries.keys()],
    text,
    fields,
    put(key: string, content: string, ttlMs: number) {
      assertOpen()
      sweepIfDue()
      entries.set(key, { content, expiresAt: monotonic() + roundUpTtl(ttlMs) })
    },

    /** Extends the life of the key to `expiresAt`, and never shortens it. */
    putField(key: string, field: string, value: string, expiresAt: number): number {
      sweepIfDue()
      const content = (fields(key) ?? new Map<string, string>()).set(field, value)
      entries.set(key, { content, expiresAt: Math.max(entries.get(key)?.expiresAt ?? 0, expiresAt) })
      return content.size
    },

    delete: (key: string): boolean => contentAt(key) !== undefined && entries.delete(key),

    deleteField(key: string, field: string): boolean {
      const deleted = fields(key)?.delete(field) ?? false
      if (fields(key)?.size === 0) entries.delete(key)
      return deleted
    },
  }
}

/** Undefined if the window has not begun, or has ended. */
function windowAt(
  memory: Memory,
  keyPrefix: string,
  { keySuffix, name }: WindowKey,
): WindowState | undefined {
  const text = memory.fields(keyPrefix + keySuffix)?.get(name)
  const state = text === undefined ? undefined : parseWindow(text)
  return state !== undefined && state.endsAt > memory.monotonic() ? state : undefined
}

function putWindow(
  memory: Memory,
  keyPrefix: string,
  { keySuffix, name }: WindowKey,
  state: WindowState,
): void {
  const key = keyPrefix + keySuffix
  const fields = memory.fields(key)
  if (state.count === 1 && fields !== undefined && fields.size >= CLEANUP_THRESHOLD)
    for (const [other, text] of fields)
      if (parseWindow(text).endsAt <= memory.monotonic()) fields.delete(other)
  memory.putField(key, name, JSON.stringify(state), state.endsAt)
}

/** Stored as JSON in the field of the window's name. */
type WindowState = Readonly<{ count: number; endsAt: number; windowId: string }>

const parseWindow = (text: string) => JSON.parse(text) as WindowState // only putWindow writes one
