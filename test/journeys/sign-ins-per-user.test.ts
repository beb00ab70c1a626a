import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { errorOf } from '../support/transaction-view.ts'

/** Okta allows 4 sign-ins per second for one user name. Here it is one, so that a test can reach it at any speed. */
let sandboxMs = Date.now()
let unpaced: Harness
beforeAll(async () => {
  unpaced = await startHarness({
    sandboxNow: () => sandboxMs,
    sandboxConfig: (config) => ({
      ...config,
      rateLimits: { ...config.rateLimits, signInsPerUserPerSecond: 1 },
    }),
  })
})
afterAll(() => unpaced.stop())
beforeEach(() => {
  sandboxMs += 60_000
  unpaced.sandbox.reset()
})

const signIn = async (harness: Harness, username: string, broker: Gatehouse = harness.gatehouse) =>
  (await harness.visit()).post(`${broker.url}/api/v1/authn`, { username, password: PASSWORD })

test('Okta’s 429 for one user name holds back that user only', async () => {
  expect((await signIn(unpaced, AMELIA)).json.status).toBe('SUCCESS')
  expect(errorOf(await signIn(unpaced, AMELIA))).toEqual([429, 'E0000047'])
  expect((await signIn(unpaced, TOMAS)).json.status).toBe('MFA_REQUIRED')
})

test('sign-ins of one user name that come faster than Okta allows wait; none is refused', async () => {
  const paced = await startHarness({
    sandboxConfig: (config) => ({
      ...config,
      rateLimits: { ...config.rateLimits, signInsPerUserPerSecond: 1 },
    }),
    tunables: (tunables) => ({
      ...tunables,
      limits: { ...tunables.limits, signInsPerUser: { attempts: 1, perSeconds: 2 } },
    }),
  })
  try {
    const answers = await Promise.all([signIn(paced, AMELIA), signIn(paced, AMELIA), signIn(paced, TOMAS)])
    expect(answers.map(({ json }) => json.status)).toEqual(['SUCCESS', 'SUCCESS', 'MFA_REQUIRED'])
    expect(paced.upstreamCalls()).toHaveLength(3)
  } finally {
    await paced.stop()
  }
})
