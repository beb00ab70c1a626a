import { beforeEach, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, PASSWORD, useHarness } from '../support/harness.ts'

/** A user signs in again within an open session: the proof is new, and the session stays. */

const MINUTE_MS = 60_000
/**
 * The broker's clock, which never goes back: a sign-in that began before all sessions ended is
 * refused.
 */
let nowMs = Date.now()
const harness = useHarness({ now: () => nowMs })
beforeEach(() => {
  nowMs = Math.max(nowMs + 1, Date.now())
})

const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })
async function signedIn(username: string): Promise<Browser> {
  const browser = await harness.visit()
  expect((await signIn(browser, username)).json.status).toBe('SUCCESS')
  return browser
}
const sessionOf = async (browser: Browser) => (await browser.get('/api/v1/sessions/me')).json

test('to end other sessions, the last sign-in must not be older than 15 minutes', async () => {
  const [one, two] = [await signedIn(AMELIA), await signedIn(AMELIA)]
  const before = await sessionOf(one)
  const others = ['/api/v1/sessions', `/api/v1/sessions/${(await sessionOf(two)).id}`]
  nowMs += 15 * MINUTE_MS + 1000
  for (const path of others) {
    const refused = await one.delete(path)
    expect([refused.status, refused.json.errorCode]).toEqual([403, 'sign_in_again'])
  }
  const oldCookies = await one.jar.getCookieString(one.origin)
  expect((await signIn(one, AMELIA)).json.status).toBe('SUCCESS')

  const after = await sessionOf(one)
  expect(after.id).toBe(before.id)
  expect(Date.parse(String(after.authenticatedAt))).toBe(nowMs)
  const list = (await one.get('/api/v1/sessions')).json.sessions as { id: string; current: boolean }[]
  expect(list.map(({ current }) => current).toSorted()).toEqual([false, true])
  const ofOldCookie = await fetch(`${one.origin}/api/v1/sessions/me`, { headers: { cookie: oldCookies } })
  expect(ofOldCookie.status).toBe(404)
  // another tab, which opened before
  const tab = await one.get('/api/v1/sessions/me', { headers: { 'X-Gatehouse-Session': String(before.id) } })
  expect(tab.status).toBe(200)

  expect((await one.delete('/api/v1/sessions')).status).toBe(204)
  expect((await two.get('/api/v1/sessions/me')).status).toBe(404)
  expect((await one.delete('/api/v1/sessions/me')).status).toBe(204)
  expect((await one.get('/api/v1/sessions/me')).status).toBe(404)
})

test('/forward-auth with rules on groups: PAM is asked once while the list is fresh, and by no plain request', async () => {
  const browser = await signedIn(AMELIA)
  const pamCalls = () => harness.sandbox.requestLog.pam.entries.length
  const before = pamCalls()
  expect((await browser.get('/forward-auth')).status).toBe(200)
  expect(pamCalls()).toBe(before)
  const { groups } = (await browser.get('/api/v1/pam/me')).json as { groups: { id: string; name: string }[] }
  const afterLookUp = pamCalls()
  expect(afterLookUp).toBeGreaterThan(before)
  const [{ id, name } = { id: '', name: '' }] = groups
  const shown = `headers=groups&showGroups=${encodeURIComponent(name)}`
  const answer = await browser.get(`/forward-auth?group=${id}&role=resource_admin&${shown}`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-auth-request-groups')?.split(',').map(decodeURIComponent)).toEqual([id, name])
  const denied = await browser.get('/forward-auth?role=pam_admin')
  expect([denied.status, denied.headers.get('x-auth-request-denied')]).toEqual([403, 'role'])
  expect(pamCalls()).toBe(afterLookUp)
})
