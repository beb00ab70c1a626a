import { describe, expect, test } from '@jest/globals'
import { clickOnce } from 'gatehouse-test-support/click'
import {
  expectGoodScreen,
  hasFocus,
  NEW_PASSWORD,
  PASSWORD,
  useDemo,
  type Visitor,
} from 'gatehouse-test-support/demo-page'
import { until } from 'gatehouse-test-support/until'

/**
 * The reference sign-in page, screen by screen. Each screen is scanned with axe, in light and dark
 * mode, and on a narrow phone.
 */
const harness = useDemo()

async function signedInAs(visitor: Visitor, firstName: string) {
  await visitor.screen(`Hello ${firstName}`)
}

describe('signing in with a password', () => {
  test('a missing password gets the focus, and nothing is sent', async () => {
    const visitor = await harness.visit()
    await visitor.type('Username', 'amelia.stone')
    await visitor.press('Sign in')
    const password = visitor.main.getByLabel('Password')
    await until(() => hasFocus(password))
    expect(await password.evaluate((field) => field.matches(':invalid'))).toBe(true)
    expect(harness.sandbox.signIns).toEqual([])
  })

  test('an expired password is changed; the page shows the policy and the faults of a new password', async () => {
    const visitor = await harness.visit()
    await visitor.signIn('olga.expired')
    await visitor.screen('Your password has expired')
    await visitor.main.getByText('at least 8 characters').waitFor()
    // for password managers
    const named = visitor.main.locator('form input[autocomplete="username"]')
    expect(await named.inputValue()).toBe('olga.expired@example.test')
    await visitor.type('Current password', 'wrong')
    await visitor.type('New password', NEW_PASSWORD)
    await visitor.press('Change password')
    await visitor.alert(/current password is not correct/)
    expect(await hasFocus(visitor.main.getByLabel('Current password'))).toBe(true)
    await visitor.type('Current password', PASSWORD)
    await visitor.type('New password', 'short')
    await visitor.press('Change password')
    await visitor.alert(/does not follow the rules.*at least 8 characters/s)
    await expectGoodScreen(visitor.page)
    await clickOnce(visitor.main.getByRole('button', { name: 'Show password' }).last())
    expect(await visitor.main.getByLabel('New password').getAttribute('type')).toBe('text')
    await visitor.type('New password', NEW_PASSWORD)
    await visitor.press('Change password')
    await signedInAs(visitor, 'Olga')
  })
})

describe('a second factor', () => {
  test('a rejected push can be sent again; the number to match is shown', async () => {
    const visitor = await harness.visit()
    await visitor.signIn('nina.number')
    await visitor.main.getByText(/^\d\d$/).waitFor()
    await clickOnce(visitor.page.getByRole('button', { name: 'No, it is not me' }))
    await visitor.screen('That did not work')
    await visitor.main.getByText(/rejected on your phone/).waitFor()
    await expectGoodScreen(visitor.page)
    await visitor.press('Send another request')
    await visitor.screen('Look at your phone')
    await visitor.press('Send it again')
    await visitor.notice(/sent it again/)
    harness.sandbox.answerPush('nina.number', 'approve')
    await signedInAs(visitor, 'Nina')
  })

  test('the user can reload the page, and go back and choose another factor', async () => {
    const visitor = await harness.visit()
    await visitor.signIn('max.many')
    await visitor.press(/^Email/)
    await visitor.press('Send the code')
    await visitor.main.getByLabel('Code').waitFor()
    await visitor.page.reload()
    await visitor.main.getByLabel('Code').waitFor()
    await visitor.press('Back')
    await visitor.screen(/Choose how to verify/)
    await visitor.press(/^Security question/)
    await visitor.type('favorite toy', 'lighthouse')
    await visitor.press('Continue')
    await signedInAs(visitor, 'Max')
  })
})

