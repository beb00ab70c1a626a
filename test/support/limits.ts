import type { Tunables } from '../../src/config/tunables.ts'
import { generousLimits } from './generous-limits.ts'

type Limits = Tunables['limits']
export type SomeLimits = { readonly [Name in keyof Limits]?: Partial<Limits[Name]> }

/** These limits and, in effect, no other; quick recovery answers, for what is not about them. */
export function onlyLimits(some: SomeLimits): (tunables: Tunables) => Tunables {
  return (shipped) => {
    const generous = generousLimits(shipped)
    const names = Object.keys(generous.limits) as (keyof Limits)[] // of our own literal
    const limits = Object.fromEntries(
      names.map((name) => [name, { ...generous.limits[name], ...some[name] }]),
    )
    const recovery = { ...generous.recovery, recoveryAnswerMs: 1 }
    return { ...generous, recovery, limits: { ...generous.limits, ...limits } }
  }
}

const MUCH = { attempts: 100_000, perSeconds: 3600 }

/** One window that matters, in the form of any group of figures. */
export function atMost(attempts: number, perSeconds = 3600) {
  return { burst: { attempts, perSeconds }, sustained: MUCH, inARow: MUCH }
}
