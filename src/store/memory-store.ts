import { storeUnavailable } from '../errors.ts'
import { DependencyFailure } from '../observability/dependency-failure.ts'
import {
  assertOneSlot,
  assertValidCount,
  CLEANUP_THRESHOLD,
  createOperations,
  newWindowId,
  type OperationName,
  type OperationResult,
  roundUpTtl,
  type Store,
  type WindowKey,
} from './store.ts'

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

/** The embedded store of one process (`memory:`), for the demo, tests and development. Its content is lost when the process ends. */
export function createMemoryStore({
  monotonic = () => performance.now(),
  now = Date.now,
  entries = new Map(),
}: MemoryStoreOptions = {}): Store {
  const memory = createMemory(entries, monotonic, now)
  const sweep = startSweep(entries, monotonic)
  let isClosed = false
  const assertOpen = () => {
    if (isClosed) throw storeUnavailable(new DependencyFailure('unreachable', { code: 'closed' }))
  }
  return {
    preservesWriteOrder: true,
    ...createOperations(OPERATIONS, async (name, parameters) => {
      assertOpen()
      return OPERATIONS[name](memory, ...parameters)
    }),
    ping: async () => assertOpen(),
    async close() {
      isClosed = true
      clearInterval(sweep)
      entries.clear()
    },
  }
}

/** Each operation is synchronous, so it is atomic. */
const OPERATIONS: {
  readonly [Name in OperationName]: (
    memory: Memory,
    ...parameters: Parameters<Store[Name]>
  ) => OperationResult<Name>
} = {
  get: (memory, key) => memory.text(key),

  set(memory, key, value, ttlMs, when) {
    if (when !== undefined && memory.has(key) !== (when === 'present')) return false
    memory.put(key, value, ttlMs)
    return true
  },

  swap(memory, key, value, ttlMs) {
    const before = memory.text(key)
    memory.put(key, value, ttlMs)
    return before
  },

  delete: (memory, key) => memory.delete(key),

  deleteIf: (memory, key, expected) => memory.text(key) === expected && memory.delete(key),

  extendIf: (memory, key, expected, ttlMs) =>
    memory.text(key) === expected && OPERATIONS.set(memory, key, expected, ttlMs),

  acquire(memory, { lockKey, recordKey, token, lockTtlMs }) {
    assertOneSlot(lockKey, recordKey)
    const holder = memory.text(lockKey) ?? token
    if (holder === token) memory.put(lockKey, token, lockTtlMs)
    return { holder, record: memory.text(recordKey) }
  },

  commit(memory, { lockKey, recordKey, token, expected, record, shared }) {
    assertOneSlot(lockKey, recordKey, shared.key)
    const written = typeof record === 'object' ? record : undefined
    const current = memory.text(recordKey)
    const committed = current === expected || (written !== undefined && current === written.write)
    if (committed) {
      if (written !== undefined) memory.put(recordKey, written.write, written.ttlMs)
      if (record === 'delete') memory.delete(recordKey)
      memory.put(shared.key, shared.value, shared.ttlMs)
    }
    OPERATIONS.deleteIf(memory, lockKey, token)
    return committed
  },

  indexPut: (memory, key, field, value, ttlMs) =>
    memory.putField(key, field, value, memory.monotonic() + roundUpTtl(ttlMs)),

  indexAll: (memory, key) => Object.fromEntries(memory.fields(key) ?? []),

  indexRemove: (memory, key, field) => memory.deleteField(key, field),

  countAttempt(memory, request) {
    assertValidCount(request)
    const { keyPrefix, override, notAfterMs = Number.POSITIVE_INFINITY } = request
    if (memory.now() > notAfterMs)
      return { overridden: false, full: undefined, late: true, countedWindows: [] }
    const overridden = override !== undefined && memory.has(override.ifKeyExists)
    const newWindow = { count: 0, windowId: newWindowId() }
    const states = (overridden ? override : request).windows.map((window) => {
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

  refundAttempt(memory, keyPrefix, counted) {
    for (const { window, windowId } of counted) {
      const state = windowAt(memory, keyPrefix, window)
      if (state?.windowId !== windowId) continue
      if (state.count > 1) putWindow(memory, keyPrefix, window, { ...state, count: state.count - 1 })
      else memory.deleteField(keyPrefix + window.keySuffix, window.name)
    }
  },

  clearWindows(memory, keyPrefix, windows, marker) {
    if (marker) assertOneSlot(keyPrefix, marker.key)
    for (const { keySuffix, name } of windows) memory.deleteField(keyPrefix + keySuffix, name)
    if (marker) memory.put(marker.key, '1', marker.ttlMs)
  },
}

/** Stored as JSON in the field of the window's name. */
interface WindowState {
  readonly count: number
  readonly endsAt: number
  readonly windowId: string
}

const parseWindow = (text: string) => JSON.parse(text) as WindowState // only putWindow writes one

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

type Memory = ReturnType<typeof createMemory>

/** Access to the entries that have not expired. */
function createMemory(entries: Map<string, MemoryEntry>, monotonic: () => number, now: () => number) {
  const contentAt = (key: string) => {
    const entry = entries.get(key)
    if (entry === undefined || entry.expiresAt > monotonic()) return entry?.content
    entries.delete(key)
    return undefined
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
  return {
    monotonic,
    now,
    has: (key: string): boolean => contentAt(key) !== undefined,
    text,
    fields,
    put: (key: string, content: string, ttlMs: number) =>
      void entries.set(key, { content, expiresAt: monotonic() + roundUpTtl(ttlMs) }),

    /** Extends the life of the key to `expiresAt`, and never shortens it. */
    putField(key: string, field: string, value: string, expiresAt: number): number {
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

const SWEEP_BATCH_SIZE = 1000

/** Deletes expired entries that are never read again. Each run checks a limited number of keys. */
function startSweep(entries: Map<string, MemoryEntry>, monotonic: () => number): NodeJS.Timeout {
  let iterator = entries.entries()
  return setInterval(() => {
    for (let checked = 0; checked < SWEEP_BATCH_SIZE; checked++) {
      const next = iterator.next()
      if (next.done) {
        iterator = entries.entries()
        return
      }
      const [key, entry] = next.value
      if (entry.expiresAt <= monotonic()) entries.delete(key)
    }
  }, 1000).unref()
}
