import type { TestTunables } from './gatehouse.ts'

/**
 * Limits for tests that make many attempts as one user or from one address but do not test
 * throttling.
 */
export function generousLimits(tunables: TestTunables): TestTunables {
  return { ...tunables, limits: aThousandTimes(tunables.limits) }
}

/** The same limits, each with far more attempts. */
function aThousandTimes<Group extends object>(group: Group): Group {
  const entries = Object.entries(group).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'object' && value !== null
      ? aThousandTimes(value)
      : name === 'attempts'
        ? Number(value) * 1000
        : value,
  ])
  // the names are the same, and the values of the same types
  return Object.fromEntries(entries) as Group
}
