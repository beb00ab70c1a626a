import { describe, expect, test } from '@jest/globals'
import { openChromium } from '../support/chromium.ts'
import { useFixture } from '../support/fixture.ts'
import { AMELIA, PASSWORD, PRIYA, TOMAS, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { DARIO, DUO_CALLBACK, signInToDuo, useWidgets } from '../support/widgets.ts'

const ERIN = 'erin.enroll@example.test'
const REGGIE = 'reggie.required@example.test'
const SELF_SERVICE = { selfServiceUnlock: true, smsRecovery: true }

const VERIFY = 'POST /api/v1/authn/factors/:id/verify'

const chromium = useFixture({
  start: async () => ({ browser: await openChromium() }),
  stop: ({ browser }) => browser.close(),
})

/**
 * Every method, kind of answer and use of a cookie that a browser treats differently between two
 * origins.
 */
describe('the widget, its page on another origin of the same site', () => {
  const widgets = useWidgets('on another origin of the same site', () => chromium.browser)

  // shows: F-5.1, F-5.4, F-5.7
  test('shows an error for a wrong password and signs in with the correct one', async () => {
    const widget = await widgets.open()
    await widget.signIn(AMELIA, 'not-the-password')
    await widget
      .form(/^Sign In$/)
      .getByText('Unable to sign in')
      .waitFor()
    await widget.signIn(AMELIA, PASSWORD)
    expect(await widget.done()).toMatchObject({ user: AMELIA })
    expect(await widgets.whoIsSignedIn()).toMatchObject({ login: AMELIA })
    expect(widget.calls()).toEqual(['POST /api/v1/authn 401', 'POST /api/v1/authn 200'])
  })

  // shows: F-5.2
  test('asks for the app’s code again after a wrong one', async () => {
    const widget = await widgets.open()
    await widget.signIn(TOMAS, PASSWORD)
    const asked = widget.form(/Google Authenticator/)
    await widget.fill(asked, { answer: '000000' })
    await widget.send(asked, 'Verify')
    await asked.getByText("doesn't match our records").waitFor()
    await widget.fill(asked, { answer: widgets.harness.sandbox.totpCode(TOMAS) })
    await widget.send(asked, 'Verify')
    expect(await widget.done()).toMatchObject({ user: TOMAS })
    expect(widget.calls()).toEqual(['POST /api/v1/authn 200', `${VERIFY} 403`, `${VERIFY} 200`])
  })

  // shows: F-5.2
  test('waits for a push until it is answered', async () => {
    const widget = await widgets.open()
    await widget.signIn(PRIYA, PASSWORD)
    await widget.click(widget.form(/Okta Verify/).getByRole('button', { name: 'Send Push' }))
    await until(() => widgets.harness.sandbox.hasPendingPush(PRIYA))
    widgets.harness.sandbox.answerPush(PRIYA, 'approve')
    expect(await widget.done()).toMatchObject({ user: PRIYA })
    expect(await widgets.whoIsSignedIn()).toMatchObject({ login: PRIYA })
  })

  test('posts Duo’s signed response without the device cookie, and is refused', async () => {
    const widget = await signInToDuo(widgets)
    await until(() => widget.calls().includes(`${DUO_CALLBACK} 401`), { what: 'a refused form' })
  })

  test('enrolls an authenticator app with the QR code', async () => {
    const widget = await widgets.open()
    await widget.signIn(REGGIE, PASSWORD)
    await widget.click(widget.form(/^Set up/).getByRole('button', { name: 'Configure factor' }))
    const chosen = widget.form(/Setup Google Authenticator/)
    await widget.click(chosen.getByText('iPhone'))
    await widget.click(chosen.getByRole('link', { name: 'Next' }))
    await chosen.getByRole('img', { name: 'QR code' }).waitFor()
    await until(() => widget.page.evaluate('document.querySelector("img.qrcode-image").naturalWidth > 0'), {
      what: 'the picture',
    })
    await widget.click(chosen.getByRole('button', { name: 'Next' }))
    await widget.fill(chosen, { passCode: widgets.harness.sandbox.totpCode(REGGIE) })
    await widget.send(chosen, 'Verify')
    expect(await widget.done()).toMatchObject({ user: REGGIE })
    expect(widget.calls()).toEqual([
      'POST /api/v1/authn 200',
      'POST /api/v1/authn/factors 200',
      'GET /api/v1/users/:uid/factors/:id/qr/:token 200',
      'POST /api/v1/authn/factors/:id/lifecycle/activate 200',
    ])
  })

  // shows: F-5.6
  test('continues from a handle that the page received, as after a step-up', async () => {
    const begun = await widgets.page.context().request.post(`${widgets.brokerUrl}/api/v1/authn`, {
      headers: { origin: widgets.pageUrl },
      data: { username: TOMAS, password: PASSWORD },
    })
    const { stateToken } = (await begun.json()) as { stateToken: string }
    expect(stateToken).toMatch(/^00/)
    const widget = await widgets.open({ stateToken })
    const asked = widget.form(/Google Authenticator/)
    await widget.fill(asked, { answer: widgets.harness.sandbox.totpCode(TOMAS) })
    await widget.send(asked, 'Verify')
    expect(await widget.done()).toMatchObject({ user: TOMAS })
    expect(widget.calls()).toEqual(['POST /api/v1/authn/introspect 200', `${VERIFY} 200`])
  })
})

/**
 * The screens that send no further kind of cross-origin request, and what a cross-origin page
 * cannot do.
 */
describe('the widget, its page on the broker’s origin', () => {
  const widgets = useWidgets('on the broker’s origin', () => chromium.browser)

  test('posts Duo’s signed response, which needs the device cookie', async () => {
    const widget = await signInToDuo(widgets)
    expect(await widget.done()).toMatchObject({ user: DARIO })
    expect(await widgets.whoIsSignedIn()).toMatchObject({ login: DARIO })
    const calls = ['POST /api/v1/authn 200', `${VERIFY} 200`, `${DUO_CALLBACK} 200`, `${VERIFY} 200`]
    expect(widget.calls()).toEqual(calls)
  })

  test('shows the prompts of an RSA token, and sends the new PIN and the next code', async () => {
    const login = 'rufus.newpin@example.test'
    const widget = await widgets.open()
    await widget.signIn(login, PASSWORD)
    const asked = widget.form(/RSA SecurID/)
    const enter = async (answer: string) => {
      await widget.fill(asked, { answer })
      await widget.send(asked, 'Verify')
    }
    await enter(widgets.harness.sandbox.totpCode(login))
    await asked.getByText('Enter a new PIN having from 4 to 8 digits:').waitFor()
    await enter('1357')
    await asked.getByText('Pin accepted, Wait for token to change').waitFor()
    await enter(`1357${widgets.harness.sandbox.totpCode(login)}`)
    expect(await widget.done()).toMatchObject({ user: login })
    expect(widget.calls()).toEqual(['POST /api/v1/authn 200', `${VERIFY} 409`, `${VERIFY} 200`])
  })

  test('offers the site that manages an expired password', async () => {
    const widget = await widgets.open({ features: { customExpiredPassword: true } })
    await widget.signIn('edith.elsewhere@example.test', PASSWORD)
    await widget
      .form(/password has expired/i)
      .getByText('Go to Company passwords')
      .waitFor()
    expect(widget.calls()).toEqual(['POST /api/v1/authn 200'])
  })

  // shows: F-5.3
  test('enrolls a security question from the list', async () => {
    const widget = await widgets.open()
    await widget.signIn(ERIN, PASSWORD)
    await widgets.chooseFactor(widget, 'Security Question')
    const asked = widget.form(/secret question/i)
    await widget.fill(asked, { answer: 'lighthouse' })
    await widget.send(asked, 'Save')
    expect(await widget.done()).toMatchObject({ user: ERIN })
  })

  test('resets a forgotten password by text message', async () => {
    const widget = await widgets.open({ features: SELF_SERVICE })
    await widget.click(widget.page.getByText('Need help signing in?'))
    await widget.click(widget.page.getByRole('link', { name: 'Forgot password?' }))
    const asked = widget.form(/Reset Password/)
    await widget.fill(asked, { username: AMELIA })
    await widget.click(asked.getByRole('link', { name: 'Reset via SMS' }))
    const code = widget.form(/verification code/i)
    await widget.fill(code, { passCode: await widgets.codeSentTo(AMELIA) })
    await widget.send(code, 'Verify')
    const question = widget.form(/Answer Forgotten Password Challenge/)
    await widget.fill(question, { answer: 'gatehouse' })
    await widget.send(question, 'Reset Password')
    const chosen = widget.form(/Reset your password/)
    await widget.fill(chosen, { newPassword: 'Another-Password-2', confirmPassword: 'Another-Password-2' })
    await widget.send(chosen, 'Reset Password')
    expect(await widget.done()).toMatchObject({ user: AMELIA })
  })

  test('starts again after the transaction has expired', async () => {
    const widget = await widgets.open()
    await widget.signIn(TOMAS, PASSWORD)
    const asked = widget.form(/Google Authenticator/)
    await widget.fill(asked, { answer: widgets.harness.sandbox.totpCode(TOMAS) })
    widgets.harness.sandbox.expireTransactions()
    await widget.send(asked, 'Verify')
    // the first form may still be sliding away
    await until(() => widget.calls().includes(`${VERIFY} 401`), { what: 'a refused code' })
    await widget.form(/^Sign In$/).waitFor()
    expect(widget.calls()).toEqual(['POST /api/v1/authn 200', `${VERIFY} 401`])
    await widget.signIn(AMELIA, PASSWORD)
    expect(await widget.done()).toMatchObject({ user: AMELIA })
  })

  // shows: F-5.2, F-5.3
  test('warns of an expiring password and can skip the warning', async () => {
    const widget = await widgets.open()
    await widget.signIn(WALTER, PASSWORD)
    await widget.form(/Your password will expire in 5 days/).waitFor()
    await widget.click(widget.page.getByRole('link', { name: 'Remind me later' }))
    expect(await widget.done()).toMatchObject({ user: WALTER })
    expect(widget.calls()).toEqual(['POST /api/v1/authn 200', 'POST /api/v1/authn/skip 200'])
  })

  /** What docs/porting-from-okta-auth-js.md says of each function. */
  test('a ported page with okta-auth-js: what works, and how the rest fails', async () => {
    const page = await chromium.browser.newPage()
    await page.clock.install()
    await page.route('**/ported/', (route) => route.fulfill({ contentType: 'text/html', body: '' }))
    await page.goto(`${widgets.brokerUrl}/ported/`)
    await page.addScriptTag({ path: 'node_modules/@okta/okta-auth-js/dist/okta-auth-js.min.js' })
    await page.evaluate(
      `void (window.auth = new OktaAuth({ issuer: '${widgets.brokerUrl}', clientId: '0oaportal' }))`,
    )
    /** The result as JSON, or the error's code or message. */
    const call = (code: string) =>
      page.evaluate(`Promise.resolve().then(() => auth.${code}).then(
        (value) => JSON.parse(JSON.stringify(value)),
        ({ errorCode = 'INTERNAL', message }) => errorCode === 'INTERNAL' ? message : errorCode,
      )`)
    const credentials = `{ username: '${AMELIA}', password: '${PASSWORD}'`
    const signedIn = await call(`signInWithCredentials(${credentials} })`)
    expect(signedIn).toMatchObject({ status: 'SUCCESS' })
    expect(signedIn).not.toHaveProperty('sessionToken')
    expect(await call('session.exists()')).toBe(true)
    expect(await call('session.get()')).toMatchObject({ status: 'ACTIVE', login: AMELIA })
    expect(await call('isAuthenticated()')).toBe(false)
    expect(await call('getUser()')).toBe('getUserInfo requires an access token object')
    expect(await call('token.getWithoutPrompt()')).toBe('E0000007')
    expect(await call('token.getWithRedirect()')).toBe('E0000007')
    expect(await call('idx.start()')).toBe('E0000007')
    expect(await call(`webfinger({ resource: 'acct:${AMELIA}' })`)).toBe('E0000007')
    const fingerprinted = call(`signInWithCredentials(${credentials}, sendFingerprint: true })`)
    await page.locator('iframe').waitFor({ state: 'attached' })
    await page.clock.fastForward(10_000)
    expect(await page.locator('iframe').count()).toBe(1)
    await page.clock.fastForward(5000)
    expect(await fingerprinted).toBe('Fingerprinting timed out')
    expect(await call('closeSession()')).toBe(true)
    expect(await call('session.exists()')).toBe(false)
    expect(await call(`signInWithCredentials(${credentials} })`)).toMatchObject({ status: 'SUCCESS' })
    await page.evaluate('void auth.signOut()')
    await page.waitForURL(`${widgets.brokerUrl}/`)
    expect((await page.context().request.get(`${widgets.brokerUrl}/api/v1/sessions/me`)).status()).toBe(404)
    await page.close()
  })
})
