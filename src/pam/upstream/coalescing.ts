import { randomUUID } from 'node:crypto'
import type { PamDeps } from './pam-deps.ts'

interface SharedFetch<T> {
  /** A foreground caller does not share the failure of a background fetch. */
  readonly background: boolean
  /** The value that another replica has stored. */
  readonly read: () => Promise<T | undefined>
  readonly fetch: () => Promise<T>
}

/** Added to the longest duration of a fetch: a lock must not expire before its fetch ends. */
const LOCK_MARGIN_MS = 5000
const POLL_MS = 40

type CoalescingDeps = Pick<PamDeps, 'store' | 'monotonic' | 'sleep' | 'pageLimits'>

/**
 * Request coalescing: concurrent callers share one fetch, in a process and over all replicas. The replica that gets a lock in the
 * store fetches. The others wait for its value; if it fails, the next of them fetches.
 */
export function createCoalescing<T>(deps: CoalescingDeps) {
  const pending = new Map<string, Promise<T>>()

  return function coalesce(lockKey: string, fetch: SharedFetch<T>): Promise<T> {
    const name = `${fetch.background} ${lockKey}`
    const started = pending.get(name) ?? fetchOnce(deps, lockKey, fetch).finally(() => pending.delete(name))
    pending.set(name, started)
    return started
  }
}

async function fetchOnce<T>(
  { store, monotonic, sleep, pageLimits }: CoalescingDeps,
  lockKey: string,
  { read, fetch }: SharedFetch<T>,
): Promise<T> {
  const token = randomUUID()
  const lockMs = pageLimits.maxTotalMs + LOCK_MARGIN_MS
  const deadline = monotonic() + lockMs
  try {
    while (!(await store.set(lockKey, token, lockMs, 'absent')) && monotonic() < deadline) {
      await sleep(POLL_MS)
      const found = await read()
      if (found !== undefined) return found
    }
    return (await read()) ?? (await fetch())
  } finally {
    store.deleteIf(lockKey, token).catch(() => {}) // else the lock expires
  }
}
