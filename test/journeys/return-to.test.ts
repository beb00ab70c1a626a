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

  test('a path is one of the portal’s own host, encoded or to the end of the query', async () => {
    const path = '/reports?x=1&returnTo=//evil.example/'
    const url = harness.gatehouse.url + path
    for (const query of [encoded(path), `?returnTo=${path}`]) {
      expect(await go(user, query)).toEqual([303, url])
      expect(await go(stranger, query)).toEqual([303, signInPage(url)])
    }
  })

  test('one that is too long, or has a backslash or an odd escape, falls back to the allowed one', async () => {
    const [home, portal] = ['https://app.example.com/home', `${harness.gatehouse.url}/`]
    const odd = [`?x=${'x'.repeat(3000)}`, '/a\\b', '/..%2fadmin', '/%c0%ae']
    for (const end of odd) expect(await go(user, encoded(home + end))).toEqual([303, home])
    expect(await go(user, encoded(`/reports${odd[0]}`))).toEqual([303, portal])
    expect(await go(stranger, encoded(home + odd[0]))).toEqual([303, signInPage(home)])
  })

  test('a service worker of the portal may pass the navigation on; pages of others cannot fetch it', async () => {
    const url = 'https://app.example.com/home'
    const from = (site: string, more = {}) => ({
      headers: { 'sec-fetch-site': site, 'sec-fetch-dest': 'empty', ...more },
    })
    for (const mode of ['navigate', 'same-origin', 'cors']) {
      const passedOn = from('same-origin', { 'sec-fetch-mode': mode })
      expect(await go(user, encoded(url), passedOn)).toEqual([303, url])
      // of the site that the navigation began on; a script cannot send this mode
      const answer = mode === 'navigate' ? [303, url] : [403, undefined]
      for (const site of ['same-site', 'cross-site', 'none'])
        expect(await go(user, encoded(url), from(site, { 'sec-fetch-mode': mode }))).toEqual(answer)
    }
    const prefetch = from('same-origin', { 'sec-purpose': 'prefetch' })
    expect(await go(user, encoded(url), prefetch)).toEqual([403, undefined])
    const frame = { headers: { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'iframe' } }
    expect(await go(user, encoded(url), frame)).toEqual([403, undefined])
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
  test('no hostile target leads to another address than the allowed one and the portal', async () => {
    const home = 'https://app.example.com/home'
    const outcome = ([status, location]: readonly unknown[]) =>
      status === 400 && location === undefined ? 'refused' : String(location)
    const ofPortal = `${harness.gatehouse.url}/`
    for (const trick of REDIRECT_ATTACKS) {
      const [asStranger, asUser] = [await go(stranger, encoded(trick)), await go(user, encoded(trick))]
      const isPath = /^\/[^/]/.test(trick)
      const target = outcome(asUser)
      const isHarmless = target === 'refused' || target === home || (isPath && target.startsWith(ofPortal))
      expect([trick, target, isHarmless]).toEqual([trick, target, true])
      expect(outcome(asStranger)).toBe(target === 'refused' ? target : signInPage(target))
    }
  })

  test('no target, an empty one and several', async () => {
    const home = encodeURIComponent('https://app.example.com/home')
    for (const query of ['', '?', '?returnTo=', `?returnTo=${home}&returnTo=${home}`, `?returnto=${home}`])
      expect(await go(user, query)).toEqual([400, undefined])
  })
})
