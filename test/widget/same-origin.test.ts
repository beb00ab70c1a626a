import { describe, expect, test } from '@jest/globals'
import { AMELIA, OLGA, PASSWORD, PRIYA, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { widgetContract } from './widget-contract.ts'

const QUENTIN = 'quentin.query@example.test'
const SANA = 'sana.sms@example.test'
const PABLO = 'pablo.password@example.test'
const ERIN = 'erin.enroll@example.test'
const LUIS = 'luis.locked@example.test'
const LENA = 'lena.locked@example.test'
const HANNA = 'hanna.hotp@example.test'
const KIM = 'kim.twokeys@example.test'
const CLEO = 'cleo.claims@example.test'
const SELF_SERVICE = { selfServiceUnlock: true, smsRecovery: true }

/** Replaces the browser's WebAuthn: records requests in `askedKeys` and responds through `answerKey`. */
const WEBAUTHN_STUB_FOR_KEYS = `{
  const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer
  navigator.credentials.get = ({ publicKey }) => new Promise((resolve) => {
    const ids = publicKey.allowCredentials.map(({ id }) => text(id))
    window.askedKeys = { challenge: text(publicKey.challenge), ids }
    delete navigator.credentials.get
    window.answerKey = ({ clientData, authenticatorData, signatureData }) => resolve({
      response: {
        clientDataJSON: bytes(clientData),
        authenticatorData: bytes(authenticatorData),
        signature: bytes(signatureData),
      },
    })
  })
}`

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

  test('asks a security question', async () => {
    const widget = await widgets.open()
    await widget.signIn(QUENTIN, PASSWORD)
    const asked = widget.form(/Security Question/)
    await widget.fill(asked, { answer: 'not this' })
    await widget.send(asked, 'Verify')
    await asked.getByText("doesn't match our records").waitFor()
    await widget.fill(asked, { answer: 'lighthouse' })
    await widget.send(asked, 'Verify')
    expect(await widget.done()).toMatchObject({ user: QUENTIN })
  })

  test('asks for the password as a second factor', async () => {
    const widget = await widgets.open()
    await widget.signIn(PABLO, PASSWORD)
    const asked = widget.form(/Password/)
    await widget.fill(asked, { password: 'Not-The-Password-1' })
    await widget.send(asked, 'Verify')
    await asked.getByText('The password is incorrect').waitFor()
    await widget.fill(asked, { password: PASSWORD })
    await widget.send(asked, 'Verify')
    expect(await widget.done()).toMatchObject({ user: PABLO })
  })

  test('accepts a code of a third-party token', async () => {
    const widget = await widgets.open()
    await widget.signIn(HANNA, PASSWORD)
    const asked = widget.form(/Counter token/)
    await widget.fill(asked, { answer: widgets.harness.sandbox.totpCode(HANNA) })
    await widget.send(asked, 'Verify')
    expect(await widget.done()).toMatchObject({ user: HANNA })
  })

  test('asks for two security keys at once and accepts the second', async () => {
    const { sandbox } = widgets.harness
    widgets.harness.clearUpstreamCalls()
    const widget = await widgets.open({ features: { webauthn: true } })
    await widget.page.evaluate(WEBAUTHN_STUB_FOR_KEYS)
    await widget.signIn(KIM, PASSWORD)
    await until(() => widget.page.evaluate('window.askedKeys !== undefined'), { what: 'a key is asked for' })
    const { challenge, ids } = await widget.page.evaluate<{ challenge: string; ids: string[] }>(
      'window.askedKeys',
    )
    const owned = sandbox.user(KIM).factors.map(({ profile }) => profile?.credentialId)
    expect(ids).toEqual(owned)
    const signed = sandbox.authenticator(KIM, ids[1]).signWebauthn(challenge, widgets.pageUrl)
    await widget.page.evaluate(`window.answerKey(${JSON.stringify(signed)})`)
    expect(await widget.done()).toMatchObject({ user: KIM })
    const paths = widgets.harness.upstreamCalls().map(({ path }) => path)
    expect(paths.filter((path) => path === '/api/v1/authn/factors/webauthn/verify')).toHaveLength(2)
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

  test('sends a code to a phone number that Okta first called invalid, on the second attempt', async () => {
    const widget = await widgets.open()
    await widget.signIn(ERIN, PASSWORD)
    await widgets.chooseFactor(widget, 'SMS Authentication')
    const asked = widget.form(/SMS/)
    await widget.fill(asked, { phoneNumber: '5550100000' })
    const send = asked.getByRole('link', { name: 'Send code' })
    await widget.click(send)
    await asked.getByText('If the number is correct, please try again').waitFor()
    expect(widgets.harness.sandbox.outbox.messages).toEqual([])
    await widget.click(send)
    await until(() => widgets.harness.sandbox.outbox.messages.some(({ to }) => to === '+15550100000'))
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

  test('unlocks an account by text message', async () => {
    const widget = await widgets.open({ features: SELF_SERVICE })
    await widget.signIn(LUIS, PASSWORD)
    const asked = widget.form(/Unlock account/)
    await widget.fill(asked, { username: LUIS })
    await widget.click(asked.getByRole('link', { name: 'Send SMS' }))
    const code = widget.form(/verification code/i)
    await widget.fill(code, { passCode: await widgets.codeSentTo(LUIS) })
    await widget.send(code, 'Verify')
    const question = widget.form(/Answer Unlock Account Challenge/)
    await widget.fill(question, { answer: 'gatehouse' })
    await widget.send(question, 'Unlock')
    await widget.form(/unlocked/).waitFor()
  })

  test('unlocks an account by email', async () => {
    const widget = await widgets.open({ features: SELF_SERVICE })
    await widget.click(widget.page.getByText('Need help signing in?'))
    await widget.click(widget.page.getByRole('link', { name: 'Unlock account?' }))
    const asked = widget.form(/Unlock account/)
    await widget.fill(asked, { username: LUIS })
    await widget.click(asked.getByRole('link', { name: 'Send Email' }))
    await widget.form(/Email sent/).waitFor()
  })

  test('shows a locked account like a wrong password if the policy hides lockouts', async () => {
    const widget = await widgets.open()
    await widget.signIn(LENA, PASSWORD)
    await widget
      .form(/^Sign In$/)
      .getByText('Unable to sign in')
      .waitFor()
    expect(widget.calls()).toEqual(['POST /api/v1/authn 401'])
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
