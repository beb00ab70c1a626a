import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { parseStoredJson } from '../../store/sealed-records.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { isPamOutcome, PamFailure } from '../upstream/pam-errors.ts'

export interface SharedFetch<T> {
  /** A foreground caller does not wait for a background fetch. */
  readonly background: boolean
  /** The value that another replica has stored; undefined if there is none, or the store is out of reach. */
  readonly read: () => Promise<T | undefined>
  readonly fetch: () => Promise<T>
}

export interface CoalescingOptions extends Pick<PamDeps, 'store' | 'monotonic' | 'sleep'> {
  /** Longer than a fetch takes. If the lock's owner dies, the others wait this long, and then each sends its own call. */
  readonly lockMs: number
  /** The shortest pause after a failed refresh. */
  readonly refreshPauseMs: number
}

const POLL_MS = 40
/** Longer than the time between two polls of a waiting replica. */
const FAILURE_TTL_MS = 2000

export type Coalescing<T> = ReturnType<typeof createCoalescing<T>>

/**
 * Request coalescing: concurrent callers share one fetch, in a process and over all replicas. The replica that gets a lock in the
 * store fetches. The others wait for its value or its failure; a failure is shared only with those that wait for that fetch.
 * Without the store, each process sends its own call.
 */
export function createCoalescing<T>(options: CoalescingOptions) {
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
    /** Runs it in the background. undefined: a refresh is running, or failed a moment ago. */
    refresh(lockKey: string, fetch: Omit<SharedFetch<T>, 'background'>): Promise<T> | undefined {
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
      const shared = JSON.stringify({ outcome: error.outcome, retryAfterMs: error.retryAfterMs })
      await store.set(`${lockKey}:${token}`, shared, FAILURE_TTL_MS).catch(() => {}) // then the others send their own calls
    }
    throw error
  } finally {
    // After a store failure, an awaited deletion would fail at once without being sent.
    await store.deleteIf(lockKey, token).catch(() => store.deleteIfInBackground(lockKey, token))
  }
}

/** @throws the failure of the replica that had the lock */
async function acquireLock<T>(
  { store, monotonic, sleep, lockMs }: CoalescingOptions,
  lockKey: string,
  token: string,
  read: () => Promise<T | undefined>,
): Promise<'acquired' | 'unavailable' | { found: T }> {
  const deadline = monotonic() + lockMs
  let owner: string | undefined
  for (;;) {
    try {
      if (await store.set(lockKey, token, lockMs, 'absent')) return 'acquired'
      owner ??= await store.get(lockKey)
    } catch {
      store.deleteIfInBackground(lockKey, token) // a stalled store may set the lock later
      return 'unavailable'
    }
    if (monotonic() >= deadline) return 'unavailable'
    await sleep(POLL_MS)
    const found = await read()
    if (found !== undefined) return { found }
    const text = owner && (await store.get(`${lockKey}:${owner}`).catch(() => undefined)) // read again at the next poll
    const failure = SharedFailure.safeParse(parseStoredJson(text)).data
    if (failure !== undefined) throw new PamFailure(failure.outcome, { retryAfterMs: failure.retryAfterMs })
  }
}

const SharedFailure = z.object({
  outcome: z.string().refine(isPamOutcome),
  retryAfterMs: z.number().optional(),
})
