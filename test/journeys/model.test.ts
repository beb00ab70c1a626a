import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { startWalk } from '../support/model-walk.ts'

/**
 * A walk at random through the sandbox by way of the broker, until every operation was asked for in every status and
 * every one that the sandbox allows has succeeded there. The seed stands in the test's name; MODEL_SEED sets it.
 * MODEL_SECONDS lets the walk go on for longer than that.
 */
const seed = Number(process.env.MODEL_SEED ?? Math.floor(Math.random() * 2 ** 32))
const LEAST_MS = Number(process.env.MODEL_SECONDS ?? 0) * 1000
/** A walk takes 500 to 1,200 steps as a rule. Not a time, which would depend on the machine. */
const MAX_STEPS = 10_000

let clock = Date.now()
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    sandboxNow: () => clock,
    tunables: (tunables) => ({
      ...generousLimits(tunables),
      recovery: { ...tunables.recovery, recoveryAnswerMs: 1, resendAfterMs: 20 },
    }),
  })
})
afterAll(() => harness.stop())

test(
  `every operation in every status: no session without the rule, no dead end, no token (MODEL_SEED=${seed})`,
  async () => {
    const walk = await startWalk({
      harness,
      seed,
      now: () => clock,
      pass(ms) {
        clock += ms
      },
    })
    const started = performance.now()
    try {
      const isTooShort = () => performance.now() - started < LEAST_MS
      const goesOn = () => walk.pairs.missing().length > 0 && walk.steps < MAX_STEPS
      while (isTooShort() || goesOn()) await walk.step()
    } catch (error) {
      throw new Error(`MODEL_SEED=${seed}, step ${walk.steps}`, { cause: error })
    }
    expect({ seed, missing: walk.pairs.missing() }).toEqual({ seed, missing: [] })
  },
  LEAST_MS + 600_000,
)
