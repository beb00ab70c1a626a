import { expect, test } from '@jest/globals'
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
 * Signs in users of the sandbox as their descriptions say: one for each kind of screen that no
 * other test of this folder has. `test/journeys/factor-types.test.ts` has all types of factors.
 */
const demo = useDemo()
let visitor: Visitor

/** One step on the page. `login` is the user's short name. */
type Step = (login: string) => Promise<void>

const press =
  (button: string | RegExp): Step =>
  () =>
    visitor.press(button)
const screen =
  (title: string | RegExp): Step =>
  async () => {
    await visitor.screen(title)
    await expectGoodScreen(visitor.page)
  }
const type =
  (label: string, text: string): Step =>
  () =>
    visitor.type(label, text)
/** Enters the code that this app or token of the user shows, after a PIN. */
const codeOf =
  (label: string, pin = ''): Step =>
  async (login) => {
    await visitor.main.getByLabel('Code').waitFor()
    const shown = demo.sandbox.phone.codes(login).find((one) => one.label === label)
    await visitor.type('Code', pin + (shown?.code ?? `the phone shows no ${label}`))
    await clickOnce(visitor.main.getByRole('button', { name: 'Continue' }))
  }
/** The page shows this as information, and the field is empty and has the focus. */
const asked =
  (words: RegExp): Step =>
  async () => {
    await visitor.notice(words)
    const field = visitor.main.getByLabel('Passcode')
    expect([await field.inputValue(), await hasFocus(field)]).toEqual(['', true])
    await expectGoodScreen(visitor.page)
  }
const approveOnPhone: Step = async (login) => {
  await until(() => demo.sandbox.phone.request(login))
  demo.sandbox.phone.answer(login, 'approve')
}
const scanQrCode: Step = async () => {
  await clickOnce(visitor.page.getByRole('button', { name: 'Scan the QR code' }))
}
const offers =
  (count: number): Step =>
  async () => {
    const others = visitor.main.locator('.choices').getByRole('button')
    // the previous screen may have other buttons too
    await until(async () => (await others.count()) === count, { what: `${count} other buttons` })
  }
const offersNo =
  (button: string): Step =>
  async () =>
    expect(await visitor.main.getByRole('button', { name: button, exact: true }).count()).toBe(0)

/** Chooses the user in the list, which fills in the form, and submits it. */
const signIn: Step = async (login) => {
  await visitor.screen('Sign in')
  await visitor.choose(login)
  await visitor.press('Sign in')
}
const openWelcomeMail: Step = async (login) => {
  await visitor.choose(login)
  await clickOnce(visitor.page.getByRole('button', { name: 'Open the welcome email' }))
}
const greeted: Step = async (login) => {
  const { firstName } = demo.sandbox.user(login).config
  await visitor.screen(`Hello ${firstName}`)
  await visitor.main.getByText(`${login}@example.test`).waitFor()
  await visitor.press('Sign out')
  await visitor.screen('Sign in')
}
const SET_UP = screen('Set up a second factor')
const setUpQuestion: readonly Step[] = [
  press(/^Security question/),
  type('Your answer', 'a spinning top'),
  press('Continue'),
  press('Finish'),
]
const atOtherProvider: readonly Step[] = [
  screen(/^Sign in with /),
  press('Continue'),
  () => clickOnce(visitor.page.getByRole('button', { name: /^(Yes|Approve)/ })),
]
const rememberDevice: Step = () => visitor.main.getByLabel('Do not ask again on this device').check()
/**
 * Okta has completed the sign-in for itself: the user opens the portal again, which begins anew.
 */
const atOkta: Step = async () => {
  await visitor.page.getByRole('heading', { name: 'Signed in at Okta' }).waitFor()
  await visitor.page.goto(demo.demo.url)
}
const approveInDuo: Step = () =>
  clickOnce(visitor.main.frameLocator('iframe').getByRole('button', { name: 'Approve', exact: true }))
