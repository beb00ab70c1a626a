import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { startWalk } from '../support/model-walk.ts'

/**
 * A random walk through the sandbox by way of the broker, until every operation was sent in every status, and every
 * pair that the sandbox allows has succeeded. The test's name contains the seed; MODEL_SEED sets it. MODEL_SECONDS
 * makes the walk longer.
 */
const seed = Number(process.env.MODEL_SEED ?? Math.floor(Math.random() * 2 ** 32))
const MIN_MS = Number(process.env.MODEL_SECONDS ?? 0) * 1000
/** A walk usually takes 500 to 1,200 steps. A limit in steps does not depend on the machine's speed. */
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
  `every operation in every status keeps the session rule, leads to no dead end and leaks no token (MODEL_SEED=${seed})`,
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
      const isTooShort = () => performance.now() - started < MIN_MS
      const isIncomplete = () => walk.pairs.missing().length > 0 && walk.steps < MAX_STEPS
      while (isTooShort() || isIncomplete()) await walk.step()
    } catch (error) {
      throw new Error(`MODEL_SEED=${seed}, step ${walk.steps}`, { cause: error })
    }
    expect({ seed, missing: walk.pairs.missing() }).toEqual({ seed, missing: [] })
  },
  MIN_MS + 600_000,
)
