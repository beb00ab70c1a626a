import { v4 as uuid } from 'uuid'
import type { PamDeps } from './pam-deps.ts'

interface SharedFetch<T> {
  /** A foreground caller does not share the failure of a background fetch. */
  readonly background: boolean
  /** The value that another replica has stored. */
  readonly read: () => Promise<T | undefined>
  readonly fetch: () => Promise<T>
}

/**
 * How long the lock of a replica that was killed holds the others back. A replica that stands still
 * for longer loses it too, and may renew that of the next one when it continues: then both fetch,
 * which does no harm.
 */
const LEASE_MS = 3000
/** Most fetches are over by then. */
const RENEW_EVERY_MS = 1000
/** Added to the longest duration of a fetch. Then a replica fetches without the lock. */
const WAIT_MARGIN_MS = 5000
const POLL_MS = 40

type CoalescingDeps = Pick<PamDeps, 'store' | 'monotonic' | 'sleep' | 'startTimer' | 'pageLimits'>

/**
 * Request coalescing: concurrent callers share one fetch, in a process and over all replicas. The
 * replica that gets a lock in the store fetches, and renews the lock meanwhile. The others wait for
 * its value; if it fails or is killed, the next of them fetches.
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
  deps: CoalescingDeps,
  lockKey: string,
  { read, fetch }: SharedFetch<T>,
): Promise<T> {
  const { store, monotonic, sleep, pageLimits } = deps
  const token = uuid()
  const deadline = monotonic() + pageLimits.maxTotalMs + WAIT_MARGIN_MS
  const acquire = () => store.set(lockKey, token, LEASE_MS, 'absent')
  let stopRenewing = () => {}
  try {
    let isHeld = await acquire()
    while (!isHeld && monotonic() < deadline) {
      await sleep(POLL_MS)
      const found = await read()
      if (found !== undefined) return found
      isHeld = await acquire()
    }
    if (isHeld) stopRenewing = renewEvery(deps, lockKey, token)
    return (await read()) ?? (await fetch())
  } finally {
    stopRenewing()
    store.deleteIf(lockKey, token).catch(() => {}) // else the lock expires
  }
}

/** Returns a function that stops it. */
function renewEvery({ store, startTimer }: CoalescingDeps, lockKey: string, token: string): () => void {
  let stop = () => {}
  const wait = () => {
    stop = startTimer(renew, RENEW_EVERY_MS)
  }
  const renew = () => {
    store.set(lockKey, token, LEASE_MS, 'present').catch(() => {}) // else the lock expires
    wait()
  }
  wait()
  return () => stop()
}
