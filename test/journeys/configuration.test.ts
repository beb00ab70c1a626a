import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AMELIA, type Harness, startHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf } from '../support/transaction-view.ts'

/** Configuration variables that no other journey sets, through the real app. */
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    env: {
      SESSION_IDLE_MINUTES: '7',
      SESSION_ABSOLUTE_HOURS: '2',
      SESSION_SAME_SITE: 'strict',
      LOGIN_DOMAINS: 'example.test',
    },
  })
})
afterAll(() => harness.stop())

test('the configured idle time, absolute time and SameSite apply to a session', async () => {
  const page = await openPage(harness)
  const signedIn = await page.signIn(AMELIA)
  expect(signedIn.setCookies.find((cookie) => cookie.startsWith('gatehouse='))).toMatch(/; SameSite=Strict/)
  const session = await page.session()
  const durationMs = (name: string) =>
    Date.parse(String(session?.[name])) - Date.parse(String(session?.createdAt))
  expect(durationMs('idleExpiresAt')).toBe(7 * 60_000)
  expect(durationMs('expiresAt')).toBe(2 * 60 * 60_000)
})

test('a short and a full login of a domain in LOGIN_DOMAINS share their limits', async () => {
  const page = await openPage(harness)
  const ask = (username: string) =>
    page.begin('/api/v1/authn/recovery/password', { username, factorType: 'SMS' })
  expect((await ask(AMELIA)).status).toBe(200)
  expect(errorOf(await ask(AMELIA.replace('@example.test', '')))).toEqual([429, 'E0000109'])
  expect((await ask(AMELIA.replace('example.test', 'elsewhere.test'))).status).toBe(200)
})
