import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { freePort } from '../support/gatehouse.ts'
import { AMELIA, type House, OLGA, PASSWORD, PRIYA, startHouse, TOMAS, WALTER } from '../support/house.ts'
import { limitIsOver } from '../support/limit-is-over.ts'
import { until } from '../support/until.ts'
import { openWidget, type Widget } from '../support/widget.ts'
import { DUO_ORIGIN, startWidgetSite, type WidgetOptions, type WidgetSite } from '../support/widget-site.ts'

const QUENTIN = 'quentin.query@example.test'
const SANA = 'sana.sms@example.test'
const PABLO = 'pablo.password@example.test'
const DARIO = 'dario.duo@example.test'
const REGGIE = 'reggie.required@example.test'
const ERIN = 'erin.enrol@example.test'
const LUIS = 'luis.locked@example.test'
const LENA = 'lena.locked@example.test'
const SELF_SERVICE = { selfServiceUnlock: true, smsRecovery: true }

const VERIFY = 'POST /api/v1/authn/factors/:id/verify'

/** What the vendor's widget does with the broker, unchanged but for its address, wherever its page lies. */
export function widgetContract(
  pageLies: 'on the broker’s origin' | 'on another origin of the same site',
): void {
  let house: House
  let brokerSite: WidgetSite
  let pageSite: WidgetSite
  let chromium: Browser
  let opened: Widget[] = []

  const stops: (() => Promise<void>)[] = []

  beforeAll(async () => {
    let broker = ''
    brokerSite = await startWidgetSite({ port: await freePort(), broker: () => broker })
    stops.unshift(brokerSite.stop)
    const isSameOrigin = pageLies === 'on the broker’s origin'
    pageSite = isSameOrigin ? brokerSite : await startWidgetSite({ port: await freePort() })
    if (!isSameOrigin) stops.unshift(pageSite.stop)
    const allowed: Record<string, string> = isSameOrigin ? {} : { ALLOWED_ORIGINS: pageSite.url }
    const signInPage = { STEP_UP: 'on', SIGN_IN_URL: `${pageSite.url}/portal/` }
    house = await startHouse({ env: { PUBLIC_URL: brokerSite.url, ...allowed, ...signInPage } })
    stops.unshift(house.stop)
    broker = house.gatehouse.url
    chromium = await openChromium()
    stops.unshift(() => chromium.close())
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
  })
  beforeEach(() => {
    house.sandbox.reset()
    opened = []
  })
  afterEach(async () => {
    for (const widget of opened) expect(await widget.complaints()).toEqual([])
    for (const { context } of opened) await context.close()
  })

  const open = async (options: WidgetOptions = {}, context?: Widget['context']) => {
    const widget = await openWidget({
      chromium,
      pageUrl: pageSite.url,
      baseUrl: brokerSite.url,
      options,
      ...(context === undefined ? {} : { context }),
    })
    opened.push(widget)
    return widget
  }

  const chooseFactor = (widget: Widget, name: string) =>
    widget
      .form(/^Set up/)
      .getByRole('listitem')
      .filter({ has: widget.page.getByRole('heading', { name, exact: true }) })
      .getByText(/Set ?up/)
      .click()
  const codeSentTo = (login: string) =>
    until(() => house.sandbox.outbox.latest(login)?.code ?? '', { what: `a code for ${login}` })

  /** As the page would ask it, with the browser's own cookies. */
  const whoIsSignedIn = async (widget: Widget) =>
    (await widget.context.request.get(`${brokerSite.url}/api/v1/sessions/me`)).json()

  describe(`the widget, its page ${pageLies}`, () => {
    test('says what a wrong password is, and signs in with the right one', async () => {
      const widget = await open()
      await widget.signIn(AMELIA, 'not-the-password')
      await widget
        .form(/^Sign In$/)
        .getByText('Unable to sign in')
        .waitFor()
      await widget.signIn(AMELIA, PASSWORD)
      expect(await widget.done()).toMatchObject({ user: AMELIA })
      expect(await whoIsSignedIn(widget)).toMatchObject({ login: AMELIA })
      expect(widget.calls()).toEqual(['POST /api/v1/authn 401', 'POST /api/v1/authn 200'])
    })

    test('asks for a code of the app again when it was wrong', async () => {
      const widget = await open()
      await widget.signIn(TOMAS, PASSWORD)
      const asked = widget.form(/Google Authenticator/)
      await widget.fill(asked, { answer: '000000' })
      await widget.send(asked, 'Verify')
      await asked.getByText("doesn't match our records").waitFor()
      await widget.fill(asked, { answer: house.sandbox.totpCode(TOMAS) })
      await widget.send(asked, 'Verify')
      expect(await widget.done()).toMatchObject({ user: TOMAS })
      expect(widget.calls()).toEqual(['POST /api/v1/authn 200', `${VERIFY} 403`, `${VERIFY} 200`])
    })

    test('waits for a push until somebody answers it', async () => {
      const widget = await open()
      await widget.signIn(PRIYA, PASSWORD)
      await widget
        .form(/Okta Verify/)
        .getByRole('button', { name: 'Send Push' })
        .click()
      await until(() => house.sandbox.pushIsWaiting(PRIYA))
      house.sandbox.answerPush(PRIYA, 'approve')
      expect(await widget.done()).toMatchObject({ user: PRIYA })
      expect(await whoIsSignedIn(widget)).toMatchObject({ login: PRIYA })
    })

    test('says that a push was rejected', async () => {
      const widget = await open()
      await widget.signIn(PRIYA, PASSWORD)
      const asked = widget.form(/Okta Verify/)
      await asked.getByRole('button', { name: 'Send Push' }).click()
      await until(() => house.sandbox.pushIsWaiting(PRIYA))
      house.sandbox.answerPush(PRIYA, 'reject')
      await asked.getByText('You have chosen to reject this login').waitFor()
    })

    test('sends a code by text message and takes it', async () => {
      const widget = await open()
      await widget.signIn(SANA, PASSWORD)
      const asked = widget.form(/SMS Authentication/)
      await asked.getByRole('link', { name: 'Send code' }).click()
      await widget.fill(asked, { answer: await codeSentTo(SANA) })
      await widget.send(asked, 'Verify')
      expect(await widget.done()).toMatchObject({ user: SANA })
    })

    test('asks a security question', async () => {
      const widget = await open()
      await widget.signIn(QUENTIN, PASSWORD)
      const asked = widget.form(/Security Question/)
      await widget.fill(asked, { answer: 'not this' })
      await widget.send(asked, 'Verify')
      await asked.getByText("doesn't match our records").waitFor()
      await widget.fill(asked, { answer: 'lighthouse' })
      await widget.send(asked, 'Verify')
      expect(await widget.done()).toMatchObject({ user: QUENTIN })
    })

    test('asks for the password once more, as a factor', async () => {
      const widget = await open()
      await widget.signIn(PABLO, PASSWORD)
      const asked = widget.form(/Password/)
      await widget.fill(asked, { password: 'Not-The-Password-1' })
      await widget.send(asked, 'Verify')
      await asked.getByText('The password is incorrect').waitFor()
      await widget.fill(asked, { password: PASSWORD })
      await widget.send(asked, 'Verify')
      expect(await widget.done()).toMatchObject({ user: PABLO })
    })

    test('posts what the frame of Duo signed, which takes the device cookie: from the broker’s origin alone', async () => {
      const context = await chromium.newContext()
      await context.route(`${DUO_ORIGIN}/**`, async (route) => {
        const [signed] = house.sandbox.duoResponse(DARIO).split(':')
        const body = `<script>parent.postMessage(${JSON.stringify(signed)}, '*')</script>`
        await route.fulfill({ contentType: 'text/html', body })
      })
      const widget = await open({}, context)
      await widget.signIn(DARIO, PASSWORD)
      const callback = 'POST /api/v1/authn/factors/:id/lifecycle/duoCallback'
      if (pageSite !== brokerSite) {
        await until(() => widget.calls().includes(`${callback} 401`), { what: 'a refused form' })
        return
      }
      expect(await widget.done()).toMatchObject({ user: DARIO })
      expect(await whoIsSignedIn(widget)).toMatchObject({ login: DARIO })
      expect(widget.calls()).toEqual([
        'POST /api/v1/authn 200',
        `${VERIFY} 200`,
        `${callback} 200`,
        `${VERIFY} 200`,
      ])
    })

    test('sends a code to a phone number that the org called invalid, at the second try', async () => {
      const widget = await open()
      await widget.signIn(ERIN, PASSWORD)
      await chooseFactor(widget, 'SMS Authentication')
      const asked = widget.form(/SMS/)
      await widget.fill(asked, { phoneNumber: '5550100000' })
      const send = asked.getByRole('link', { name: 'Send code' })
      await send.click()
      await asked.getByText('If the number is correct, please try again').waitFor()
      expect(house.sandbox.outbox.messages).toEqual([])
      await send.click()
      await until(() => house.sandbox.outbox.messages.some(({ to }) => to === '+15550100000'))
    })

    test('warns of a password that expires, and skips the warning', async () => {
      const widget = await open()
      await widget.signIn(WALTER, PASSWORD)
      await widget.form(/Your password will expire in 5 days/).waitFor()
      await widget.page.getByRole('link', { name: 'Remind me later' }).click()
      expect(await widget.done()).toMatchObject({ user: WALTER })
      expect(widget.calls()).toEqual(['POST /api/v1/authn 200', 'POST /api/v1/authn/skip 200'])
    })

    test('changes an expired password, once it is good enough', async () => {
      const widget = await open()
      await widget.signIn(OLGA, PASSWORD)
      const asked = widget.form(/Your password has expired/)
      const choose = async (password: string) => {
        await widget.fill(asked, { oldPassword: PASSWORD, newPassword: password, confirmPassword: password })
        await widget.send(asked, 'Change Password')
      }
      await choose('short')
      await asked.getByRole('alert').getByText('at least 8 characters').waitFor()
      await choose('Another-Password-2')
      expect(await widget.done()).toMatchObject({ user: OLGA })
    })

    test('sets up an authenticator app with the picture to scan', async () => {
      const widget = await open()
      await widget.signIn(REGGIE, PASSWORD)
      await widget
        .form(/^Set up/)
        .getByRole('button', { name: 'Configure factor' })
        .click()
      const chosen = widget.form(/Setup Google Authenticator/)
      await chosen.getByText('iPhone').click()
      await chosen.getByRole('link', { name: 'Next' }).click()
      await chosen.getByRole('img', { name: 'QR code' }).waitFor()
      await until(() => widget.page.evaluate('document.querySelector("img.qrcode-image").naturalWidth > 0'), {
        what: 'the picture',
      })
      await chosen.getByRole('button', { name: 'Next' }).click()
      await widget.fill(chosen, { passCode: house.sandbox.totpCode(REGGIE) })
      await widget.send(chosen, 'Verify')
      expect(await widget.done()).toMatchObject({ user: REGGIE })
      expect(widget.calls()).toEqual([
        'POST /api/v1/authn 200',
        'POST /api/v1/authn/factors 200',
        'GET /api/v1/users/:uid/factors/:id/qr/:token 200',
        'POST /api/v1/authn/factors/:id/lifecycle/activate 200',
      ])
    })

    test('sets up a security question from the list', async () => {
      const widget = await open()
      await widget.signIn(ERIN, PASSWORD)
      await chooseFactor(widget, 'Security Question')
      const asked = widget.form(/secret question/i)
      await widget.fill(asked, { answer: 'lighthouse' })
      await widget.send(asked, 'Save')
      expect(await widget.done()).toMatchObject({ user: ERIN })
    })

    test('sets up a phone for text messages', async () => {
      const widget = await open()
      await widget.signIn(ERIN, PASSWORD)
      await chooseFactor(widget, 'SMS Authentication')
      const asked = widget.form(/Receive a code via SMS/)
      await widget.fill(asked, { phoneNumber: '5550100099' })
      await asked.getByRole('link', { name: 'Send code' }).click()
      await widget.fill(asked, { passCode: await codeSentTo(ERIN) })
      await widget.send(asked, 'Verify')
      expect(await widget.done()).toMatchObject({ user: ERIN })
    })

    test('starts a forgotten password by mail, and goes back to sign-in', async () => {
      const widget = await open({ features: SELF_SERVICE })
      await widget.page.getByText('Need help signing in?').click()
      await widget.page.getByRole('link', { name: 'Forgot password?' }).click()
      const asked = widget.form(/Reset Password/)
      await widget.fill(asked, { username: AMELIA })
      await asked.getByRole('link', { name: 'Reset via Email' }).click()
      await widget.form(/Email sent/).waitFor()
      expect(house.sandbox.outbox.latest(AMELIA)?.purpose).toBe('recovery')
      await widget.done('FORGOT_PASSWORD_EMAIL_SENT')
      await widget
        .form(/Email sent/)
        .getByRole('link', { name: 'Back to sign in' })
        .click()
      await widget.signIn(AMELIA, PASSWORD)
      expect(await widget.done()).toMatchObject({ user: AMELIA })
    })

    test('resets a forgotten password by text message', async () => {
      const widget = await open({ features: SELF_SERVICE })
      await widget.page.getByText('Need help signing in?').click()
      await widget.page.getByRole('link', { name: 'Forgot password?' }).click()
      const asked = widget.form(/Reset Password/)
      await widget.fill(asked, { username: AMELIA })
      await asked.getByRole('link', { name: 'Reset via SMS' }).click()
      const code = widget.form(/verification code/i)
      await widget.fill(code, { passCode: await codeSentTo(AMELIA) })
      await widget.send(code, 'Verify')
      const question = widget.form(/Answer Forgotten Password Challenge/)
      await widget.fill(question, { answer: 'gatehouse' })
      await widget.send(question, 'Reset Password')
      const chosen = widget.form(/Reset your password/)
      await widget.fill(chosen, { newPassword: 'Another-Password-2', confirmPassword: 'Another-Password-2' })
      await widget.send(chosen, 'Reset Password')
      expect(await widget.done()).toMatchObject({ user: AMELIA })
    })

    test('unlocks an account by text message', async () => {
      const widget = await open({ features: SELF_SERVICE })
      await widget.signIn(LUIS, PASSWORD)
      const asked = widget.form(/Unlock account/)
      await widget.fill(asked, { username: LUIS })
      await asked.getByRole('link', { name: 'Send SMS' }).click()
      const code = widget.form(/verification code/i)
      await widget.fill(code, { passCode: await codeSentTo(LUIS) })
      await widget.send(code, 'Verify')
      const question = widget.form(/Answer Unlock Account Challenge/)
      await widget.fill(question, { answer: 'gatehouse' })
      await widget.send(question, 'Unlock')
      await widget.form(/unlocked/).waitFor()
    })

    test('unlocks by mail', async () => {
      const widget = await open({ features: SELF_SERVICE })
      await widget.page.getByText('Need help signing in?').click()
      await widget.page.getByRole('link', { name: 'Unlock account?' }).click()
      const asked = widget.form(/Unlock account/)
      await widget.fill(asked, { username: LUIS })
      await asked.getByRole('link', { name: 'Send Email' }).click()
      await widget.form(/Email sent/).waitFor()
    })

    test('says no more of a locked account than of a wrong password, where the policy hides it', async () => {
      const widget = await open()
      await widget.signIn(LENA, PASSWORD)
      await widget
        .form(/^Sign In$/)
        .getByText('Unable to sign in')
        .waitFor()
      expect(widget.calls()).toEqual(['POST /api/v1/authn 401'])
    })

    test('says that an account is locked, where the policy shows it', async () => {
      const widget = await open()
      await widget.signIn(LUIS, PASSWORD)
      await widget
        .form(/^Sign In$/)
        .getByText('Your account is locked')
        .waitFor()
      expect(widget.calls()).toEqual(['POST /api/v1/authn 200'])
    })

    test('says that there were too many requests, and signs in once there are fewer', async () => {
      const widget = await open()
      house.sandbox.faults.authn.set({ kind: 'rate-limited', path: '/api/v1/authn', times: 1 })
      await widget.signIn(AMELIA, PASSWORD)
      await widget
        .form(/^Sign In$/)
        .getByText('You exceeded the maximum number of requests')
        .waitFor()
      expect(await widget.reports()).toEqual([{ kind: 'error', code: 'E0000047' }])
      await limitIsOver(house)
      await widget.send(widget.form(/^Sign In$/), 'Sign In')
      expect(await widget.done()).toMatchObject({ user: AMELIA })
    })

    test('begins anew when the transaction has expired', async () => {
      const widget = await open()
      await widget.signIn(TOMAS, PASSWORD)
      const asked = widget.form(/Google Authenticator/)
      await widget.fill(asked, { answer: house.sandbox.totpCode(TOMAS) })
      house.sandbox.expireTransactions()
      await widget.send(asked, 'Verify')
      await widget.form(/^Sign In$/).waitFor()
      expect(widget.calls()).toEqual(['POST /api/v1/authn 200', `${VERIFY} 401`])
      await widget.signIn(AMELIA, PASSWORD)
      expect(await widget.done()).toMatchObject({ user: AMELIA })
    })

    test('goes back to sign-in from a factor, and signs somebody else in', async () => {
      const widget = await open()
      await widget.signIn(TOMAS, PASSWORD)
      await widget.form(/Google Authenticator/).waitFor()
      await widget.page.getByRole('link', { name: 'Back to sign in' }).click()
      await widget.signIn(AMELIA, PASSWORD)
      expect(await widget.done()).toMatchObject({ user: AMELIA })
      expect(widget.calls()).toEqual([
        'POST /api/v1/authn 200',
        'POST /api/v1/authn/cancel 200',
        'POST /api/v1/authn 200',
      ])
    })

    test('goes on from a handle that the page got elsewhere, as after a step-up', async () => {
      const context = await chromium.newContext()
      const begun = await context.request.post(`${brokerSite.url}/api/v1/authn`, {
        headers: { origin: pageSite.url },
        data: { username: TOMAS, password: PASSWORD },
      })
      const { stateToken } = (await begun.json()) as { stateToken: string }
      expect(stateToken).toMatch(/^00/)
      const widget = await open({ stateToken }, context)
      const asked = widget.form(/Google Authenticator/)
      await widget.fill(asked, { answer: house.sandbox.totpCode(TOMAS) })
      await widget.send(asked, 'Verify')
      expect(await widget.done()).toMatchObject({ user: TOMAS })
      expect(widget.calls()).toEqual(['POST /api/v1/authn/introspect 200', `${VERIFY} 200`])
    })

    test('goes on from the handle of a step-up that an app began', async () => {
      const context = await chromium.newContext()
      const { stateToken: real } = house.sandbox.startStepUp('payroll', TOMAS, brokerSite.url)
      const arrival = await context.newPage()
      await arrival.goto(`${brokerSite.url}/signin/step-up?stateToken=${real}`)
      expect(arrival.url().startsWith(`${pageSite.url}/portal/?stateToken=00`)).toBe(true)
      const stateToken = new URL(arrival.url()).searchParams.get('stateToken') ?? ''
      await arrival.close()
      const widget = await open({ stateToken }, context)
      const asked = widget.form(/Google Authenticator/)
      await widget.fill(asked, { answer: house.sandbox.totpCode(TOMAS) })
      await widget.send(asked, 'Verify')
      expect(await widget.done()).toMatchObject({ user: TOMAS, type: 'SESSION_STEP_UP' })
      expect(widget.calls()).toEqual(['POST /api/v1/authn/introspect 200', `${VERIFY} 200`])
    })

    test('says that a handle is over when it starts with one, and shows sign-in', async () => {
      const widget = await open({ stateToken: `00${'x'.repeat(43)}` })
      await widget.form(/^Sign In$/).waitFor()
      expect(widget.calls()).toEqual(['POST /api/v1/authn/introspect 401'])
    })
  })
}