test('if another identity provider refuses, the page says so and the user can try again', async () => {
  const visitor = await harness.visit()
  await visitor.signIn('cleo.claims')
  await visitor.screen('Sign in with Partner sign-in')
  await expectGoodScreen(visitor.page)
  await visitor.press('Continue')
  await clickOnce(visitor.page.getByRole('button', { name: 'No' }))
  await visitor.alert(/did not sign you in/)
  expect(await visitor.main.getByRole('button', { name: 'Continue' }).count()).toBe(0)
  await expectGoodScreen(visitor.page)
  expect(await visitor.page.evaluate('Object.keys(sessionStorage)')).toEqual([
    `gatehouse ${harness.demo.url}`,
  ])
  await visitor.press('Back')
  await visitor.press('Continue')
  await clickOnce(visitor.page.getByRole('button', { name: 'Yes, continue' }))
  await signedInAs(visitor, 'Cleo')
})

describe('Duo', () => {
  const COMPLETE = '**/lifecycle/duoCallback'
  const pressInFrame = (visitor: Visitor, name: string) =>
    clickOnce(visitor.main.frameLocator('iframe').getByRole('button', { name }))

  test('the form contains the frame’s signed response; messages from other windows are ignored', async () => {
    const visitor = await harness.visit()
    const forms: (string | null)[] = []
    await visitor.page.route(COMPLETE, async (route) => {
      forms.push(route.request().postData())
      await route.continue()
    })
    await visitor.signIn('dario.duo')
    await visitor.screen('Duo')
    const origin = `'${harness.demo.sandboxUrl}'`
    const source = `document.querySelector('iframe').contentWindow`
    for (const message of [
      `{ data: 'AUTH|other|origin', origin, source }`,
      `{ data: 'AUTH|other|source', origin: ${origin}, source: window }`,
      `{ data: 'ERR|no approval', origin: ${origin}, source: ${source} }`,
      `{ data: ['AUTH|no|text'], origin: ${origin}, source: ${source} }`,
    ])
      await visitor.page.evaluate(
        `{ const source = ${source}; dispatchEvent(new MessageEvent('message', ${message})) }`,
      )
    const sig_response = harness.sandbox.duoResponse('dario.duo')
    await pressInFrame(visitor, 'Approve')
    await signedInAs(visitor, 'Dario')
    const [form, ...more] = forms.map((text) => Object.fromEntries(new URLSearchParams(text ?? '')))
    expect(more).toEqual([])
    const id = harness.sandbox.user('dario.duo').factors[0]?.id
    expect(form).toEqual({ id, stateToken: expect.any(String), sig_response })
  })
})

