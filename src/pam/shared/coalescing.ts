import { randomUUID } from 'node:crypto'
import type { PamDeps } from '../upstream/pam-deps.ts'

export interface SharedFetch<T> {
  /** A foreground caller does not wait for a background fetch of its own process. */
  readonly background: boolean
  /** The value that another replica has stored; undefined if there is none, or the store is out of reach. */
  readonly read: () => Promise<T | undefined>
  readonly fetch: () => Promise<T>
}

export interface CoalescingOptions extends Pick<PamDeps, 'store' | 'monotonic' | 'sleep'> {
  /** Longer than a fetch takes. If the lock's owner dies, the others wait this long, and then each sends its own call. */
  readonly lockMs: number
}

const POLL_MS = 40

export type Coalesce<T> = (lockKey: string, fetch: SharedFetch<T>) => Promise<T>

/**
 * Request coalescing: concurrent callers share one fetch, in a process and over all replicas. The replica that gets a lock in the
 * store fetches. The others wait for its value; if it fails, the next of them fetches. Without the store, each process sends its own call.
 */
export function createCoalescing<T>(options: CoalescingOptions): Coalesce<T> {
  const pending = new Map<string, Promise<T>>()

  return function coalesce(lockKey, fetch) {
    const name = `${fetch.background} ${lockKey}`
    const started =
      pending.get(name) ?? runOnOneReplica(options, lockKey, fetch).finally(() => pending.delete(name))
    pending.set(name, started)
    return started
  }
}

async function runOnOneReplica<T>(
  options: CoalescingOptions,
  lockKey: string,
  { read, fetch }: SharedFetch<T>,
): Promise<T> {
  const { store } = options
  const token = randomUUID()
  const lock = await acquireLock(options, lockKey, token, read)
  if (lock !== 'acquired') return lock === 'unavailable' ? fetch() : lock.found
  try {
    return (await read()) ?? (await fetch())
  } finally {
    await store.deleteIf(lockKey, token).catch(() => {}) // the lock expires
  }
}

async function acquireLock<T>(
  { store, monotonic, sleep, lockMs }: CoalescingOptions,
  lockKey: string,
  token: string,
  read: () => Promise<T | undefined>,
): Promise<'acquired' | 'unavailable' | { found: T }> {
  const deadline = monotonic() + lockMs
  for (;;) {
    try {
      if (await store.set(lockKey, token, lockMs, 'absent')) return 'acquired'
    } catch {
      store.deleteIf(lockKey, token).catch(() => {}) // not awaited; a stalled store may set the lock later
      return 'unavailable'
    }
    if (monotonic() >= deadline) return 'unavailable'
    await sleep(POLL_MS)
    const found = await read()
    if (found !== undefined) return { found }
  }
}
