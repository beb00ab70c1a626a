import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { FailFastStore } from '../../store/fail-fast-store.ts'
import { parseStored } from '../../store/stored-json.ts'
import { isPamTrouble, PamFailure } from '../upstream/pam-errors.ts'

/**
 * One flight for one need: once a process, and over all replicas by a lock in the store, after which one reads again
 * before one fetches. Those who wait get what the holder left: the thing itself, or the failure. A failure is left
 * only for those who are waiting for that very flight. Without the store, each process flies for itself.
 */
export interface SharedFlight<T> {
  run(lockKey: string, flight: Flight<T>): Promise<T>
}

export interface Flight<T> {
  readonly background: boolean
  /** What another one has left by now; undefined when there is nothing, or the store is away. */
  readonly read: () => Promise<T | undefined>
  readonly fetch: () => Promise<T>
}

export interface SharedFlightParts {
  readonly store: FailFastStore
  readonly monotonic: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** Longer than a fetch. A holder that vanished blocks the others for so long; after that, each fetches for itself. */
  readonly lockMs: number
}

const POLL_MS = 40
/** Longer than the pause between two looks of those who wait. */
const FAILURE_KEPT_MS = 2000

export function createSharedFlight<T>(parts: SharedFlightParts): SharedFlight<T> {
  const { store, monotonic, sleep, lockMs } = parts
  const pending = new Map<string, Promise<T>>()

  return {
    run(lockKey, flight) {
      const foreground = pending.get(`foreground ${lockKey}`)
      if (foreground !== undefined) return foreground
      const name = `${flight.background ? 'background' : 'foreground'} ${lockKey}`
      const known = pending.get(name)
      if (known !== undefined) return known
      const started = overReplicas(lockKey, flight).finally(() => pending.delete(name))
      pending.set(name, started)
      return started
    },
  }

  async function overReplicas(lockKey: string, { read, fetch }: Flight<T>): Promise<T> {
    const claim = randomUUID()
    const deadline = monotonic() + lockMs
    let holder: string | undefined
    for (;;) {
      try {
        if (await store.set(lockKey, claim, lockMs, 'absent')) break
        holder ??= await store.get(lockKey)
      } catch {
        store.deleteIfInBackground(lockKey, claim) // a store that stood still may take the lock for us yet
        return fetch() // the store is away: each process for itself
      }
      if (monotonic() >= deadline) return fetch()
      await sleep(POLL_MS)
      const found = await read()
      if (found !== undefined) return found
      const failure = holder === undefined ? undefined : await failureLeft(lockKey, holder)
      if (failure !== undefined) throw failure
    }
    try {
      return (await read()) ?? (await fetch())
    } catch (error) {
      await leaveFailure(lockKey, claim, error)
      throw error
    } finally {
      // while the store counts as away nobody waits for it
      await store.deleteIf(lockKey, claim).catch(() => store.deleteIfInBackground(lockKey, claim))
    }
  }

  async function leaveFailure(lockKey: string, claim: string, error: unknown): Promise<void> {
    if (!(error instanceof PamFailure) || error.gaveWay) return
    const left = JSON.stringify({ trouble: error.trouble, retryAfterMs: error.retryAfterMs })
    await store.set(`${lockKey}:${claim}`, left, FAILURE_KEPT_MS).catch(() => {}) // they try for themselves then
  }

  async function failureLeft(lockKey: string, holder: string): Promise<PamFailure | undefined> {
    const text = await store.get(`${lockKey}:${holder}`).catch(() => undefined) // asked again soon
    const { success, data } = LeftFailure.safeParse(parseStored(text))
    return success ? new PamFailure(data.trouble, { retryAfterMs: data.retryAfterMs }) : undefined
  }
}

const LeftFailure = z.object({
  trouble: z.string().refine(isPamTrouble),
  retryAfterMs: z.number().optional(),
})