describe('errors', () => {
  test('an expired transaction leads to the first screen with the reason', async () => {
    const visitor = await harness.visit()
    await visitor.signIn('tomas.berg')
    await visitor.screen('Authenticator app')
    harness.sandbox.expireTransactions()
    await visitor.type('Code', '123456')
    await visitor.press('Continue')
    await visitor.screen('Sign in')
    await visitor.alert(/took too long/)
    expect(await visitor.main.getByLabel('Username').inputValue()).toBe('tomas.berg')
    await expectGoodScreen(visitor.page)
  })

  test('after a 429 the button counts down for this user, and then works again', async () => {
    const visitor = await harness.visit()
    await visitor.page.clock.install()
    const now = Math.floor(Date.now() / 1000)
    const headers = {
      'x-request-id': 'id-of-the-log-line',
      date: new Date(now * 1000).toUTCString(),
      'x-rate-limit-reset': String(now + 20),
    }
    const limited = { status: 429, headers, json: { errorCode: 'E0000047', errorSummary: 'too many' } }
    await visitor.page.route('**/api/v1/authn', (route) => route.fulfill(limited), { times: 1 })
    await visitor.signIn('amelia.stone')
    await visitor.alert(/Too many attempts.*You can try again in 20 seconds.*Reference: id-of-the-log-line/)
    await visitor.main.getByRole('button', { name: /Sign in \(in \d+ sec\)/ }).waitFor()
    await expectGoodScreen(visitor.page)
    await visitor.type('Username', 'tomas.berg')
    expect(await visitor.main.getByRole('button', { name: 'Sign in', exact: true }).count()).toBe(1)
    await visitor.page.route('**/api/v1/authn', (route) => route.fulfill(limited), { times: 1 })
    await visitor.signIn('amelia.stone')
    await visitor.main.getByRole('button', { name: /Sign in \(in \d+ sec\)/ }).waitFor()
    await visitor.page.clock.fastForward(25_000)
    await clickOnce(visitor.main.getByRole('button', { name: 'Sign in', exact: true }))
    await signedInAs(visitor, 'Amelia')
  })

  const linkTo = (path: string) => ({
    href: `${harness.demo.sandboxUrl}/api/v1/authn/${path}`,
    hints: { allow: ['POST'] },
  })
  const challenge = (factorType: string, provider = 'OKTA') => {
    const factor = { factorType, provider }
    return { status: 'MFA_CHALLENGE', factorResult: 'WAITING', _embedded: { factor } }
  }
  const pushTooLate = () => ({
    factorType: 'push',
    provider: 'OKTA',
    _embedded: { activation: { _links: { activate: linkTo('factors/fake/lifecycle/activate') } } },
  })
  const UNKNOWN = 'This page cannot continue'
  const FOREIGN: readonly (readonly [string, () => object, string, RegExp])[] = [
    ['an unknown status', () => ({ status: 'CONSENT_REQUIRED' }), UNKNOWN, /CONSENT_REQUIRED/],
    ['an unknown factor type', () => challenge('retina'), UNKNOWN, /MFA_CHALLENGE, retina/],
    [
      'no usable factor',
      () => ({ status: 'MFA_REQUIRED', _embedded: { factors: [] } }),
      'There is no way to continue here',
      /Ask your help desk/,
    ],
    [
      'an enrollment that timed out',
      () => ({
        status: 'MFA_ENROLL_ACTIVATE',
        factorResult: 'TIMEOUT',
        _embedded: { factor: pushTooLate() },
      }),
      'That took too long',
      /Show a new QR code/,
    ],
  ]
  test('an answer with which the page cannot continue: it says so and offers to cancel', async () => {
    const visitor = await harness.visit()
    for (const [what, ...expected] of FOREIGN)
      await cannotContinue(visitor, ...expected).catch((cause) => {
        throw new Error(what, { cause })
      })
  })

  async function cannotContinue(visitor: Visitor, answer: () => object, title: string, words: RegExp) {
    const expiresAt = new Date(Date.now() + 600_000).toISOString()
    const stateToken = '00plainly-fake-state-token-of-a-test'
    const body = { ...answer(), stateToken, expiresAt, _links: { cancel: linkTo('cancel') } }
    harness.sandbox.faults.authn.set({ kind: 'status', status: 200, body, times: 1 })
    await visitor.signIn('amelia.stone')
    await visitor.screen(title)
    await visitor.main.getByText(words).waitFor()
    await expectGoodScreen(visitor.page)
    await visitor.press('Cancel')
    await visitor.screen('Sign in')
  }
})

describe('with the keyboard only', () => {
  test('a whole sign-in: the focus is always in the right place', async () => {
    const { page, screen, main, alert } = await harness.visit()
    await screen('Sign in')
    await page.keyboard.type('max.many')
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await screen(/Choose how to verify/)
    const wanted = main.getByRole('button', { name: /^Authenticator app/ })
    await tabTo(wanted)
    await page.keyboard.press('Enter')
    await main.getByLabel('Code').waitFor()
    await page.keyboard.type('000000')
    await page.keyboard.press('Enter')
    await alert(/Incorrect code or answer/)
    await page.keyboard.type(harness.sandbox.totpCode('max.many'))
    await page.keyboard.press('Enter')
    await screen('Hello Max')
    await tabTo(main.getByRole('button', { name: 'Sign out' }))
    await page.keyboard.press('Space')
    await screen('Sign in')
    await page.keyboard.type('amelia.stone')
    expect(await main.getByLabel('Username').inputValue()).toBe('amelia.stone')

    async function tabTo(target: typeof wanted) {
      for (let presses = 0; presses < 20; presses += 1) {
        await page.keyboard.press('Tab')
        if (await hasFocus(target)) return
      }
      throw new Error('not reached by Tab')
    }
  })
})

// shows: V14.3.3
test('the page has no token: its storage is empty, and scripts can read no cookie', async () => {
  const visitor = await harness.visit()
  await visitor.signIn('amelia.stone')
  await signedInAs(visitor, 'Amelia')
  const held = '({ cookies: document.cookie, kept: localStorage.length + sessionStorage.length })'
  expect(await visitor.page.evaluate(held)).toEqual({ cookies: '', kept: 0 })
})
