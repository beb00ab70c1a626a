import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { type NavigateOptions, navigate } from '../support/navigate.ts'
import { REDIRECT_ATTACKS } from '../support/redirect-attacks.ts'

/** The broker's clock. */
let nowMs = Date.now()
let harness: Harness
let stranger: Browser
let user: Browser
beforeAll(async () => {
  harness = await startHarness({ now: () => nowMs, env: { RETURN_TO: 'https://app.example.com/home' } })
  stranger = await harness.visit()
  user = await harness.visit()
  await user.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
})
afterAll(() => harness.stop())

const go = async (browser: Browser, query: string, options?: NavigateOptions) => {
  const answer = await navigate(browser, `${harness.gatehouse.url}/signin${query}`, options)
  return [answer.status, answer.location]
}
const encoded = (url: string) => `?returnTo=${encodeURIComponent(url)}`
const signInPage = (url: string) => `${harness.gatehouse.url}/${encoded(url)}`

describe('an allowed target', () => {
  const targets = () => [
    `${harness.gatehouse.url}/app/report?year=2026&view=a%20b#totals`,
    `${harness.gatehouse.url}/files/a%2Fb/50%25`,
    'https://app.example.com/home/deep?x=1',
  ]

  test('without a session, the browser goes to the sign-in page with it', async () => {
    for (const url of targets()) {
      const [status, location = ''] = await go(stranger, encoded(url))
      expect([status, new URL(String(location)).searchParams.get('returnTo')]).toEqual([303, url])
      expect(String(location).startsWith(`${harness.gatehouse.url}/?returnTo=`)).toBe(true)
    }
  })

  test('with a session, the browser goes there at once', async () => {
    for (const url of targets()) expect(await go(user, encoded(url))).toEqual([303, url])
  })

  test('that is not encoded continues to the end of the query', async () => {
    const url = 'https://app.example.com/home?a=1&returnTo=https://evil.example&b=2'
    expect(await go(user, `?returnTo=${url}`)).toEqual([303, url])
    expect(await go(user, `?returnTo=https://evil.example/${encoded(url).replace('?', '&')}`)).toEqual([
      400,
      undefined,
    ])
  })
})

describe('a rule of /forward-auth', () => {
  const HOME = 'https://app.example.com/home'
  const back = `&returnTo=${encodeURIComponent(HOME)}`
  const again = () => `${signInPage(HOME)}&prompt=login`
  beforeAll(() => {
    nowMs += 120_000 // since the sign-in
  })

  test.each([
    ['maxAuthAge=120', 'back'],
    ['maxAuthAge=119', 'again'],
    ['amr=pwd&maxAuthAge=121', 'back'],
    ['amr=hwk&maxAuthAge=121', 'again'],
    ['prompt=login', 'back'],
  ])(
    '%s: a user with a password of two minutes ago goes %s, as after /forward-auth',
    async (rules, where) => {
      const to = where === 'back' ? HOME : again()
      expect(await go(user, `?${rules}${back}`)).toEqual([303, to])
      expect(await go(user, `?${rules}&returnTo=${HOME}`)).toEqual([303, to]) // not encoded
      expect(await go(stranger, `?${rules}${back}`)).toEqual([303, signInPage(HOME)])
      if (rules === 'prompt=login') return
      expect((await user.get(`/forward-auth?${rules}`)).status).toBe(where === 'back' ? 200 : 401)
    },
  )

  test.each([
    'role=end_user',
    'headers=amr',
    'maxauthage=1',
    '__proto__=x',
    'amr=',
    'prompt=none',
    'returnTo=',
  ])('%s: 400, so that a mistyped rule leads to no loop', async (rules) => {
    for (const browser of [user, stranger])
      for (const query of [`?${rules}${back}`, `?${rules}&returnTo=${HOME}`, `?${back.slice(1)}&${rules}`])
        expect([query, ...(await go(browser, query))]).toEqual([query, 400, undefined])
  })
})

test('the sign-in page may open /signin with its own query, that of SIGN_IN_URL included', async () => {
  const signInUrl = `${harness.gatehouse.url}/login?theme=dark&view=`
  const replica = await harness.replica({ SIGN_IN_URL: signInUrl })
  const target = `${harness.gatehouse.url}/app/`
  const visit = async (browser: Browser, query: string) =>
    (await navigate(browser, `${replica.url}/signin${query}`)).location ?? ''
  const page = new URL(await visit(user, `?amr=hwk&${encoded(target).slice(1)}`))
  expect(page.href).toBe(`${signInUrl}&${new URLSearchParams({ returnTo: target, prompt: 'login' })}`)
  expect(await visit(user, page.search)).toBe(target)
  expect(await visit(user, `${page.search}&view=2&size=1`)).toBe('')
})

describe('refused', () => {
  // shows: V3.7.2
  test('every hostile target, with and without a session, is 400 and never a redirect', async () => {
    for (const trick of REDIRECT_ATTACKS)
      for (const browser of [stranger, user])
        expect([trick, ...(await go(browser, encoded(trick)))]).toEqual([trick, 400, undefined])
  })

  test('no target, an empty one and several', async () => {
    const home = encodeURIComponent('https://app.example.com/home')
    for (const query of ['', '?', '?returnTo=', `?returnTo=${home}&returnTo=${home}`, `?returnto=${home}`])
      expect(await go(user, query)).toEqual([400, undefined])
  })
})
