import type { TestTunables } from './gatehouse.ts'
import { generousLimits } from './generous-limits.ts'

type Limits = TestTunables['limits']
type SomeLimits = { readonly [Name in keyof Limits]?: Partial<Limits[Name]> }

/** Only these limits apply; all others are very high. Recovery answers are quick. */
export function onlyLimits(some: SomeLimits): (tunables: TestTunables) => TestTunables {
  return (shipped) => {
    const generous = generousLimits(shipped)
    const names = Object.keys(generous.limits) as (keyof Limits)[] // an object literal of this file
    const limits = Object.fromEntries(
      names.map((name) => [name, { ...generous.limits[name], ...some[name] }]),
    )
    const recovery = { ...generous.recovery, recoveryAnswerMs: 1 }
    return { ...generous, recovery, limits: { ...generous.limits, ...limits } }
  }
}

const MUCH = { attempts: 100_000, perSeconds: 3600 }

/** One limit, in the shape of any group of limits. */
export function atMost(attempts: number, perSeconds = 3600) {
  return { burst: { attempts, perSeconds }, sustained: MUCH, inARow: MUCH }
}
