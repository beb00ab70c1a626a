import type { Tunables } from '../../src/config/tunables.ts'

/** Limits that no test reaches, for tests that ask thousands of times and are not about limits. */
export function generousLimits(tunables: Tunables): Tunables {
  const limits = Object.fromEntries(
    Object.entries(tunables.limits).map(([name, figures]) => [name, { ...figures, attempts: 1_000_000 }]),
  )
  return { ...tunables, limits: { ...tunables.limits, ...limits } }
}
