import { innermostFailure } from './dependency-failure.ts'
import type { Logger } from './logger.ts'

/** `unknown`: not verified yet. */
export type CheckState = 'ok' | 'failing' | 'unknown'

export type Check = { readonly name: string } & (
  | {
      /** A replica is ready only while this resolves. */
      readonly run: () => Promise<void>
    }
  | {
      /** Reported, but without effect on readiness, because it would fail on every replica. */
      readonly state: () => CheckState
    }
)

export type Health = ReturnType<typeof createHealth>

/**
 * Readiness: whether this replica should get requests. Logs when a required check starts to fail, fails for another reason, or
 * passes again.
 */
export function createHealth(checks: readonly Check[], log: Pick<Logger, 'info' | 'warn'>) {
  /** Failing checks by name, each with its outcome and code. */
  const failures = new Map<string, string>()
  let draining = false

  async function stateOf(check: Check): Promise<CheckState> {
    if ('state' in check) return check.state()
    const { name, run } = check
    try {
      await run()
    } catch (error) {
      const { outcome, code } = innermostFailure(error) ?? {}
      const failure = `${outcome} ${code}`
      if (failures.get(name) !== failure) log.warn('readiness_check_failed', { name }, error)
      failures.set(name, failure)
      return 'failing'
    }
    if (failures.delete(name)) log.info('readiness_check_passed', { name })
    return 'ok'
  }

  return {
    /** Makes the replica not ready, whatever the checks say, because it is about to stop. */
    drain() {
      draining = true
    },

    /** Never throws. Each check limits its own time. */
    async readiness() {
      const states = await Promise.all(checks.map(stateOf))
      const isBlocking = (check: Check, state: CheckState | undefined) => 'run' in check && state !== 'ok'
      return {
        ready: !draining && !checks.some((check, index) => isBlocking(check, states[index])),
        draining,
        checks: Object.fromEntries(checks.map(({ name }, index) => [name, states[index] ?? 'unknown'])),
      }
    },
  }
}
