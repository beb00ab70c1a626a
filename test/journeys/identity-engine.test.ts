import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { AMELIA, type Harness, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf, factorAt, valueAt } from '../support/transaction-view.ts'

/** Sign-ins, recovery and enrollment on Classic Engine and Identity Engine (docs/identity-engine.md). */

const BEA = 'bea.newdevice@example.test'
const ERIN = 'erin.enroll@example.test'
const WANDA = 'wanda.key@example.test'
const TARGET = 'http://localhost:3000/home'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    env: { SSO_REDIRECTS: TARGET },
    tunables: (tunables) => ({ ...tunables, recovery: { ...tunables.recovery, resendAfterMs: 1 } }),
  })
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

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
  return { page, status, location: headers.get('location') }
}

async function signInTwice() {
  const page = await openPage(harness)
  await page.signIn(BEA)
  await page.verify('token:software:totp', { passCode: harness.sandbox.totpCode(BEA) })
  expect(page.held.json.status).toBe('SUCCESS')
  return (await page.signIn(BEA)).json.status
}

describe.each(['v1', 'idx'] as const)('on pipeline %s', (pipeline) => {
  beforeEach(() => void Object.assign(harness.sandbox.settings, { pipeline }))

  test('a password opens a session', async () => {
    const page = await openPage(harness)
    expect((await page.signIn(AMELIA)).json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: AMELIA, amr: ['pwd'] })
  })

  test('a code of an authenticator app opens a session', async () => {
    const page = await openPage(harness)
    await page.signIn(TOMAS)
    expect(errorOf(await page.verify('token:software:totp', { passCode: '000000' }))).toEqual([
      403,
      'E0000068',
    ])
    await page.verify('token:software:totp', { passCode: harness.sandbox.totpCode(TOMAS) })
    expect(await page.session()).toMatchObject({ login: TOMAS, amr: ['pwd', 'otp', 'mfa'] })
  })

  test('an approved push opens a session', async () => {
    const page = await openPage(harness)
    await page.signIn(PRIYA)
    expect((await page.verify('push')).json.factorResult).toBe('WAITING')
    harness.sandbox.answerPush(PRIYA, 'approve')
    await page.follow('_links.next')
    expect(await page.session()).toMatchObject({ login: PRIYA, amr: ['pwd', 'swk', 'mfa'] })
  })

  test('a security key opens a session', async () => {
    const page = await openPage(harness)
    await page.signIn(WANDA)
    const challenged = await page.verify('webauthn')
    const challenge = String(valueAt(challenged.json, '_embedded.factor._embedded.challenge.challenge'))
    const signed = harness.sandbox.authenticator(WANDA).signWebauthn(challenge, harness.gatehouse.url)
    await page.follow('_links.next', signed)
    expect(await page.session()).toMatchObject({ login: WANDA, amr: ['pwd', 'hwk', 'mfa'] })
  })

  test('a text message recovers a forgotten password', async () => {
    const { page, answer } = await recoverByText()
    expect(answer.json.status).toBe('RECOVERY')
    expect((await page.follow('_links.next', { answer: 'gatehouse' })).json.status).toBe('PASSWORD_RESET')
    await page.follow('_links.next', { newPassword: 'Chosen-Word-3' })
    expect(await page.session()).toMatchObject({ login: AMELIA })
  })

  test('a question is enrolled and asked at the next sign-in', async () => {
    const page = await openPage(harness)
    expect((await page.signIn(ERIN)).json.status).toBe('MFA_ENROLL')
    const profile = { question: 'favorite_toy', answer: 'a spinning top' }
    const link = `${factorAt(page.held, 'question', 'OKTA')}._links.enroll`
    await page.follow(link, { factorType: 'question', provider: 'OKTA', profile })
    expect(await page.session()).toMatchObject({ login: ERIN })
    const again = await openPage(harness)
    expect((await again.signIn(ERIN)).json.status).toBe('MFA_REQUIRED')
  })

  test('a known device is not asked for a code again', async () => {
    expect(await signInTwice()).toBe('SUCCESS')
  })

  test('an SSO token opens a session at Okta', async () => {
    expect(await followSsoToken()).toMatchObject({ status: 302, location: TARGET })
  })
})

describe('on Identity Engine', () => {
  const use = (settings: object) => Object.assign(harness.sandbox.settings, { pipeline: 'idx', ...settings })

  test('a sign-in with audience is refused with Okta’s error', async () => {
    use({})
    const page = await openPage(harness)
    expect(errorOf(await page.signIn(AMELIA, { audience: 'payroll' }))).toEqual([400, 'E0000001'])
    expect(await page.session()).toBeUndefined()
  })

  test('without a global session policy, a known device is asked for a code each time', async () => {
    use({ globalSessionPolicy: false })
    expect(await signInTwice()).toBe('MFA_REQUIRED')
  })

  test('a denied recovery is answered like that of an unknown user, and no code is sent or accepted', async () => {
    use({ classicRecovery: false })
    const { page, code, answer } = await recoverByText()
    expect(code).toBeUndefined()
    expect(errorOf(answer)).toEqual([403, 'E0000068'])
    expect(page.held.json.status).toBe('RECOVERY_CHALLENGE')
  })

  test('in an org that redeems no session tokens, only the session at Okta is missing', async () => {
    use({ redeemsSessionTokens: false })
    const { page, status } = await followSsoToken()
    expect(status).toBe(401)
    expect(await page.session()).toMatchObject({ login: AMELIA })
  })
})
