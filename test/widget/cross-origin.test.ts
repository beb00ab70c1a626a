import { describe, expect, test } from '@jest/globals'
import { AMELIA, PASSWORD, PRIYA, TOMAS } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { DUO_CALLBACK, signInToDuo, useWidgets } from '../support/widgets.ts'

const REGGIE = 'reggie.required@example.test'

const VERIFY = 'POST /api/v1/authn/factors/:id/verify'

const widgets = useWidgets('on another origin of the same site')

/**
 * Every method, kind of answer and use of a cookie that a browser treats differently between two
 * origins.
 */
describe('the widget, its page on another origin of the same site', () => {
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
