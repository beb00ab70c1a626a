import { beforeEach, describe, expect, test } from '@jest/globals'
import { AMELIA, useHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf } from '../support/transaction-view.ts'

/** Identity Engine differs in these points from Classic Engine (docs/connect-your-okta-org.md#1-classic-engine-or-identity-engine). The journeys of on-identity-engine/ are the same on both. */

const BEA = 'bea.newdevice@example.test'
const TARGET = 'http://localhost:3000/home'

const harness = useHarness({
  env: { SSO_REDIRECTS: TARGET, STEP_UP: 'on' },
  tunables: (tunables) => ({ ...tunables, recovery: { ...tunables.recovery, resendAfterMs: 1 } }),
})

async function recoverByText() {
  const page = await openPage(harness)
  await page.begin('/api/v1/authn/recovery/password', { username: AMELIA, factorType: 'SMS' })
  const code = harness.sandbox.outbox.latest(AMELIA, 'recovery')?.code
  return { page, code, answer: await page.follow('_links.next', { passCode: code ?? '000000' }) }
}

async function followSsoToken() {
  const page = await openPage(harness)
  const { json } = await page.signIn(AMELIA)
  const query = new URLSearchParams({ token: String(json.sessionToken), redirectUrl: TARGET })
  const url = `${harness.gatehouse.url}/login/sessionCookieRedirect?${query}`
  const { location = '' } = await navigate(page.browser, url)
  const { status, headers } = await fetch(location, { redirect: 'manual' })
  return { page, status, location: headers.get('location') ?? undefined }
}

async function signInTwice() {
  const page = await openPage(harness)
  await page.signIn(BEA)
  await page.verify('token:software:totp', { passCode: harness.sandbox.totpCode(BEA) })
  expect(page.held.json.status).toBe('SUCCESS')
  return (await page.signIn(BEA)).json.status
}

function use(settings: object): void {
  Object.assign(harness.sandbox.settings, settings)
}

/** Okta's own sign-in page. */
const AT_OKTA = { status: 200, location: undefined }

describe('on Identity Engine', () => {
  beforeEach(() => use({ pipeline: 'idx' }))

  test('a sign-in with audience is refused with Okta’s error', async () => {
    const page = await openPage(harness)
    expect(errorOf(await page.signIn(AMELIA, { audience: 'payroll' }))).toEqual([400, 'E0000001'])
    expect(await page.session()).toBeUndefined()
  })

  test('without it, a known device is asked for a code each time', async () => {
    use({ globalSessionPolicy: false })
    expect(await signInTwice()).toBe('MFA_REQUIRED')
  })

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

  test('in an org that redeems no session tokens, the user has a session here, and must sign in at Okta', async () => {
    use({ redeemsSessionTokens: false })
    const { page, ...response } = await followSsoToken()
    expect(response).toEqual(AT_OKTA)
    expect(await page.session()).toMatchObject({ login: AMELIA })
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