const APP = 'Authenticator app'
const PASSWORD_SITE = 'https://passwords.example.test/change'
const atPasswordSite: Step = async () => {
  await visitor.page.route(PASSWORD_SITE, (route) => route.fulfill({ body: 'Another site' }))
}
const changedElsewhere: Step = async (login) => {
  await visitor.page.waitForURL(PASSWORD_SITE)
  demo.sandbox.user(login).passwordExpired = false
  await visitor.page.goto(demo.demo.url)
}

/** The users of a group sign in one after the other on one page, which is loaded once. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, readonly Step[]>>>> = {
  passwords: {
    'walter.warn': [signIn, screen('Your password expires in 5 days'), press('Skip'), greeted],
    'edith.elsewhere': [
      atPasswordSite,
      signIn,
      screen('Your password has expired'),
      press('Change it at Company passwords'),
      changedElsewhere,
      signIn,
      greeted,
    ],
    'wendy.elsewhere': [signIn, screen('Your password expires in 5 days'), offers(0), press('Skip'), greeted],
    'aida.nopassword': [
      openWelcomeMail,
      screen('Choose a new password'),
      type('New password', NEW_PASSWORD),
      press('Change password'),
      greeted,
    ],
  },
  'factors that the page verifies': {
    'priya.nair': [
      signIn,
      screen('Look at your phone'),
      press('Back'),
      screen(/^Choose how to verify/),
      press(/^Okta Verify A request/),
      rememberDevice,
      press('Send the request'),
      screen('Look at your phone'),
      approveOnPhone,
      greeted,
    ],
    'rufus.newpin': [
      signIn,
      codeOf('Token RSA-0002'),
      asked(/Enter a new PIN having from 4 to 8 digits/),
      type('Passcode', '2468'),
      press('Continue'),
      asked(/Pin accepted, Wait for token to change/),
      codeOf('Token RSA-0002', '2468'),
      greeted,
    ],
    'pablo.password': [signIn, screen('Password'), type('Password', PASSWORD), press('Continue'), greeted],
    'wanda.key': [signIn, screen('Security key'), press('Use my security key'), greeted],
    'faye.fastpass': [
      signIn,
      offers(2),
      press(/^Okta FastPass/),
      screen('Okta FastPass does not work here'),
      press('Back'),
      press(/^Okta Verify code/),
      codeOf('Okta Verify'),
      greeted,
    ],
    'uwe.key': [signIn, screen('This key is too old for browsers'), press('Cancel'), screen('Sign in')],
  },
  'factors that are set up': {
    'erin.enroll': [signIn, SET_UP, ...setUpQuestion, greeted],
    'reggie.required': [
      signIn,
      SET_UP,
      offersNo('Skip'),
      offersNo('Finish'),
      press(/^Authenticator app Required/),
      scanQrCode,
      (login) => until(() => demo.sandbox.phone.codes(login).length > 0).then(() => undefined),
      codeOf(APP),
      press('Finish'),
      greeted,
    ],
    'pilar.password': [
      signIn,
      SET_UP,
      press(/^Password Required/),
      type('New password', 'Lighthouse-42'),
      press('Continue'),
      greeted,
    ],
    'dina.duo': [signIn, SET_UP, press(/^Duo Required/), screen('Duo'), approveInDuo, greeted],
  },
  'other identity providers': {
    'dennis.duo': [
      signIn,
      screen('Sign in with Duo'),
      rememberDevice,
      press('Continue'),
      ...atOtherProvider,
      atOkta,
      signIn,
      greeted,
    ],
    'iris.provider': [
      signIn,
      SET_UP,
      press(/^Token Counter token/),
      screen('Only your help desk can set up this token'),
      press('Back'),
      press(/^Okta FastPass/),
      screen('Okta FastPass does not work here'),
      press('Back'),
      press(/^Sign in with SAML sign-in/),
      ...atOtherProvider,
      press('Finish'),
      greeted,
    ],
  },
}

test.each(Object.entries(GROUPS))('%s', async (_group, users) => {
  visitor = await demo.visit()
  for (const [login, steps] of Object.entries(users)) {
    try {
      for (const step of steps) await step(login)
    } catch (cause) {
      throw new Error(`${login}: the page shows: ${await visitor.main.innerText()}`, { cause })
    }
  }
})
