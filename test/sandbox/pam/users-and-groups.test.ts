import { beforeEach, expect, test } from '@jest/globals'
import { type GroupBody, listOf, namesOf, TEAM, usePamServer } from './pam-server.ts'

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const groupsOf = (user: string, query = '') =>
  server.send('GET', `${TEAM}/users/${encodeURIComponent(user)}/groups${query}`, { token })

test.each(['nobody@example.test', 'Amelia.Stone@example.test', 'amelia.stone', 'a/b'])(
  'unknown user: %s',
  async (user) => {
    const answer = await groupsOf(user)
    expect(answer.status).toBe(404)
  },
)

test('a name with invalid percent-encoding is an invalid request', async () => {
  const answer = await server.send('GET', `${TEAM}/users/%E0%A4%A/groups`, { token })
  expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
})

const USERS: [user: string, roles: string[]][] = [
  ['amelia.stone@example.test', ['end_user', 'resource_admin']],
  ['tomas.berg@example.test', ['delegated_resource_admin', 'end_user', 'security_admin']],
  ['priya.nair@example.test', ['devops_admin', 'pam_admin']],
  ['olga.expired@example.test', ['end_user']],
  ['walter.warn@example.test', []],
  ['ines.both@example.test', []],
]
test.each(USERS)('the groups of %s have the roles %j', async (user, roles) => {
  const answer = await groupsOf(user)
  expect(answer.status).toBe(200)
  expect([...new Set(listOf(answer).flatMap((group) => group.roles))].sort()).toEqual(roles)
})

test('a user may get two roles from two groups', async () => {
  const admin = listOf(await groupsOf('tomas.berg@example.test')).filter(
    (group) => group.roles[0] !== 'end_user',
  )
  expect(admin.map((group) => group.roles)).toEqual([['delegated_resource_admin'], ['security_admin']])
})

test('a deleted group is listed only on request, or with showDeleted', async () => {
  expect(namesOf(await groupsOf('ines.both@example.test'))).toEqual(['Build Agents'])
  const asked = await groupsOf('ines.both@example.test', '?include_deleted=true')
  expect(namesOf(asked)).toEqual(['Build Agents', 'Mainframe Operators'])
  server.control.showDeleted()
  expect(namesOf(await groupsOf('ines.both@example.test'))).toEqual(['Build Agents', 'Mainframe Operators'])
})

const DELETED_AT: [form: 'null' | 'missing' | 'empty' | 'zero', fields: Partial<GroupBody>][] = [
  ['null', { deleted_at: null }],
  ['missing', {}],
  ['empty', { deleted_at: '' }],
  ['zero', { deleted_at: '0001-01-01T00:00:00Z' }],
]
test.each(DELETED_AT)(
  'deleted_at of an active group can be %s; of a deleted group it is a time',
  async (activeDeletedAt, fields) => {
    server.control.setGroupForm({ activeDeletedAt })
    const [alive, deleted] = listOf(await groupsOf('ines.both@example.test', '?include_deleted=true'))
    expect(alive).toEqual({ id: expect.any(String), name: 'Build Agents', roles: [], ...fields })
    expect(deleted?.deleted_at).toBe('2025-11-03T09:14:27Z')
  },
)

test('older deployments add two federation fields', async () => {
  server.control.setGroupForm({ activeDeletedAt: 'zero', federation: true })
  server.control.setUserGroups('walter.warn@example.test', ['Visiting Researchers', 'Everyone'])
  expect(listOf(await groupsOf('walter.warn@example.test'))).toEqual([
    {
      id: expect.any(String),
      name: 'Everyone',
      roles: [],
      federated_from_team: null,
      federation_approved_at: null,
      deleted_at: '0001-01-01T00:00:00Z',
    },
    {
      id: expect.any(String),
      name: 'Visiting Researchers',
      roles: ['end_user'],
      federated_from_team: 'partner-lab',
      federation_approved_at: '2026-01-20T08:00:00Z',
      deleted_at: '0001-01-01T00:00:00Z',
    },
  ])
})

test('a user’s groups can be changed, and the user deleted', async () => {
  server.control.setUserGroups('walter.warn@example.test', ['Security'])
  expect(namesOf(await groupsOf('walter.warn@example.test'))).toEqual(['Security'])
  server.control.setUserGroups('walter.warn@example.test', null)
  expect((await groupsOf('walter.warn@example.test')).status).toBe(404)
  expect(() => server.control.setUserGroups('walter.warn@example.test', ['Nope'])).toThrow('no group "Nope"')
})

test('a group can be created once, and is then listed', async () => {
  const create = (body: unknown) => server.send('POST', `${TEAM}/groups`, { token, body })
  const made = await create({ name: 'Newcomers', roles: ['end_user'] })
  expect([made.status, made.body]).toEqual([
    201,
    { id: expect.any(String), name: 'Newcomers', roles: ['end_user'], deleted_at: null },
  ])
  expect((await create({ name: 'Newcomers' })).status).toBe(409)
  expect((await create({ name: 'Mainframe Operators' })).status).toBe(201)
  expect((await create({ name: 'Others', roles: 'end_user' })).status).toBe(400)
})

test('reset restores the configured state', async () => {
  server.control.setUserGroups('walter.warn@example.test', null)
  server.control.generateGroups(50)
  server.control.disableTeam()
  server.control.failNext({ error: 'service_offline', times: 'always' })
  server.control.reset()
  expect(server.control.bearerTokens()).toEqual([])
  token = await server.mint()
  expect(namesOf(await groupsOf('walter.warn@example.test'))).toEqual([])
  expect(server.control.groups()).toHaveLength(27)
})
