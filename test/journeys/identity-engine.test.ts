import { beforeEach, describe, expect, test } from '@jest/globals'
import { AMELIA, useHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf } from '../support/transaction-view.ts'

/**
 * Identity Engine differs in these points from Classic Engine
 * (docs/connect-your-okta-org.md#1-classic-engine-or-identity-engine). The journeys of
 * on-identity-engine/ are the same on both.
 */

const harness = useHarness({
  env: { STEP_UP: 'on' },
  tunables: (tunables) => ({ ...tunables, recovery: { ...tunables.recovery, resendAfterMs: 1 } }),
})

async function recoverByText() {
  const page = await openPage(harness)
  await page.begin('/api/v1/authn/recovery/password', { username: AMELIA, factorType: 'SMS' })
  const code = harness.sandbox.outbox.latest(AMELIA, 'recovery')?.code
  return { page, code, answer: await page.follow('_links.next', { passCode: code ?? '000000' }) }
}

function use(settings: object): void {
  Object.assign(harness.sandbox.settings, settings)
}

describe('on Identity Engine', () => {
  beforeEach(() => use({ pipeline: 'idx' }))

  test('a denied recovery is answered like that of an unknown user and counted, and no code is sent or accepted', async () => {
    use({ classicRecovery: false })
    const { page, code, answer } = await recoverByText()
    expect(code).toBeUndefined()
    expect(errorOf(answer)).toEqual([403, 'E0000068'])
    expect(page.held.json.status).toBe('RECOVERY_CHALLENGE')
    expect(await harness.gatehouse.metrics()).toContain(
      'gatehouse_recoveries_refused_total{code="E0000034"} 1',
    )
  })
})

describe('an org that is upgraded while the broker runs', () => {
  beforeEach(() => use({ pipeline: 'v1' }))

  test('a step-up that has arrived is refused, and Okta’s API token is not reported as refused', async () => {
    const { stateToken } = harness.sandbox.startStepUp('payroll')
    const page = await openPage(harness)
    const arrival = `${harness.gatehouse.url}/signin/step-up?stateToken=${stateToken}`
    const { location = '' } = await navigate(page.browser, arrival)
    use({ pipeline: 'idx' })
    const handle = new URL(location).searchParams.get('stateToken')
    const refused = await page.browser.post('/api/v1/authn', { stateToken: handle })
    expect(errorOf(refused)).toEqual([401, 'E0000011'])
    expect(await harness.gatehouse.metrics()).toContain('gatehouse_upstream_token_refused 0')
  })
})
