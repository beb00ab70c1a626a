import { describe, expect, test } from '@jest/globals'
import { click, clickOnce } from 'gatehouse-test-support/click'
import {
  expectGoodScreen,
  hasFocus,
  NEW_PASSWORD,
  PASSWORD,
  useDemo,
  type VisitOptions,
  type Visitor,
} from 'gatehouse-test-support/demo-page'
import { until } from 'gatehouse-test-support/until'

/** The reference sign-in page: enrollment and recovery. */
const harness = useDemo()

const ERIN = 'erin.enroll@example.test'
const codeSentTo = (login: string) => harness.sandbox.outbox.latest(login)?.code ?? 'none was sent'

describe('enrolling a factor', () => {
  async function choiceOf(login: string, options: VisitOptions = {}): Promise<Visitor> {
    const visitor = await harness.visit(options)
    await visitor.signIn(login)
    await visitor.screen('Set up a second factor')
    return visitor
  }

  async function done(visitor: Visitor, firstName = 'Erin') {
    await visitor.press('Finish')
    await visitor.screen(`Hello ${firstName}`)
  }

  test('an authenticator app: the QR code is shown, a wrong code is refused, the correct one activates it', async () => {
    const visitor = await choiceOf(ERIN)
    await expectGoodScreen(visitor.page)
    await visitor.press(/^Authenticator app/)
    const picture = visitor.main.getByRole('img', { name: 'QR code to scan' })
    await picture.waitFor()
    // polled from the test: the page's Content-Security-Policy forbids evaluating code in it
    await until(() => picture.evaluate((image) => 'naturalWidth' in image && Number(image.naturalWidth) > 0))
    await expectGoodScreen(visitor.page)
    const key = await visitor.main.locator('code').innerText()
    const link = visitor.main.getByRole('link', { name: 'Open in an app' })
    expect(await link.getAttribute('href')).toBe(
      `otpauth://totp/localhost%3A${encodeURIComponent(ERIN)}?secret=${key}&issuer=localhost&period=30`,
    )
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await visitor.press('Copy the key')
    await visitor.notice(/Copied/)
    expect(await visitor.page.evaluate('navigator.clipboard.readText()')).toBe(key)
    await visitor.type('Code', '000000')
    await click(visitor.main.getByRole('button', { name: 'Continue' }))
    await visitor.alert(/Incorrect code or answer/)
    await visitor.type('Code', harness.sandbox.totpCode(ERIN))
    await visitor.press('Continue')
    await visitor.main.getByText('Set up:').waitFor()
    await expectGoodScreen(visitor.page)
    await done(visitor)
  })

  test('a phone: an invalid number is refused, the code in the message activates it', async () => {
    const visitor = await choiceOf(ERIN)
    await visitor.press(/^Text message/)
    await visitor.type(/Phone number/, '12')
    await visitor.press('Continue')
    await visitor.alert(/country code/)
    await expectGoodScreen(visitor.page)
    await visitor.type(/Phone number/, '+15550107777')
    await visitor.press('Continue')
    await visitor.main.getByLabel('Code').waitFor()
    await expectGoodScreen(visitor.page)
    await visitor.type('Code', codeSentTo(ERIN))
    await visitor.press('Continue')
    await done(visitor)
  })
})

