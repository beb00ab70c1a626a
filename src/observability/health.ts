import { setTimeout as delay } from 'node:timers/promises'
import { innermostFailure } from './dependency-failure.ts'
import type { Logger } from './logger.ts'

/** `unknown`: not verified yet. */
export type CheckState = 'ok' | 'failing' | 'unknown'

export interface HealthOptions {
  /**
   * Throws a `DependencyFailure` while the store cannot be used. Any other error of the first
   * checks ends the start.
   */
  readonly checkStore: () => Promise<void>
  /** Default: five seconds. */
  readonly checkEveryMs?: number
  readonly clock?: { readonly state: () => CheckState; readonly isUsable: () => boolean }
  /** The result of the last call to each upstream, for information. */
  readonly upstreams?: Readonly<Record<string, () => CheckState>>
  readonly log: Pick<Logger, 'info' | 'warn'>
}

export type Health = ReturnType<typeof createHealth>

/**
 * Whether this replica should get requests: once the store was proved, and until it drains. Later
 * failures of the store or an upstream are only reported, because they affect every replica, and a
 * service without replicas helps nobody. A wrong clock is that of one replica.
 */
export function createHealth({ upstreams = {}, clock, ...options }: HealthOptions) {
  const { state: store, ...checks } = startStoreChecks(options)
  let isDraining = false
  return {
    ...checks,

    /** Makes the replica not ready, because it is about to stop. */
    drain() {
      isDraining = true
    },

    readiness() {
      const states = Object.entries(upstreams).map(([name, state]) => [name, state()] as const)
      return {
        ready: checks.isStarted() && !isDraining && clock?.isUsable() !== false,
        draining: isDraining,
        checks: {
          store: store(),
          ...(clock === undefined ? {} : { clock: clock.state() }),
          ...Object.fromEntries(states),
        },
      }
    },
  }
}

/** While the store cannot be used. */
const RETRY_MS = 500

/** Checks the store in the background, so that a slow one does not delay the answer to a probe. */
function startStoreChecks({ checkStore, checkEveryMs = 5000, log }: HealthOptions) {
  let failure: string | undefined
  let isStarted = false
  const stopping = new AbortController()
  const { signal } = stopping

  async function check(): Promise<void> {
    try {
      await checkStore()
      if (failure !== undefined) log.info('store_check_passed')
      failure = undefined
      isStarted = true
    } catch (error) {
      const found = innermostFailure(error)
      if (found === undefined && !isStarted) throw error
      const reason = `${found?.outcome} ${found?.code}`
      if (reason !== failure && !signal.aborted) log.warn('store_check_failed', {}, error)
      failure = reason
    }
  }

  const state = (): CheckState => (failure !== undefined ? 'failing' : isStarted ? 'ok' : 'unknown')
  const pauseMs = () => (state() === 'ok' ? checkEveryMs : RETRY_MS)
  const pause = () => delay(pauseMs(), undefined, { ref: false, signal }).catch(() => {}) // stopped
  const started = (async () => {
    for (await check(); !isStarted && !signal.aborted; await check()) await pause()
  })()
  void started.then(
    async () => {
      for (await pause(); !signal.aborted; await pause()) await check()
    },
    () => {}, // the one who waits for the start handles it
  )

  return {
    /** Resolves when the store is proved. Rejects if it must not be used. */
    started,
    isStarted: () => isStarted,
    state,
    stop: () => stopping.abort(),
  }
}
