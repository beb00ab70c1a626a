import { expect, test } from '@jest/globals'
import type { PamDirectory } from '../../src/pam/directory-access.ts'
import { createPamNotConfiguredRoutes } from '../../src/pam/routes.ts'
import type { Group } from '../../src/pam/upstream/group.ts'
import { serve } from '../http/serve.ts'
import { createTestSession, LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

const harness = usePamHarness(({ pam }) =>
  pam.control.setUserGroups(LOGIN, ['Toolchain, Early Access', 'Platform Admins']),
)

const SECURITY = 'a18d3843-0593-5dff-b310-f5c854b775df'
const PAM_ADMIN = 'pat.admin@example.com'
const TOOLCHAIN = '78c18450-aead-52b9-a6a7-9ad7c7d07b56'
const get = (query: string, login = LOGIN) => harness.broker.get(`/api/v1/pam/groups${query}`, { login })
const groupsIn = (body: Record<string, unknown>) => body.list as Group[]
const lists = () => harness.pam.control.counts().groupLists
const rules = (roles: string[], groups: string[] = []): PamDirectory => ({ kind: 'rules', roles, groups })

async function statusUnder(directory: PamDirectory, login = LOGIN) {
  const broker = await harness.replica({ directory })
  const paths = ['/api/v1/pam/groups', `/api/v1/pam/groups/${SECURITY}`]
  const answers = await Promise.all(paths.map((path) => broker.get(path, { login })))
  for (const { status, text } of answers) expect(text.includes('"PAM_DIRECTORY: ')).toBe(status === 403)
  return answers.map(({ status, body }) => (status === 200 ? 200 : `${status} ${body.errorCode}`))
}

// shows: V8.2.1, V8.3.3
test('with PAM_DIRECTORY=none, no user may list groups, and no request is sent to PAM', async () => {
  expect(await statusUnder({ kind: 'none' })).toEqual(['403 E0000006', '403 E0000006'])
  expect(harness.pam.requestLog.entries).toEqual([])
})

// shows: P-2.5, P-3.1, P-10.7, D-5.4, V8.2.2
test.each<[PamDirectory, number, string?]>([
  [rules(['security_admin']), 403],
  [rules(['delegated_resource_admin']), 403], // not satisfied by a role that covers it
  [rules([], [SECURITY]), 403],
  [rules(['resource_admin']), 200],
  [rules(['nothing', 'devops_admin']), 200],
  [rules(['end_user']), 200],
  [rules([], [TOOLCHAIN.toUpperCase()]), 200],
  [rules(['end_user']), 403, 'nobody@example.com'],
  [rules(['resource_admin']), 403, PAM_ADMIN], // pam_admin covers other roles for display only
])('a user in two groups, under PAM_DIRECTORY rule %#', async (directory, status, ...[login]) => {
  harness.pam.control.setUserGroups(PAM_ADMIN, ['Access Governance'])
  const answer = status === 200 ? 200 : '403 E0000006'
  expect(await statusUnder(directory, login)).toEqual([answer, answer])
  expect(lists()).toBe(status === 200 ? 1 : 0)
})

// shows: V8.3.1
test('access is decided on a list that is at most 60 s old; without one, the response is 503', async () => {
  const broker = await harness.replica({ directory: rules(['resource_admin']) })
  expect((await broker.get('/api/v1/pam/groups')).status).toBe(200)
  harness.advance(61_000)
  harness.pam.faults.set({ kind: 'status', status: 500, path: '/v1/teams/example-team/users' })
  const answer = await broker.get('/api/v1/pam/groups')
  expect([answer.status, answer.body.errorCode]).toEqual([503, 'pam_unavailable'])
  expect(answer.headers.get('retry-after')).toBe('5')
  harness.pam.faults.clear()
  harness.pam.control.setUserGroups(LOGIN, [])
  expect((await broker.get('/api/v1/pam/groups')).status).toBe(403)
})

const WRONG_QUERIES: [path: string, name: string][] = [
  ['?limit=0', 'limit'],
  ['?limit=1001', 'limit'],
  ['?limit=1&limit=2', 'limit'],
  ['?cursor=1', 'cursor'],
  ['?search=a&search=b', 'search'],
  [`?role=${'x'.repeat(201)}`, 'role'],
  ['?role=Resource_Admin', 'role'],
  ['?role=superuser', 'role'],
  ['?role=end_user&role=end_user', 'role'],
  ['?contains=a', 'contains'],
  ['?Search=a', 'Search'],
  ['?search%5B%5D=b', 'search[]'],
  ['?contains=', 'contains'],
  ['?__proto__=1', '__proto__'],
  [`?${'&'.repeat(2000)}contains=a`, 'contains'],
  [`?${'x'.repeat(5000)}=1`, 'x'.repeat(100)],
  [`/${SECURITY}?limit=5`, 'limit'],
  ['/../me?limit=5', 'limit'],
  ['/../me?user=ada', 'user'],
  ['?sort=Name', 'sort'],
  ['?sort=-name', 'sort'],
  ['?sort=name&sort=name', 'sort'],
]
test.each(WRONG_QUERIES)(
  'a wrong parameter is named, and no request is sent to PAM: %#',
  async (path, name) => {
    const { status, body } = await get(path)
    expect([status, body.errorCode]).toEqual([400, 'E0000001'])
    expect(body.errorSummary).toBe(`Api validation failed: ${name}`)
    const causes = body.errorCauses as { errorSummary: string }[]
    expect(causes.map(({ errorSummary }) => errorSummary.split(': ')[0])).toEqual([name])
    expect(harness.pam.requestLog.entries).toEqual([])
  },
)

test('the error names every wrong parameter', async () => {
  const { body } = await get('?contains=a&count=1&limit=0&role=superuser')
  const causes = body.errorCauses as { errorSummary: string }[]
  expect(causes.map(({ errorSummary }) => errorSummary.split(':')[0]).sort()).toEqual([
    'contains',
    'count',
    'limit',
    'role',
  ])
})

// shows: F-7.7, F-7.8, P-4.4
// sandbox shows: F-7.7, F-7.8
test('all groups that are not deleted are listed by id, for every form of deleted_at', async () => {
  harness.pam.control.showDeleted()
  const living = harness.pam.control.groups().filter(({ deletedAt }) => deletedAt === undefined)
  for (const form of ['null', 'missing', 'empty', 'zero'] as const) {
    harness.pam.control.setGroupForm({ activeDeletedAt: form, federation: true })
    harness.advance(901_000)
    const { body } = await get('')
    expect(groupsIn(body).map(({ id }) => id)).toEqual(living.map(({ id }) => id).sort())
    expect(Object.keys(groupsIn(body)[0] ?? {})).toEqual(['id', 'name', 'roles'])
    expect(body).toMatchObject({ nextCursor: null, meta: { stale: false } })
  }
})

test.each(['null', 'array'] as const)(
  'an empty list written as %s: no groups of a user, no roles of a group, no groups of a team (O4)',
  async (form) => {
    const { control } = harness.pam
    control.setEmptyLists(form)
    control.setUserGroups(LOGIN, [])
    const user = await harness.broker.get('/api/v1/pam/me')
    expect([user.status, user.body.groups, user.body.roles]).toEqual([200, [], ['end_user']])
    const { body } = await get('?limit=1000')
    const withoutRoles = control
      .groups()
      .filter(({ roles, deletedAt }) => roles.length === 0 && deletedAt === undefined)
    expect(groupsIn(body).filter(({ roles }) => roles.length === 0)).toHaveLength(withoutRoles.length)
    expect(withoutRoles.length).toBeGreaterThan(0)
    for (const { name } of control.groups()) control.deleteGroup(name)
    harness.advance(901_000)
    expect((await get('')).body).toMatchObject({ list: [], nextCursor: null })
  },
)

test('search matches part of a name, ignoring case and Unicode form; role matches groups that grant it', async () => {
  const names = async (query: string) => groupsIn((await get(query)).body).map(({ name }) => name)
  expect(await names(`?search=${encodeURIComponent('z\u0055\u0308RICH')}`)).toEqual(['Contractors – Zürich'])
  expect((await names('?search=LINUX&role=delegated_resource_admin')).sort()).toEqual([
    'Production Linux - Operate',
    'Staging Linux - Operate',
  ])
  expect((await names('?search=&limit=&cursor=&role=security_admin')).sort()).toEqual([
    'Security',
    'Security Operations',
    'Site Reliability',
  ])
})

test('a group is found by its id in any letter case; an unknown or malformed id is 404', async () => {
  const { body, headers } = await get(`/${SECURITY.toUpperCase()}`)
  expect(body).toMatchObject({
    id: SECURITY,
    name: 'Security',
    roles: ['security_admin'],
    meta: { stale: false },
  })
  expect(headers.get('etag')).toMatch(/^W\//)
  for (const id of ['00000000-0000-4000-8000-000000000000', 'security', '..%2f..']) {
    const answer = await get(`/${id}`)
    expect([answer.status, answer.body.errorCode]).toEqual([404, 'E0000007'])
  }
})

// shows: V16.3.2
test('each lookup is audited, even a refused one, without names', async () => {
  await get('?search=Zürich')
  await get('?limit=0')
  const audits = harness.broker.logLines().filter(({ event }) => event === 'group_lookup')
  const lookup = { audit: true, userId: createTestSession(LOGIN).userId, operation: 'list' }
  expect(audits).toMatchObject([
    { ...lookup, status: 200, deviceHash: 'hash-of-device' },
    { ...lookup, status: 400, errorCode: 'E0000001' },
  ])
  expect(JSON.stringify(audits)).not.toMatch(/rich|example/i)
})

// shows: D-5.2, V1.2.2
test.each([
  ['ada@elsewhere.org', undefined],
  ['..@example.com', undefined],
  ['a/b?c#d%2e@example.com', undefined],
  ['zoë o&p=+:x@y@example.com', '/v1/teams/example-team/users/zo%C3%AB%20o%26p%3D%2B%3Ax%40y/groups'],
])('the login %s is sent as one path segment, or not at all', async (login, path) => {
  const broker = await harness.replica({
    userName: { kind: 'login-local-part', domains: [{ domain: 'example.com', prefix: '' }] },
  })
  const answer = await broker.get('/api/v1/pam/me', { login })
  expect([answer.status, answer.body.errorCode]).toEqual([404, 'pam_user_unknown'])
  const asked = harness.pam.requestLog.entries
    .map((call) => call.path)
    .filter((one) => one.includes('/users/'))
  expect(asked).toEqual(path === undefined ? [] : [path])
})

test('without PAM_BASE_URL, the paths respond 404', async () => {
  const { ask, close } = await serve({ routes: createPamNotConfiguredRoutes() })
  for (const path of ['me', 'groups', `groups/${SECURITY}`]) {
    const answer = await ask({ path: `/api/v1/pam/${path}` })
    expect([answer.status, answer.json]).toMatchObject([404, { errorCode: 'E0000007' }])
  }
  await close()
})
