import { storeUnavailable } from '../errors.ts'
import { DependencyFailure } from '../observability/dependency-failure.ts'
import type { WindowKey } from './attempt-counters.ts'
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
} from './store.ts'

export interface MemoryStoreOptions {
  /** Milliseconds on a clock that never jumps; default: the process's monotonic clock. */
  readonly now?: () => number
  /** Milliseconds since 1970, for `notAfterMs` of a count; default: the system's clock. */
  readonly epochMs?: () => number
  /** Holds the content; for tests that look past the operations. */
  readonly entries?: Map<string, MemoryEntry>
}

export interface MemoryEntry {
  /** A value, or the fields of an index. */
  readonly content: string | Map<string, string>
  /** On the clock of `now`. */
  expiresAt: number
}

/** The embedded store of one process: `memory:`. For the demo, tests and development; its content ends with the process. */
export function createMemoryStore({
  now = () => performance.now(),
  epochMs = Date.now,
  entries = new Map(),
}: MemoryStoreOptions = {}): Store {
  const memory = new Memory(entries, now, epochMs)
  const sweep = startSweep(entries, now)
  let isClosed = false
  const assertOpen = () => {
    if (isClosed) throw storeUnavailable(new DependencyFailure('unreachable', { code: 'closed' }))
  }
  return {
    preservesWriteOrder: true,
    ...createOperations(async (name, parameters) => {
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

/** Each is synchronous, and so atomic. */
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
    memory.putField(key, field, value, memory.now() + roundUpTtl(ttlMs)),

  indexAll: (memory, key) => Object.fromEntries(memory.fields(key) ?? []),

  indexRemove: (memory, key, field) => memory.deleteField(key, field),

  countAttempt(memory, counting) {
    assertValidCount(counting)
    const { keyPrefix, windows, override, notAfterMs = Number.POSITIVE_INFINITY } = counting
    if (memory.epochMs() > notAfterMs)
      return { overridden: false, full: undefined, late: true, countedWindows: [] }
    const overridden = override !== undefined && memory.has(override.ifKeyExists)
    const windowId = newWindowId()
    const running = (overridden ? override.windows : windows).map((window) => {
      const begun = { count: 0, endsAt: memory.now() + roundUpTtl(window.ttlMs), windowId }
      return { window, ...(windowAt(memory, keyPrefix, window) ?? begun) }
    })
    const [full] = running
      .flatMap(({ window, count, endsAt }, index) =>
        count < window.maxAttempts ? [] : [{ index, leftMs: endsAt - memory.now() }],
      )
      .sort((one, other) => other.leftMs - one.leftMs)
    if (full !== undefined) return { overridden, full, countedWindows: [] }
    for (const { window, ...before } of running)
      putWindow(memory, keyPrefix, window, { ...before, count: before.count + 1 })
    return {
      overridden,
      full: undefined,
      countedWindows: running.map(({ window, windowId }) => ({ window, windowId })),
    }
  },

  refundAttempt(memory, keyPrefix, counted) {
    for (const { window, windowId } of counted) {
      const running = windowAt(memory, keyPrefix, window)
      if (running?.windowId !== windowId) continue
      if (running.count > 1) putWindow(memory, keyPrefix, window, { ...running, count: running.count - 1 })
      else memory.deleteField(keyPrefix + window.keySuffix, window.name)
    }
  },

  clearWindows(memory, keyPrefix, windows, mark) {
    if (mark) assertOneSlot(keyPrefix, mark.key)
    for (const { keySuffix, name } of windows) memory.deleteField(keyPrefix + keySuffix, name)
    if (mark) memory.put(mark.key, '1', mark.ttlMs)
  },
}

/** A window, as its key's field of that name holds it in JSON. */
interface Running {
  readonly count: number
  readonly endsAt: number
  readonly windowId: string
}

const parseWindow = (text: string) => JSON.parse(text) as Running // only putWindow writes one

/** undefined: it has not begun, or it has ended. */
function windowAt(memory: Memory, keyPrefix: string, { keySuffix, name }: WindowKey): Running | undefined {
  const text = memory.fields(keyPrefix + keySuffix)?.get(name)
  const running = text === undefined ? undefined : parseWindow(text)
  return running !== undefined && running.endsAt > memory.now() ? running : undefined
}

function putWindow(
  memory: Memory,
  keyPrefix: string,
  { keySuffix, name }: WindowKey,
  running: Running,
): void {
  const fields = memory.fields(keyPrefix + keySuffix) ?? new Map<string, string>()
  if (running.count === 1 && fields.size >= CLEANUP_THRESHOLD)
    for (const [other, text] of fields) if (parseWindow(text).endsAt <= memory.now()) fields.delete(other)
  memory.putField(keyPrefix + keySuffix, name, JSON.stringify(running), running.endsAt)
}

/** The entries that have not expired. */
class Memory {
  readonly #entries: Map<string, MemoryEntry>
  readonly now: () => number
  readonly epochMs: () => number

  constructor(entries: Map<string, MemoryEntry>, now: () => number, epochMs: () => number) {
    this.#entries = entries
    this.now = now
    this.epochMs = epochMs
  }

  has(key: string): boolean {
    return this.#entryAt(key) !== undefined
  }

  text(key: string): string | undefined {
    const content = this.#entryAt(key)?.content
    if (content instanceof Map) throw new TypeError('store: this key holds an index')
    return content
  }

  fields(key: string): Map<string, string> | undefined {
    const content = this.#entryAt(key)?.content
    if (typeof content === 'string') throw new TypeError('store: this key holds no index')
    return content
  }

  put(key: string, content: string, ttlMs: number): void {
    this.#entries.set(key, { content, expiresAt: this.now() + roundUpTtl(ttlMs) })
  }

  /** The key lives until `expiresAt`, or longer if it did before. */
  putField(key: string, field: string, value: string, expiresAt: number): number {
    const content = (this.fields(key) ?? new Map<string, string>()).set(field, value)
    this.#entries.set(key, { content, expiresAt: Math.max(this.#entryAt(key)?.expiresAt ?? 0, expiresAt) })
    return content.size
  }

  delete(key: string): boolean {
    return this.has(key) && this.#entries.delete(key)
  }

  deleteField(key: string, field: string): boolean {
    const fields = this.fields(key)
    const deleted = fields?.delete(field) ?? false
    if (fields?.size === 0) this.#entries.delete(key)
    return deleted
  }

  #entryAt(key: string): MemoryEntry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.expiresAt > this.now()) return entry
    this.#entries.delete(key)
    return undefined
  }
}

const SWEEP_KEYS = 1000
/** Deletes expired entries that nobody reads: walks through all keys, a bounded number at a time. */
function startSweep(entries: Map<string, MemoryEntry>, now: () => number): NodeJS.Timeout {
  let walk = entries.entries()
  return setInterval(() => {
    for (let looked = 0; looked < SWEEP_KEYS; looked++) {
      const next = walk.next()
      if (next.done) {
        walk = entries.entries()
        return
      }
      if (next.value[1].expiresAt <= now()) entries.delete(next.value[0])
    }
  }, 1000).unref()
}
