import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { parseStoredJson } from '../../store/sealed-records.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { isPamOutcome, PamFailure } from '../upstream/pam-errors.ts'

/**
 * Request coalescing: what several callers need is fetched once in a process, and once over all replicas. A lock in the store
 * says who fetches. The others wait for the value, or for the failure, which is shared only with those who wait for that very
 * fetch. Without the store, each process fetches for itself.
 */
export interface Coalescing<T> {
  run(lockKey: string, fetch: SharedFetch<T>): Promise<T>
  /** Runs it in the background. undefined: that is under way already, or failed a moment ago. */
  refresh(lockKey: string, fetch: Omit<SharedFetch<T>, 'background'>): Promise<T> | undefined
}

export interface SharedFetch<T> {
  /** A caller in the foreground does not wait for one in the background. */
  readonly background: boolean
  /** What another replica has stored by now; undefined if there is nothing, or the store is out of reach. */
  readonly read: () => Promise<T | undefined>
  readonly fetch: () => Promise<T>
}

export interface CoalescingOptions extends Pick<PamDeps, 'store' | 'monotonic' | 'sleep'> {
  /** Longer than a fetch. If the holder of the lock is gone, the others wait for so long; after that, each fetches for itself. */
  readonly lockMs: number
  /** The pause after a refresh that failed, at least. */
  readonly refreshPauseMs: number
}

const POLL_MS = 40
/** Longer than the pause between two polls of a waiting replica. */
const FAILURE_KEPT_MS = 2000

export function createCoalescing<T>(options: CoalescingOptions): Coalescing<T> {
  const { monotonic, refreshPauseMs } = options
  const pending = new Map<string, Promise<T>>()
  const refreshNotBefore = new Map<string, number>()

  function run(lockKey: string, fetch: SharedFetch<T>): Promise<T> {
    const name = `${fetch.background ? 'background' : 'foreground'} ${lockKey}`
    const running = pending.get(`foreground ${lockKey}`) ?? pending.get(name)
    if (running !== undefined) return running
    const started = runOnOneReplica(options, lockKey, fetch).finally(() => pending.delete(name))
    pending.set(name, started)
    return started
  }

  function pauseRefresh(lockKey: string, error: unknown): void {
    const retryAfterMs = error instanceof PamFailure ? (error.retryAfterMs ?? 0) : 0
    for (const [key, atMs] of refreshNotBefore) if (atMs <= monotonic()) refreshNotBefore.delete(key)
    refreshNotBefore.set(lockKey, monotonic() + Math.max(retryAfterMs, refreshPauseMs))
  }

  return {
    run,
    refresh(lockKey, fetch) {
      if (monotonic() < (refreshNotBefore.get(lockKey) ?? Number.NEGATIVE_INFINITY)) return undefined
      refreshNotBefore.set(lockKey, Number.POSITIVE_INFINITY)
      const running = run(lockKey, { ...fetch, background: true })
      running.then(
        () => refreshNotBefore.delete(lockKey),
        (error: unknown) => pauseRefresh(lockKey, error),
      )
      return running
    },
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
  if (lock === 'unavailable') return fetch()
  if (lock !== 'acquired') return lock.found
  try {
    return (await read()) ?? (await fetch())
  } catch (error) {
    if (error instanceof PamFailure && !error.wasDeferred) {
      const shared = JSON.stringify({ trouble: error.outcome, retryAfterMs: error.retryAfterMs })
      await store.set(`${lockKey}:${token}`, shared, FAILURE_KEPT_MS).catch(() => {}) // the others try for themselves then
    }
    throw error
  } finally {
    // After a failure of the store, a deletion that is waited for fails at once and is not sent.
    await store.deleteIf(lockKey, token).catch(() => store.deleteIfInBackground(lockKey, token))
  }
}

/** Throws the failure of the replica that held the lock meanwhile. */
async function acquireLock<T>(
  { store, monotonic, sleep, lockMs }: CoalescingOptions,
  lockKey: string,
  token: string,
  read: () => Promise<T | undefined>,
): Promise<'acquired' | 'unavailable' | { found: T }> {
  const deadline = monotonic() + lockMs
  let holder: string | undefined
  for (;;) {
    try {
      if (await store.set(lockKey, token, lockMs, 'absent')) return 'acquired'
      holder ??= await store.get(lockKey)
    } catch {
      store.deleteIfInBackground(lockKey, token) // a paused store may set the lock later
      return 'unavailable'
    }
    if (monotonic() >= deadline) return 'unavailable'
    await sleep(POLL_MS)
    const found = await read()
    if (found !== undefined) return { found }
    const text = holder && (await store.get(`${lockKey}:${holder}`).catch(() => undefined)) // the next poll asks again
    const failure = SharedFailure.safeParse(parseStoredJson(text)).data
    if (failure !== undefined) throw new PamFailure(failure.trouble, { retryAfterMs: failure.retryAfterMs })
  }
}

const SharedFailure = z.object({
  trouble: z.string().refine(isPamOutcome),
  retryAfterMs: z.number().optional(),
})
