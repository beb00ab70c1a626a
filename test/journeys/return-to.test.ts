import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { type NavigateOptions, navigate } from '../support/navigate.ts'
import { REDIRECT_ATTACKS } from '../support/redirect-attacks.ts'

let harness: Harness
let stranger: Browser
let user: Browser
beforeAll(async () => {
  harness = await startHarness({ env: { RETURN_TO: 'https://app.example.com/home' } })
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

describe('refused', () => {
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
