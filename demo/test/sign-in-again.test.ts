import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { expectGoodScreen, hasFocus, useDemo, type Visitor } from 'gatehouse-test-support/demo-page'

/**
 * Where the page goes after a sign-in (`returnTo`), and sign-ins within an open session
 * (`prompt=login`, `sign_in_again`).
 */

const MINUTE_MS = 60_000
/** The broker's clock. */
let nowMs = Date.now()
const harness = useDemo({ now: () => nowMs })
beforeEach(() => {
  nowMs = Date.now()
})
afterEach(async () => {
  // no session of the previous test is listed
  await fetch(`${harness.demo.url}/demo/reset`, { method: 'POST' })
})

/** A small document on the portal's origin. */
const APP = '/icon.svg'
const opened = (target: string, more = '') => `/?returnTo=${encodeURIComponent(target)}${more}`
const atApp = ({ page }: Visitor) => page.waitForURL(harness.demo.url + APP)

async function signedIn(login = 'amelia.stone', path = '/'): Promise<Visitor> {
  const visitor = await harness.visit({ path })
  await visitor.signIn(login)
  return visitor
}

async function enterCode(visitor: Visitor) {
  await visitor.screen('Authenticator app')
  await visitor.type('Code', harness.sandbox.totpCode('tomas.berg'))
  await visitor.press('Continue')
}

describe('returnTo', () => {
  test('the user whom Gatehouse sends to the page goes back after the sign-in, also over a reload', async () => {
    const path = `/signin?returnTo=${encodeURIComponent(harness.demo.url + APP)}`
    const visitor = await harness.visit({ path })
    await visitor.screen('Sign in')
    await visitor.page.reload()
    await visitor.signIn('tomas.berg')
    await visitor.screen('Authenticator app')
    await visitor.page.reload()
    await enterCode(visitor)
    await atApp(visitor)
  })

  test('with an open session the page goes there at once, and so does another tab after a sign-in in this one', async () => {
    const visitor = await harness.visit()
    const tab = await visitor.context.newPage()
    await tab.goto(harness.demo.url + opened(harness.demo.url + APP))
    await tab.getByRole('heading', { name: 'Sign in' }).waitFor()
    await visitor.signIn('amelia.stone')
    await visitor.screen('Hello Amelia')
    await tab.waitForURL(harness.demo.url + APP)
    await visitor.page.goto(harness.demo.url + opened(harness.demo.url + APP))
    await atApp(visitor)
  })

  test('another identity provider leads back without it; the page still knows it', async () => {
    const visitor = await signedIn('cleo.claims', opened(harness.demo.url + APP))
    await visitor.press('Continue')
    await visitor.page.getByRole('button', { name: 'Yes, continue' }).click()
    await atApp(visitor)
  })

  test('Gatehouse leads to the application of another host, also over a reload', async () => {
    const path = opened('https://wiki.example.com/?a=b', `&handover=${'h'.repeat(43)}`)
    const visitor = await harness.visit({ path })
    const signin = `${harness.demo.url}/signin${path.slice(1)}`
    await visitor.page.route(signin, (route) => route.fulfill({ body: 'handed over' }))
    await visitor.screen('Sign in')
    await visitor.page.reload()
    await visitor.signIn('amelia.stone')
    await visitor.page.waitForURL(signin)
    await visitor.page.goto(`${harness.demo.url}${path}#part`) // within the session
    await visitor.page.waitForURL(`${signin}#part`)
  })

  /** `test/http/redirect-target.test.ts` has more targets for the same function. */
  test('another site is refused with a message, before and after the sign-in', async () => {
    const path = opened('//evil.example/')
    const visitor = await harness.visit({ path })
    await visitor.notice(/target of this link is not allowed/)
    await expectGoodScreen(visitor.page)
    await visitor.signIn('amelia.stone')
    await visitor.screen('Hello Amelia')
    expect(visitor.page.url()).toBe(`${harness.demo.url}/`)
    await visitor.page.goto(harness.demo.url + path)
    await visitor.screen('Hello Amelia')
    await visitor.notice(/target of this link is not allowed/)
    expect(visitor.page.url()).toBe(`${harness.demo.url}/`)
  })
})

