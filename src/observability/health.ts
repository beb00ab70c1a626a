import { innermostFailure } from './dependency-failure.ts'

/** Whether this replica should be sent requests. Alive is something else: a process that answers is alive. */
export interface Health {
  /** Never throws; every check is bounded by what it checks. */
  readiness(): Promise<Readiness>
  /** From now on not ready, whatever the checks say: the replica is about to stop. */
  drain(): void
  isDraining(): boolean
}

export interface Readiness {
  readonly ready: boolean
  readonly draining: boolean
  /** By name. */
  readonly checks: Readonly<Record<string, CheckState>>
}

/** `unknown`: nothing has proved it yet. */
export type CheckState = 'ok' | 'failing' | 'unknown'

export type Check = RequiredCheck | InformationalCheck

/** A replica is ready only while each of these passes. */
export interface RequiredCheck {
  readonly name: string
  /** Resolves when all is well. */
  readonly run: () => Promise<void>
}

/** Reported, but no reason to take the replica out: another replica would see the same. */
export interface InformationalCheck {
  readonly name: string
  readonly state: () => CheckState
}

export interface HealthOptions {
  /** Called when a required check begins to fail, passes again, or fails in another way than before. */
  readonly onChange?: (change: CheckChange) => void
}

/** Without an error, the check passes again. */
export interface CheckChange {
  readonly name: string
  readonly error?: unknown
}

export function createHealth(checks: readonly Check[], { onChange = () => {} }: HealthOptions = {}): Health {
  /** What `onChange` was last told of a check that fails. */
  const told = new Map<string, string>()
  let draining = false

  return {
    drain() {
      draining = true
    },
    isDraining: () => draining,

    async readiness() {
      const states = await Promise.all(
        checks.map(
          async (check): Promise<[string, CheckState]> => [
            check.name,
            'run' in check ? await stateAfter(check) : check.state(),
          ],
        ),
      )
      const required = new Set(checks.filter((check) => 'run' in check).map(({ name }) => name))
      return {
        ready: !draining && states.every(([name, state]) => state === 'ok' || !required.has(name)),
        draining,
        checks: Object.fromEntries(states),
      }
    },
  }

  async function stateAfter({ name, run }: RequiredCheck): Promise<CheckState> {
    try {
      await run()
    } catch (error) {
      const reason = reasonOf(error)
      if (told.get(name) !== reason) onChange({ name, error })
      told.set(name, reason)
      return 'failing'
    }
    if (told.delete(name)) onChange({ name })
    return 'ok'
  }
}

function reasonOf(error: unknown): string {
  const { outcome, code } = innermostFailure(error) ?? {}
  return `${outcome} ${code}`
}
