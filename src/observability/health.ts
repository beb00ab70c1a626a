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
  /** By name: `ok` or `failing`. */
  readonly checks: Readonly<Record<string, 'ok' | 'failing'>>
}

export interface Check {
  readonly name: string
  /** Resolves when all is well. */
  readonly run: () => Promise<void>
  /** Shown, but no reason to take the replica out: another replica would see the same. */
  readonly informs?: boolean
}

export function createHealth(checks: readonly Check[]): Health {
  let draining = false

  return {
    drain() {
      draining = true
    },
    isDraining: () => draining,

    async readiness() {
      const results = await Promise.all(
        checks.map(async ({ name, run, informs = false }) => {
          return { name, ok: await passes(run), informs }
        }),
      )
      return {
        ready: !draining && results.every(({ ok, informs }) => ok || informs),
        draining,
        checks: Object.fromEntries(results.map(({ name, ok }) => [name, ok ? 'ok' : 'failing'])),
      }
    },
  }
}

async function passes(run: Check['run']): Promise<boolean> {
  try {
    await run()
    return true
  } catch {
    return false // what is wrong stands in the log of whoever met it
  }
}
