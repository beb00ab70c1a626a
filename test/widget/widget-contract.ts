import { describe, expect, test } from '@jest/globals'
import { AMELIA, PASSWORD, PRIYA, TOMAS } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { DUO_ORIGIN } from '../support/widget-site.ts'
import { type PageOrigin, useWidgets, type Widgets } from '../support/widgets.ts'

const DARIO = 'dario.duo@example.test'
const REGGIE = 'reggie.required@example.test'
const ERIN = 'erin.enroll@example.test'
const SELF_SERVICE = { selfServiceUnlock: true, smsRecovery: true }

const VERIFY = 'POST /api/v1/authn/factors/:id/verify'

/**
 * What the sign-in widget does with the broker, unchanged but for its address, on each origin that its page may have:
 * every method, kind of answer and use of a cookie that a browser treats differently between two origins.
 */
export function widgetContract(origin: PageOrigin): Widgets {
  const widgets = useWidgets(origin)

  describe(`the widget, its page ${origin}`, () => {
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

    test('waits for a push until it is answered', async () => {
      const widget = await widgets.open()
      await widget.signIn(PRIYA, PASSWORD)
      await widget.click(widget.form(/Okta Verify/).getByRole('button', { name: 'Send Push' }))
      await until(() => widgets.harness.sandbox.hasPendingPush(PRIYA))
      widgets.harness.sandbox.answerPush(PRIYA, 'approve')
      expect(await widget.done()).toMatchObject({ user: PRIYA })
      expect(await widgets.whoIsSignedIn()).toMatchObject({ login: PRIYA })
    })

    test('posts Duo’s signed response, which needs the device cookie: only on the broker’s origin', async () => {
      await widgets.page.route(`${DUO_ORIGIN}/**`, async (route) => {
        const [signed] = widgets.harness.sandbox.duoResponse(DARIO).split(':')
        const body = `<script>parent.postMessage(${JSON.stringify(signed)}, '*')</script>`
        await route.fulfill({ contentType: 'text/html', body })
      })
      const widget = await widgets.open()
      await widget.signIn(DARIO, PASSWORD)
      const callback = 'POST /api/v1/authn/factors/:id/lifecycle/duoCallback'
      if (!widgets.isSameOrigin) {
        await until(() => widget.calls().includes(`${callback} 401`), { what: 'a refused form' })
        return
      }
      expect(await widget.done()).toMatchObject({ user: DARIO })
      expect(await widgets.whoIsSignedIn()).toMatchObject({ login: DARIO })
      expect(widget.calls()).toEqual([
        'POST /api/v1/authn 200',
        `${VERIFY} 200`,
        `${callback} 200`,
        `${VERIFY} 200`,
      ])
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

    // these send no other kind of request between two origins
    if (!widgets.isSameOrigin) return

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
      await until(() => widget.calls().includes(`${VERIFY} 401`), { what: 'a refused code' }) // the first form may still be sliding away
      await widget.form(/^Sign In$/).waitFor()
      expect(widget.calls()).toEqual(['POST /api/v1/authn 200', `${VERIFY} 401`])
      await widget.signIn(AMELIA, PASSWORD)
      expect(await widget.done()).toMatchObject({ user: AMELIA })
    })

    test('returns from a factor to sign-in and signs in another user', async () => {
      const widget = await widgets.open()
      await widget.signIn(TOMAS, PASSWORD)
      await widget.form(/Google Authenticator/).waitFor()
      await widget.click(widget.page.getByRole('link', { name: 'Back to sign in' }))
      await widget.signIn(AMELIA, PASSWORD)
      expect(await widget.done()).toMatchObject({ user: AMELIA })
      expect(widget.calls()).toEqual([
        'POST /api/v1/authn 200',
        'POST /api/v1/authn/cancel 200',
        'POST /api/v1/authn 200',
      ])
    })

    test('shows that a handle has expired when it starts with one, and shows sign-in', async () => {
      const widget = await widgets.open({ stateToken: `00${'x'.repeat(43)}` })
      await widget.form(/^Sign In$/).waitFor()
      expect(widget.calls()).toEqual(['POST /api/v1/authn/introspect 401'])
    })
  })
  return widgets
}
