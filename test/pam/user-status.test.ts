import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import { LOGIN, type PamBrokerOptions } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

const ME = '/api/v1/pam/me'
const USER = `/v1/teams/example-team/users/${encodeURIComponent(LOGIN)}`
const GROUPS = `${USER}/groups`

let harness: PamHarness
beforeEach(async () => {
  harness = await startPamHarness()
  harness.pam.control.setUserGroups(LOGIN, ['Platform Admins', 'Everyone'])
})
afterEach(() => harness.close())

const asked = (path: string) => harness.pam.requestLog.entries.filter((call) => call.path === path).length
const fault = (body: unknown, status = 200) =>
  harness.pam.faults.set({ kind: 'status', status, body, path: USER })

test.each(['DISABLED', 'SUSPENDED', 'active', ''])(
  'a user with the status "%s" has no groups and no roles, and groups are not read',
  async (status) => {
    harness.pam.control.setUserStatus(LOGIN, status)
    const answer = await harness.broker.get(ME)
    expect([answer.status, answer.body]).toMatchObject([
      200,
      { user: LOGIN, groups: [], roles: [], maximalRoles: [], unknownRoles: [] },
    ])
    expect(asked(GROUPS)).toBe(0)
    const logged = harness.broker.logLines().filter(({ event }) => event === 'pam_user_status_unknown')
    expect(logged).toHaveLength(status === 'DISABLED' ? 0 : 1)
  },
)

test('a deleted user is unknown, for a minute', async () => {
  harness.pam.control.setUserStatus(LOGIN, 'DELETED')
  const answer = await harness.broker.get(ME)
  expect([answer.status, answer.body.errorCode]).toEqual([404, 'pam_user_unknown'])
  expect((await harness.broker.get(ME)).status).toBe(404)
  expect([asked(USER), asked(GROUPS)]).toEqual([1, 0])
  harness.pam.control.setUserStatus(LOGIN, 'ACTIVE')
  harness.advance(61_000)
  expect((await harness.broker.get(ME)).status).toBe(200)
})

test('a user with a time of deletion is unknown, whatever the status is', async () => {
  fault({ status: 'ACTIVE', deleted_at: '2026-02-01T00:00:00Z' })
  expect((await harness.broker.get(ME)).body.errorCode).toBe('pam_user_unknown')
})

test('a user who is disabled later loses the groups on every replica at the next refresh', async () => {
  const other = await harness.replica()
  expect((await other.get(ME)).body.groups).toHaveLength(2)
  harness.pam.control.setUserStatus(LOGIN, 'DISABLED')
  harness.advance(61_000)
  await harness.broker.get(ME)
  for (const broker of [harness.broker, other])
    await until(async () => ((await broker.get(ME)).body.groups as unknown[]).length === 0)
  harness.advance(2000)
  expect((await other.get(ME)).body.roles).toEqual([])
})

test.each([
  ['role:end_user', { kind: 'rules', roles: ['end_user'], groups: [] }],
  ['a group', { kind: 'rules', roles: [], groups: ['f25eceb0-5d6b-5683-89f0-57e62155a668'] }],
] as const)('PAM_DIRECTORY with %s does not allow a disabled user', async (_, directory) => {
  const options: Partial<PamBrokerOptions> = { directory }
  expect((await (await harness.replica(options)).get('/api/v1/pam/groups')).status).toBe(200)
  harness.pam.control.setUserStatus(LOGIN, 'DISABLED')
  harness.advance(61_000)
  const answer = await (await harness.replica(options)).get('/api/v1/pam/groups')
  expect([answer.status, answer.body.errorCode]).toEqual([403, 'E0000006'])
})

test.each([
  ['forbidden_error', 502, 'pam_not_permitted'],
  ['authorization_error', 502, 'pam_not_permitted'],
  ['resource_does_not_exist', 404, 'pam_user_unknown'],
  ['unknown_error', 502, 'pam_unavailable'],
  ['gateway_timeout', 504, 'pam_timeout'],
] as const)('if the status cannot be read (%s), no groups are served', async (error, status, code) => {
  harness.pam.control.failNext({ error, path: USER, times: 'always' })
  const answer = await harness.broker.get(ME)
  expect([answer.status, answer.body.errorCode]).toEqual([status, code])
  expect(asked(GROUPS)).toBe(0)
})

test('after a temporary error, groups that were read before are served', async () => {
  await harness.broker.get(ME)
  harness.advance(200_000)
  harness.pam.control.failNext({ error: 'unknown_error', path: USER, times: 'always' })
  const answer = await harness.broker.get(ME)
  expect([answer.status, answer.body.groups, answer.body.meta]).toMatchObject([
    200,
    [{}, {}],
    { stale: true },
  ])
})

test.each([
  ['no status', {}],
  ['a number', { status: 1 }],
  ['a list', [{ status: 'ACTIVE' }]],
  ['a wrong time', { status: 'ACTIVE', deleted_at: 5 }],
])('a response that is not a user is pam_unexpected: %s', async (_, body) => {
  fault(body)
  const answer = await harness.broker.get(ME)
  expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_unexpected'])
})

test('a cached list needs no request for the status', async () => {
  for (let n = 0; n < 5; n++) expect((await harness.broker.get(ME)).status).toBe(200)
  await (await harness.replica()).get(ME)
  expect([asked(USER), asked(GROUPS)]).toEqual([1, 1])
})

test('a read that is continued after a rate limit checks the status again', async () => {
  harness.pam.control.generateGroups(150, LOGIN)
  const secondPage = `${GROUPS}?`
  harness.pam.control.failNext({ error: 'too_many_requests', path: secondPage, retrySeconds: 10 })
  expect((await harness.broker.get(ME)).status).toBe(503)
  harness.pam.control.setUserStatus(LOGIN, 'DISABLED')
  harness.advance(11_000)
  expect((await harness.broker.get(ME)).body.groups).toEqual([])
})
