import { createMetrics } from '../../../src/observability/metrics.ts'
import type { ListPages } from '../../../src/pam/lists/pages.ts'
import type { Group, ListRef } from '../../../src/pam/upstream/group.ts'
import { createPamDeps, type PamDeps, type PamDepsOptions } from '../../../src/pam/upstream/pam-deps.ts'
import { createMemoryStore, type MemoryEntry } from '../../../src/store/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { counted } from '../counted.ts'

/** The names and times of the tests in this folder. */
export const ME: ListRef = { kind: 'me', user: 'ada@example.com' }
export const OTHER_USER: ListRef = { kind: 'me', user: 'bo@example.com' }
export const DIRECTORY: ListRef = { kind: 'directory' }
const START_MS = Date.parse('2026-11-02T08:00:00Z')
export const LISTS = { freshMs: 60_000, staleMs: 600_000, onErrorMs: 900_000, meOnErrorMs: 300_000 }

export const groupOf = (n: number, parts: Partial<Group> = {}): Group => ({
  id: `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`,
  name: `Group ${n}`,
  roles: [],
  ...parts,
})

/** A list of one page that was read completely. */
export const pagesOf = (beganAtMs: number, parts: Partial<ListPages> = {}): ListPages => ({
  version: 1,
  beganAtMs,
  asked: [''],
  items: 1,
  groups: [groupOf(1)],
  ...parts,
})

/** One store, and a clock that only `advance` and waiting for a lock move. */
export interface ListParts {
  /** Of one process. */
  readonly deps: PamDeps
  /** Of another process on the same store. */
  replica(changes?: Partial<PamDepsOptions>): PamDeps
  /** The API's time. */
  now(): number
  /** Moves the clock, and fires the timers that are due. */
  advance(ms: number): void
  /** The number of pending timers. */
  timers(): number
  /** The number of values read from the store since the last call. */
  storeReads(): number
  /** From now on, what is read from the store arrives when this promise is fulfilled. */
  holdReads(until: Promise<unknown>): void
  /** The names of the stored keys that contain this text. */
  keys(part: string): string[]
  counted(metric: string): Promise<Record<string, number>>
  logLines(): Record<string, unknown>[]
}

export function createListParts(changes: Partial<PamDepsOptions> = {}): ListParts {
  let elapsedMs = 86_400_000 // of a process that runs for a day
  let reads = 0
  let held: Promise<unknown> = Promise.resolve()
  const entries = new Map<string, MemoryEntry>()
  const timers = new Set<{ readonly at: number; readonly fire: () => void }>()
  const advance = (ms: number) => {
    elapsedMs += ms
    for (const timer of timers) if (timer.at <= elapsedMs && timers.delete(timer)) timer.fire()
  }
  const monotonic = () => elapsedMs
  const now = () => START_MS + elapsedMs
  const memory = createMemoryStore({ monotonic, now, entries })
  const store: Store = {
    ...memory,
    async get(key) {
      reads += 1
      const value = await memory.get(key)
      await held
      return value
    },
  }
  const { log, lines } = collectLog('debug')
  const metrics = createMetrics()
  const replica = (further: Partial<PamDepsOptions> = {}) =>
    createPamDeps({
      baseUrl: 'https://pam.example.test',
      team: 'example-team',
      tunables: { lists: LISTS },
      maxConnections: 32,
      store,
      masterKeys: [Buffer.alloc(32, 'plainly-fake-test-key')],
      log,
      metrics,
      now,
      monotonic,
      sleep: async (ms) => advance(ms),
      startTimer: (fire, ms) => {
        const timer = { at: elapsedMs + ms, fire }
        timers.add(timer)
        return () => timers.delete(timer)
      },
      ...changes,
      ...further,
    })
  return {
    deps: replica(),
    replica,
    now,
    advance,
    timers: () => timers.size,
    storeReads() {
      const since = reads
      reads = 0
      return since
    },
    holdReads(until) {
      held = until
    },
    keys: (part) => [...entries.keys()].filter((key) => key.includes(part)),
    counted: (metric) => counted(metrics, metric),
    logLines: lines,
  }
}
