import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'

/** Look-ups of users, roles and groups, from the browser to the sandbox. */

let harness: Harness
let browser: Browser
beforeEach(async () => {
  harness = await startHarness()
  browser = await signIn()
})
afterEach(() => harness.stop())

async function signIn(): Promise<Browser> {
  const visitor = await harness.visit()
  const answer = await visitor.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect(answer.json.status).toBe('SUCCESS')
  return visitor
}

const USER = `/v1/teams/example-team/users/${encodeURIComponent(AMELIA)}`
const GROUP = '/api/v1/pam/groups/bd300cc8-8e91-5aa5-8fa6-e2287db02835'
const asked = (path: string) =>
  harness.sandbox.requestLog.pam.entries.filter((call) => call.path === path).length

test.each(['DISABLED', 'SUSPENDED'])('a user with the status %s has no groups', async (status) => {
  harness.sandbox.pamControl.setUserStatus(AMELIA, status)
  const me = await browser.get('/api/v1/pam/me')
  expect([me.status, me.json]).toMatchObject([200, { user: AMELIA, groups: [], roles: [], maximalRoles: [] }])
  expect([asked(USER), asked(`${USER}/groups`)]).toEqual([1, 0])
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)
})

test('a deleted user is unknown, and stays signed in', async () => {
  harness.sandbox.pamControl.setUserStatus(AMELIA, 'DELETED')
  const me = await browser.get('/api/v1/pam/me')
  expect([me.status, me.json.errorCode]).toEqual([404, 'pam_user_unknown'])
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)
})

test('if PAM does not answer for the user, the look-up ends with 504, and groups are not read', async () => {
  await harness.stop()
  harness = await startHarness({
    tunables: ({ upstream, ...rest }) => ({
      ...rest,
      upstream: { ...upstream, pam: { ...upstream.pam, totalTimeoutMs: 500 } },
    }),
  })
  const { faults } = harness.sandbox
  browser = await signIn()
  const release = faults.pam.hold({ path: USER })
  const me = await browser.get('/api/v1/pam/me')
  expect([me.status, me.json.errorCode]).toEqual([504, 'pam_timeout'])
  expect([asked(USER), asked(`${USER}/groups`)]).toEqual([2, 0]) // it is sent again once
  release()
  expect((await browser.get('/api/v1/pam/me')).json.groups).toHaveLength(4)
})

test('roles of other editions are known, and no other role includes them', async () => {
  const id = '00000000-0000-4000-8000-000000000001'
  harness.sandbox.pamControl.putGroup({ id, name: 'Reporters', roles: ['reporting_user', 'auditor'] })
  harness.sandbox.pamControl.setUserGroups(AMELIA, ['Reporters', 'Platform Admins'])
  const { json } = await browser.get('/api/v1/pam/me')
  expect(json).toMatchObject({
    roles: ['resource_admin', 'end_user', 'reporting_user'],
    maximalRoles: ['resource_admin', 'reporting_user'],
    unknownRoles: ['auditor'],
  })
})

test('a group has its attributes, and none if the service user may not list them', async () => {
  const found = await browser.get(GROUP)
  expect([found.status, found.json]).toMatchObject([
    200,
    { name: 'Production Linux - View', unix_gid: 60001 },
  ])
  harness.sandbox.pamControl.setAccess('gatehouse', 'groups')
  const refused = await browser.get(GROUP.replace(/[^/]+$/, '85ee207c-9e32-5a8a-866b-1e9693aa8ecb'))
  expect([refused.status, refused.json.name, refused.json.unix_gid]).toEqual([
    200,
    'Database Readers',
    undefined,
  ])
  expect((await browser.get('/api/v1/pam/me')).status).toBe(200)
})
