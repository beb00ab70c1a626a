import { describe, expect, test } from '@jest/globals'
import { AMELIA, PASSWORD, TOMAS, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { DARIO, DUO_CALLBACK, signInToDuo, useWidgets } from '../support/widgets.ts'

const ERIN = 'erin.enroll@example.test'
const SELF_SERVICE = { selfServiceUnlock: true, smsRecovery: true }

const VERIFY = 'POST /api/v1/authn/factors/:id/verify'

const widgets = useWidgets('on the broker’s origin')

/**
 * The screens that send no further kind of cross-origin request, and what a cross-origin page
 * cannot do.
 */
describe('the widget, its page on the broker’s origin', () => {
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
})
