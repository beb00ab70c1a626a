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

test('without a session, every PAM path answers 401 and the PAM API is not called', async () => {
  const browser = await harness.visit()
  for (const path of [
    '/api/v1/pam/me',
    '/api/v1/pam/groups',
    '/api/v1/pam/groups/00000000-0000-4000-8000-000000000000',
  ]) {
    const answer = await browser.get(path)
    expect([answer.status, answer.json.errorCode]).toEqual([401, 'E0000005'])
  }
  expect(harness.sandbox.requestLog.pam.entries).toEqual([])
})

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

test('the group list is complete over all its pages', async () => {
  harness.sandbox.pamControl.generateGroups(1234)
  const activeGroups = harness.sandbox.pamControl.groups().filter((group) => group.deletedAt === undefined)
  const browser = await openSession(AMELIA)
  const seen: unknown[] = []
  let cursor: unknown
  do {
    const query: string = typeof cursor === 'string' ? `&cursor=${encodeURIComponent(cursor)}` : ''
    const page = await browser.get(`/api/v1/pam/groups?limit=500${query}`)
    expect(page.status).toBe(200)
    seen.push(...(page.json.list as { id: string }[]).map(({ id }) => id))
    cursor = page.json.nextCursor
  } while (typeof cursor === 'string')
  expect(seen).toHaveLength(activeGroups.length)
  expect(new Set(seen)).toEqual(new Set(activeGroups.map(({ id }) => id)))
  expect(harness.sandbox.pamControl.counts().groupPages).toBeGreaterThan(12)
})

test('concurrent look-ups share one token and one fetch; a refused token is minted again, once', async () => {
  const browser = await openSession(AMELIA)
  const answers = await Promise.all(Array.from({ length: 50 }, () => browser.get('/api/v1/pam/me')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(harness.sandbox.pamControl.counts()).toMatchObject({ tokensMinted: 1, userLists: { [AMELIA]: 1 } })

  for (const token of harness.sandbox.pamControl.bearerTokens()) harness.sandbox.pamControl.revokeToken(token)
  expect((await browser.get('/api/v1/pam/groups')).status).toBe(200)
  expect(harness.sandbox.pamControl.counts().tokensMinted).toBe(2)
})

test('a 401 of the PAM API reaches the page as 502, never as 401', async () => {
  const browser = await openSession(AMELIA)
  harness.sandbox.pamControl.failNext({ error: 'authentication_error', times: 'always' })
  const answer = await browser.get('/api/v1/pam/groups')
  expect([answer.status, answer.json.errorCode]).toEqual([502, 'pam_credentials'])
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)
})

test('without PAM configuration, its paths answer 404', async () => {
  const without = await harness.replica({
    PAM_BASE_URL: '',
    PAM_TEAM: '',
    PAM_KEY_ID: '',
    PAM_KEY_SECRET: '',
    PAM_DIRECTORY: '',
  })
  const answer = await fetch(`${without.url}/api/v1/pam/me`)
  expect(answer.status).toBe(404)
})
