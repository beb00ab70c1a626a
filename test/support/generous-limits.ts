import type { Tunables } from '../../src/config/tunables.ts'

/** For tests that make many attempts as one person or from one address, and are not about how many there may be. */
export function generousLimits(tunables: Tunables): Tunables {
  return { ...tunables, limits: aThousandTimes(tunables.limits) }
}

/** The same groups of figures, each with far more attempts. */
function aThousandTimes<Group extends object>(group: Group): Group {
  const entries = Object.entries(group).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'object' && value !== null
      ? aThousandTimes(value)
      : name === 'attempts'
        ? Number(value) * 1000
        : value,
  ])
  return Object.fromEntries(entries) as Group // the names are the same, and the values of the same types
}
