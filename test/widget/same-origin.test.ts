import { describe, expect, test } from '@jest/globals'
import { AMELIA, OLGA, PASSWORD, PRIYA, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { widgetContract } from './widget-contract.ts'

const SANA = 'sana.sms@example.test'
const ERIN = 'erin.enroll@example.test'
const LUIS = 'luis.locked@example.test'
const CLEO = 'cleo.claims@example.test'
const SELF_SERVICE = { selfServiceUnlock: true, smsRecovery: true }

const widgets = widgetContract('on the broker’s origin')

/** These screens send no further kind of cross-origin request, so testing one origin is enough. */
describe('the widget’s other screens', () => {
  test('shows that a push was rejected', async () => {
    const widget = await widgets.open()
    await widget.signIn(PRIYA, PASSWORD)
    const asked = widget.form(/Okta Verify/)
    await widget.click(asked.getByRole('button', { name: 'Send Push' }))
    await until(() => widgets.harness.sandbox.hasPendingPush(PRIYA))
    widgets.harness.sandbox.answerPush(PRIYA, 'reject')
    await asked.getByText('You have chosen to reject this login').waitFor()
  })

  test('sends a code by text message and accepts it', async () => {
    const widget = await widgets.open()
    await widget.signIn(SANA, PASSWORD)
    const asked = widget.form(/SMS Authentication/)
    await widget.click(asked.getByRole('link', { name: 'Send code' }))
    await widget.fill(asked, { answer: await widgets.codeSentTo(SANA) })
    await widget.send(asked, 'Verify')
    expect(await widget.done()).toMatchObject({ user: SANA })
  })

  test('redirects the browser to another identity provider by the broker’s link', async () => {
    const opened: string[] = []
    await widgets.page.route('**/sso/idps/**', async (route) => {
      opened.push(route.request().url())
      await route.fulfill({ status: 204 }) // the page stays, and what it reported can be read
    })
    const widget = await widgets.open()
    await widget.signIn(CLEO, PASSWORD)
    await widget.click(widget.form(/Partner sign-in/).getByRole('button', { name: 'Verify' }))
    await until(() => opened.length > 0, { what: 'the redirect' })
    expect(opened[0]).toMatch(`${widgets.brokerUrl}/sso/idps/0oasandboxidp000001?stateToken=00`)
  })

  test('warns of an expiring password and can skip the warning', async () => {
    const widget = await widgets.open()
    await widget.signIn(WALTER, PASSWORD)
    await widget.form(/Your password will expire in 5 days/).waitFor()
    await widget.click(widget.page.getByRole('link', { name: 'Remind me later' }))
    expect(await widget.done()).toMatchObject({ user: WALTER })
    expect(widget.calls()).toEqual(['POST /api/v1/authn 200', 'POST /api/v1/authn/skip 200'])
  })

  test('changes an expired password once the new one meets the policy', async () => {
    const widget = await widgets.open()
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

  test('enrolls a phone for text messages', async () => {
    const widget = await widgets.open()
    await widget.signIn(ERIN, PASSWORD)
    await widgets.chooseFactor(widget, 'SMS Authentication')
    const asked = widget.form(/Receive a code via SMS/)
    await widget.fill(asked, { phoneNumber: '5550100099' })
    await widget.click(asked.getByRole('link', { name: 'Send code' }))
    await widget.fill(asked, { passCode: await widgets.codeSentTo(ERIN) })
    await widget.send(asked, 'Verify')
    expect(await widget.done()).toMatchObject({ user: ERIN })
  })

  test('starts a password recovery by email and returns to sign-in', async () => {
    const widget = await widgets.open({ features: SELF_SERVICE })
    await widget.click(widget.page.getByText('Need help signing in?'))
    await widget.click(widget.page.getByRole('link', { name: 'Forgot password?' }))
    const asked = widget.form(/Reset Password/)
    await widget.fill(asked, { username: AMELIA })
    await widget.click(asked.getByRole('link', { name: 'Reset via Email' }))
    await widget.form(/Email sent/).waitFor()
    expect(widgets.harness.sandbox.outbox.latest(AMELIA)?.purpose).toBe('recovery')
    await widget.done('FORGOT_PASSWORD_EMAIL_SENT')
    await widget.click(widget.form(/Email sent/).getByRole('link', { name: 'Back to sign in' }))
    await widget.signIn(AMELIA, PASSWORD)
    expect(await widget.done()).toMatchObject({ user: AMELIA })
  })

  test('shows that an account is locked if the policy allows it', async () => {
    const widget = await widgets.open()
    await widget.signIn(LUIS, PASSWORD)
    await widget
      .form(/^Sign In$/)
      .getByText('Your account is locked')
      .waitFor()
    expect(widget.calls()).toEqual(['POST /api/v1/authn 200'])
  })
})
