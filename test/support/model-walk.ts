import { ALLOWED, type Status } from '../../src/sandbox/authn/statuses.ts'
import { fail } from './model-answers.ts'
import { createDetours } from './model-detours.ts'
import { MODEL_OPERATIONS, type ModelOperation, OVER, type Pairs } from './model-pairs.ts'
import { createStarts } from './model-starts.ts'
import { createModelState, type ModelOptions } from './model-state.ts'
import { createSteps } from './model-steps.ts'

export interface Walk {
  readonly pairs: Pairs
  readonly steps: number
  /** Does one random action and checks every rule. Throws if a rule does not hold. */
  step(): Promise<void>
}

export async function startWalk(parts: ModelOptions): Promise<Walk> {
  const { harness } = parts
  const state = await createModelState(parts)
  const { sandbox, random, pairs, forgetAll } = state
  const begin = createStarts(state)
  const modelSteps = createSteps(state)
  const { take } = modelSteps
  const { leave, steal, garble, followGet } = createDetours(state, modelSteps)
  let steps = 0

  return {
    pairs,
    get steps() {
      return steps
    },
    async step() {
      steps += 1
      if (harness.upstreamCalls().length > 5000) harness.clearUpstreamCalls()
      if (random.chance(0.01))
        forgetAll(random.chance(0.7) ? () => sandbox.reset() : sandbox.expireTransactions)
      state.tabs = state.tabs.filter((tab) => tab.status !== 'CANCELLED' || random.chance(0.5))
      const open = state.tabs.filter((tab) => !OVER.has(tab.status) && tab.status !== 'CANCELLED')
      if (open.length < 2 || random.chance(0.15)) return begin()
      if (random.chance(0.02)) return leave(random.pick([0, 1, 2]))

      const wanting = state.tabs.filter((tab) => tab.handle !== undefined || OVER.has(tab.status))
      const useful = wanting.filter((tab) => !tab.forgotten && pairs.unmetIn(tab.status).length > 0)
      if (useful.length === 0 && random.chance(0.4)) return begin()
      const tab = random.chance(0.85)
        ? (random.pickOne(useful) ?? random.pickOne(wanting))
        : random.pickOne(wanting)
      if (tab === undefined) return begin()
      const anything = random.pickOne(MODEL_OPERATIONS) ?? fail('no operation')
      if (tab.handle !== undefined && random.chance(0.03)) return steal(tab, anything)
      if (tab.handle !== undefined && random.chance(0.03)) return garble(tab, anything)
      if (random.chance(0.06)) return followGet(tab)

      const isAllowed = ({ upstream }: ModelOperation) =>
        (ALLOWED[tab.status as Status] ?? []).includes(upstream)
      const unmet = pairs.unmetIn(tab.status)
      const refused = unmet.filter((operation) => !isAllowed(operation)) // the transaction does not change
      const wanted = random.pickOne(refused.length > 0 && random.chance(0.8) ? refused : unmet)
      if (wanted !== undefined && random.chance(0.8)) return take(tab, wanted, random.chance(0.85))
      const onward = MODEL_OPERATIONS.filter(
        (operation) =>
          operation.upstream !== 'state' && operation.upstream !== 'cancel' && isAllowed(operation),
      )
      const next = random.chance(0.75) ? random.pickOne(onward) : undefined
      return take(tab, next ?? anything, random.chance(0.8))
    },
  }
}
