import { expect, test } from '@jest/globals'
import { AMELIA, useHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'

/** Configuration variables that no other journey sets, through the real app. */
const harness = useHarness({
  env: {
    SESSION_IDLE_MINUTES: '7',
    SESSION_ABSOLUTE_HOURS: '2',
    SESSION_SAME_SITE: 'strict',
    LOGIN_DOMAINS: 'example.test',
  },
})

// shows: V7.3.1
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
