import { beforeEach, describe, expect, test } from '@jest/globals'
import { loadSandboxConfig, type SandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import { FACTOR_TYPE_NAMES } from '../../src/factor-types.ts'
import { FACTOR_TYPE_ROWS } from '../support/factor-types.ts'
import { useHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf } from '../support/transaction-view.ts'

/** The same tests for every factor type: a type without a row, or with a part missing, fails. */
const ROWS = Object.entries(FACTOR_TYPE_ROWS).map(([factorType, row]) => ({ factorType, ...row }))
const CONFIG = loadSandboxConfig()

test('each factor type has a row, and each row a factor type', () => {
  expect(Object.keys(FACTOR_TYPE_ROWS).sort()).toEqual([...FACTOR_TYPE_NAMES].sort())
})

/** No waiting between messages, no locked factors: only the broker's limits apply. */
const unlimited = (config: SandboxConfig): SandboxConfig => ({
  ...config,
  limits: { ...config.limits, wrongCodes: 1000, resendSeconds: 0 },
})

describe('with the sandbox', () => {
  const harness = useHarness({ sandboxConfig: unlimited })
  beforeEach(async () => {
    const redis = harness.redis.client()
    await redis.flushall() // the limits
    redis.disconnect()
  })

  // shows, F-1.18, F-1.22, F-2.10, F-2.11, F-2.14
  // sandbox shows, F-1.18, F-2.10, F-2.14
  test.each(ROWS)('$factorType opens a session with amr $amr, audited', async ({ login, amr, prove }) => {
    const before = harness.gatehouse.logLines().length
    const page = await openPage(harness)
    await page.signIn(login)
    await prove(page, harness, login)
    const methods = harness.gatehouse
      .logLines()
      .slice(before)
      .filter(({ event }) => event === 'sign_in_succeeded')
      .map((line) => line.methods)
    expect((await page.session())?.amr).toEqual(amr)
    expect(methods).toEqual(amr === undefined ? [] : [amr.join(' ')])
  })
})

describe('with all types in HIDDEN_FACTORS', () => {
  const ALL_OFFERED = CONFIG.enabledFactors.map((name) => {
    const [, type = '', provider = ''] = /^(.+):(\w+)$/.exec(name) ?? []
    return { type, provider, enrollment: 'OPTIONAL' } as SandboxConfig['enrollmentPolicies'][string][number]
  })
  const harness = useHarness({
    env: { HIDDEN_FACTORS: FACTOR_TYPE_NAMES.join(','), STEP_UP: 'on' },
    sandboxConfig: (config) => ({
      ...config,
      enrollmentPolicies: { ...config.enrollmentPolicies, everything: ALL_OFFERED },
    }),
  })
  beforeEach(() => {
    harness.clearUpstreamCalls()
  })

  const idOf = (login: string, factorType: string) =>
    harness.sandbox.user(login).factors.find((factor) => factor.factorType === factorType)?.id

  // shows: V6.4.2
  test.each(ROWS)('$factorType is not offered, and refused', async ({ factorType, login, attempt }) => {
    const page = await openPage(harness)
    expect((await page.signIn(login)).json.status).toBe('MFA_REQUIRED')
    expect(page.held.text).not.toContain(`"${factorType}"`)
    harness.clearUpstreamCalls()
    const verify = `/api/v1/authn/factors/${idOf(login, factorType)}/verify`
    expect(errorOf(await page.send(verify, attempt))).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
  })
})
