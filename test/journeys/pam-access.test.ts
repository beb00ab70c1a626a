import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'

/** Group look-ups of signed-in users, from the session to the PAM API. */

let harness: Harness
beforeEach(async () => {
  harness = await startHarness()
})
afterEach(() => harness.stop())

async function openSession(login: string): Promise<Browser> {
  const browser = await harness.visit()
  const answer = await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
  expect(answer.json.status).toBe('SUCCESS')
  return browser
}

test("a signed-in user gets the user's groups and roles, and the maximal roles", async () => {
  const browser = await openSession(AMELIA)
  const me = await browser.get('/api/v1/pam/me')
  expect(me.status).toBe(200)
  expect(me.json).toMatchObject({ user: AMELIA, meta: { stale: false } })
  expect(me.json.roles).toEqual(expect.arrayContaining(['end_user', 'resource_admin']))
  expect(me.json.maximalRoles).toEqual(['resource_admin'])
  expect(me.headers.get('cache-control')).toBe('private, no-cache')
  const again = await browser.get('/api/v1/pam/me', {
    headers: { 'if-none-match': String(me.headers.get('etag')) },
  })
  expect(again.status).toBe(304)
})