describe('a forgotten password', () => {
  test('by email link: security question, new password, signed in; the token is removed from the URL', async () => {
    const visitor = await harness.visit()
    await visitor.choose('amelia.stone')
    await visitor.press('Forgot your password?')
    await expectGoodScreen(visitor.page)
    await visitor.type('Username', 'amelia.stone@example.test')
    await visitor.main.getByLabel('Send me').selectOption('EMAIL')
    await visitor.press('Send')
    await visitor.screen('Check your email')
    await expectGoodScreen(visitor.page)

    const link = visitor.page.getByRole('link', { name: 'Open the link' })
    const sent = harness.sandbox.outbox.latest('amelia.stone@example.test', 'recovery')
    expect(sent?.link).toMatch(/\/#recovery=.+/)
    expect(await link.getAttribute('href')).toBe(sent?.link)
    await click(link)
    await visitor.screen('Your recovery question')
    expect(visitor.page.url()).toBe(`${harness.demo.url}/`)
    await expectGoodScreen(visitor.page)
    const answer = visitor.main.getByLabel('What is the name of the sandbox?')
    await answer.fill('wrong')
    await visitor.press('Continue')
    await visitor.alert(/Incorrect answer/)
    await answer.fill('gatehouse')
    await visitor.press('Continue')
    await visitor.screen('Choose a new password')
    await expectGoodScreen(visitor.page)
    await visitor.type('New password', NEW_PASSWORD)
    await visitor.press('Change password')
    await visitor.screen('Hello Amelia')
  })

  test('a link works again after a reload and in another tab, until the password is set; then it is refused', async () => {
    const token = harness.sandbox.recoveryToken('mila.nophone')
    const link = `/#recovery=${token}`
    const visitor = await harness.visit({ path: link })
    await visitor.screen('Choose a new password')
    await visitor.page.reload()
    await visitor.screen('Choose a new password')
    harness.sandbox.expireTransactions()
    await visitor.type('New password', NEW_PASSWORD)
    await visitor.press('Change password')
    await visitor.alert(/This took too long. If you followed a link in an email, open it again/)
    await visitor.screen('Sign in')

    const again = await harness.visit({ path: link })
    await again.screen('Choose a new password')
    expect(await again.main.getByLabel('Sign me out everywhere else').isChecked()).toBe(true)
    await again.type('New password', NEW_PASSWORD)
    await again.press('Change password')
    await again.screen('Hello Mila')

    const late = await harness.visit({ path: link, isNew: true })
    await late.screen('Sign in')
    await late.alert(/This link has expired, or has already been used. Request a new one/)
    expect(late.page.url()).toBe(`${harness.demo.url}/`)
    await expectGoodScreen(late.page)
  })
})

/**
 * Okta sends nothing to a locked user who asks for a new password (R4), and the page must not
 * reveal who is locked.
 */
describe('a user to whom nothing is sent', () => {
  async function ask(visitor: Visitor, login: string, way: string) {
    await visitor.press('Forgot your password?')
    await visitor.type('Username', `${login}@example.test`)
    await visitor.main.getByLabel('Send me').selectOption(way)
    await visitor.press('Send')
    await visitor.main.getByText('Nothing arrived?').click()
  }
  const wordsOf = (visitor: Visitor) => visitor.main.innerText()

  test('is told to unlock the account, and does so; an unknown user reads the same', async () => {
    const shown: string[] = []
    const visitor = await harness.visit()
    for (const login of ['nobody.at.all', 'luis.locked']) {
      await ask(visitor, login, 'EMAIL')
      await visitor.screen('Check your email')
      await expectGoodScreen(visitor.page)
      shown.push(await wordsOf(visitor))
      await visitor.press('Back to sign-in')
    }
    expect(shown[0]).toBe(shown[1])
    expect(shown[0]).toMatch(/A locked account does not receive a message.*unlock it first/)
    expect(harness.sandbox.outbox.latest('luis.locked@example.test', 'recovery')).toBeUndefined()

    await ask(visitor, 'luis.locked', 'SMS')
    await visitor.screen('Enter the code')
    await expectGoodScreen(visitor.page)
    await visitor.press('Unlock your account')
    await visitor.screen('Unlock your account')
    expect(await visitor.main.getByLabel('Username').inputValue()).toBe('luis.locked@example.test')
    await visitor.press('Unlock')
    await visitor.screen('Check your email')
    expect(harness.sandbox.outbox.latest('luis.locked@example.test', 'recovery')).toBeDefined()
    await visitor.main.getByText('Nothing arrived?').click()
    await visitor.press('Forgot your password?')
    await visitor.screen('Forgot your password?')
  })
})

test('a user unlocks a locked account and then signs in', async () => {
  const visitor = await harness.visit()
  await visitor.choose('luis.locked')
  await visitor.press(/^Sign in$/)
  await visitor.screen('Your account is locked')
  await expectGoodScreen(visitor.page)
  expect(await visitor.main.getByLabel('Username').inputValue()).toBe('luis.locked@example.test')
  await visitor.press('Unlock')
  await visitor.screen('Check your email')
  await clickOnce(visitor.page.getByRole('link', { name: 'Open the link' }))
  await visitor.main.getByLabel('What is the name of the sandbox?').fill('gatehouse')
  await visitor.press('Continue')
  await visitor.screen('Sign in')
  await visitor.notice(/account is unlocked/)
  await expectGoodScreen(visitor.page)
  await visitor.signIn('luis.locked@example.test', PASSWORD)
  await visitor.screen('Hello Luis')
})

test('if Okta answers that the account is locked, the page offers to unlock it', async () => {
  const body = { errorCode: 'E0000119', errorSummary: 'Your account is locked.', errorCauses: [] }
  harness.sandbox.faults.authn.set({ kind: 'status', status: 403, body, times: 1 })
  const visitor = await harness.visit()
  await visitor.signIn('lena.locked')
  await visitor.screen('Unlock your account')
  await visitor.alert(/Your account is locked.*If you cannot unlock it here, contact your help desk/)
  await expectGoodScreen(visitor.page)
  expect(await visitor.main.getByLabel('Username').inputValue()).toBe('lena.locked')
  await visitor.press('Unlock')
  await visitor.screen('Check your email')
})

test('a link for another user is refused, with the advice to sign out first', async () => {
  const visitor = await harness.visit()
  await visitor.signIn('amelia.stone')
  await visitor.screen('Hello Amelia')
  const token = harness.sandbox.activationToken('anna.activate')
  await visitor.page.goto(`${harness.demo.url}/#activation=${token}`)
  await visitor.alert(/Another user is signed in .* Sign out first/)
  await visitor.screen('Hello Amelia')
  await expectGoodScreen(visitor.page)
})

describe('the username is kept', () => {
  const nameOn = (visitor: Visitor) => visitor.main.getByLabel('Username').inputValue()

  test('from the first screen to a recovery and back', async () => {
    const visitor = await harness.visit()
    await visitor.type('Username', 'tomas.berg')
    await visitor.press('Forgot your password?')
    await visitor.screen('Forgot your password?')
    expect(await nameOn(visitor)).toBe('tomas.berg')
    await visitor.main.getByLabel('Send me').selectOption('SMS')
    await visitor.press('Send')
    await visitor.screen('Enter the code')
    await expectGoodScreen(visitor.page)
    await visitor.type('Code', '000000')
    await visitor.press('Continue')
    await visitor.alert(/Incorrect code or answer/)
    await visitor.type('Code', codeSentTo('tomas.berg@example.test'))
    await visitor.press('Continue')
    await visitor.screen('Your recovery question')
    await visitor.press('Cancel')
    await visitor.screen('Sign in')
    expect(await nameOn(visitor)).toBe('tomas.berg')
    expect(await hasFocus(visitor.main.getByLabel('Password'))).toBe(true)
  })
})

test('a step-up for an app stays open when a user is chosen, and ends in the app, which links back', async () => {
  const visitor = await harness.visit()
  await clickOnce(visitor.page.getByRole('link', { name: 'Open Payroll' }))
  await visitor.screen('Sign in to continue to Payroll')
  expect(visitor.page.url()).toBe(`${harness.demo.url}/`)
  await expectGoodScreen(visitor.page)
  await visitor.choose('amelia.stone')
  await visitor.choose('tomas.berg')
  await visitor.screen('Sign in to continue to Payroll')
  await visitor.press('Sign in')
  await visitor.screen('Authenticator app')
  await visitor.type('Code', harness.sandbox.totpCode('tomas.berg'))
  await visitor.press('Continue')
  await visitor.page.getByRole('heading', { name: 'Signed in to the app: Payroll' }).waitFor()
  await visitor.main.getByText('You are signed in as tomas.berg@example.test.').waitFor()
  await expectGoodScreen(visitor.page)
  await clickOnce(visitor.page.getByRole('link', { name: 'Back to the sign-in page' }))
  await visitor.screen('Hello Tomas')
  expect(visitor.page.url()).toBe(`${harness.demo.url}/`)
})