describe('prompt=login', () => {
  const again = async (visitor: Visitor) => {
    await visitor.screen('Sign in')
    await visitor.notice(/Confirm that it is you by signing in again/)
  }

  test('within a session, the user signs in again, and goes back only then', async () => {
    const visitor = await signedIn('tomas.berg')
    await enterCode(visitor)
    await visitor.screen('Hello Tomas')
    await visitor.page.goto(harness.demo.url + opened(harness.demo.url + APP, '&prompt=login'))
    await again(visitor)
    expect(await visitor.main.getByLabel('Username').inputValue()).toBe('tomas.berg@example.test')
    expect(await hasFocus(visitor.main.getByLabel('Password'))).toBe(true)
    await expectGoodScreen(visitor.page)
    await visitor.page.reload()
    await again(visitor)
    await visitor.signIn('tomas.berg@example.test')
    await visitor.screen('Authenticator app')
    await visitor.press('Cancel')
    await again(visitor)
    await visitor.signIn('tomas.berg@example.test')
    await enterCode(visitor)
    await atApp(visitor)
  })

  test('with amr, the user reads that a second factor is needed, and is not sent back without one', async () => {
    const visitor = await signedIn()
    await visitor.screen('Hello Amelia')
    const path = opened(harness.demo.url + APP, '&prompt=login&reason=amr&amr=mfa')
    await visitor.page.goto(harness.demo.url + path)
    await visitor.screen('Sign in')
    await visitor.notice(/needs a sign-in with a second factor/)
    await visitor.page.reload()
    await visitor.notice(/needs a sign-in with a second factor/)
    await visitor.signIn('amelia.stone@example.test')
    await visitor.screen('A second factor is needed')
    await expectGoodScreen(visitor.page)
    await visitor.press('Sign in in another way')
    expect(await visitor.main.getByLabel('Username').inputValue()).toBe('amelia.stone@example.test')
    await visitor.signIn('tomas.berg')
    await enterCode(visitor)
    await atApp(visitor)
  })

  test('with a role that the user has not, another user can sign in instead', async () => {
    const visitor = await signedIn()
    await visitor.screen('Hello Amelia')
    const path = harness.demo.url + opened(harness.demo.url + APP, '&prompt=login&reason=role')
    await visitor.page.goto(path)
    await visitor.screen('You have no access')
    await visitor.main.getByText(/role that this application needs/).waitFor()
    await visitor.press('Go to the portal')
    await visitor.screen('Hello Amelia')
    await visitor.page.goto(path)
    await visitor.press('Sign in as another user')
    expect(await visitor.main.getByLabel('Username').inputValue()).toBe('')
    await visitor.signIn('tomas.berg')
    await enterCode(visitor)
    await atApp(visitor)
    await visitor.page.goto(path)
    await visitor.press('Try again')
    await atApp(visitor)
    await visitor.page.goto(path.replace('=role', '=%3Cb%3Ex')) // of somebody else
    await again(visitor)
  })

  test('the user can stay in the portal instead', async () => {
    const visitor = await signedIn()
    await visitor.screen('Hello Amelia')
    await visitor.page.goto(harness.demo.url + opened(harness.demo.url + APP, '&prompt=login'))
    await again(visitor)
    await visitor.press('Cancel')
    await visitor.screen('Hello Amelia')
    await visitor.page.reload()
    await visitor.screen('Hello Amelia')
  })

  test('without a session, the form is the usual one', async () => {
    const visitor = await harness.visit({ path: opened(harness.demo.url + APP, '&prompt=login') })
    await visitor.screen('Sign in')
    expect(await visitor.main.getByRole('status').allInnerTexts()).toEqual([''])
    expect(await visitor.main.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
    await visitor.signIn('amelia.stone')
    await atApp(visitor)
  })
})

describe('a sign-in that is too old to end other sessions', () => {
  const idOf = ({ page }: Visitor) =>
    page.evaluate<string>(`fetch('/api/v1/sessions/me').then((answer) => answer.json()).then(({ id }) => id)`)

  /** The user has pressed "End all others", and sees the form. */
  async function refused(login: string, enter = async (_visitor: Visitor) => {}) {
    const [here, there] = [await signedIn(login), await signedIn(login)]
    for (const visitor of [here, there]) {
      await enter(visitor)
      await visitor.screen(/^Hello/)
    }
    const id = await idOf(here)
    await here.page.reload()
    nowMs += 16 * MINUTE_MS
    await here.press('End all others (1)')
    await here.screen('Sign in')
    await here.notice(/Confirm that it is you by signing in again/)
    expect(await here.main.getByLabel('Username').inputValue()).toBe(`${login}@example.test`)
    return { here, there, id }
  }

  test('the page leads through a sign-in to the same session, then ends the others', async () => {
    const { here, there, id } = await refused('tomas.berg', enterCode)
    await expectGoodScreen(here.page)
    await there.page.reload()
    await there.screen('Hello Tomas') // nothing has ended yet
    await here.signIn('tomas.berg@example.test', 'wrong')
    await here.alert(/Incorrect username or password/)
    await here.signIn('tomas.berg@example.test')
    await enterCode(here)
    await here.screen('Hello Tomas')
    await here.main.getByText('You are not signed in anywhere else.').waitFor()
    expect(await idOf(here)).toBe(id)
    await there.page.reload()
    await there.screen('Sign in')
  })

  test('another user who signs in instead ends nothing', async () => {
    const { here, there } = await refused('amelia.stone')
    const elsewhere = await signedIn('nora.nopolicy')
    await elsewhere.screen('Hello Nora')
    await here.signIn('nora.nopolicy')
    await here.screen('Hello Nora')
    const alerts = await here.main.getByRole('alert').allInnerTexts()
    expect(alerts.join('')).toBe('')
    for (const [visitor, name] of [
      [there, 'Amelia'],
      [elsewhere, 'Nora'],
    ] as const) {
      await visitor.page.reload()
      await visitor.screen(`Hello ${name}`)
    }
  })
})
