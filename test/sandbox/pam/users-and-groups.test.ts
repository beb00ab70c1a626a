import { beforeEach, expect, test } from '@jest/globals'
import { listOf, TEAM, usePamServer } from './pam-server.ts'

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const groupsOf = (user: string, query = '') =>
  server.send('GET', `${TEAM}/users/${encodeURIComponent(user)}/groups${query}`, { token })

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

test('older deployments add two federation fields', async () => {
  server.control.setGroupForm({ activeDeletedAt: 'zero', federation: true })
  server.control.setUserGroups('walter.warn@example.test', ['Visiting Researchers', 'Everyone'])
  const own = { federated_from_team: null, federation_approved_at: null }
  const visiting = { federated_from_team: 'partner-lab', federation_approved_at: '2026-01-20T08:00:00Z' }
  const shared = { id: expect.any(String), deleted_at: '0001-01-01T00:00:00Z' }
  expect(listOf(await groupsOf('walter.warn@example.test'))).toEqual([
    { ...shared, name: 'Everyone', roles: [], ...own },
    { ...shared, name: 'Visiting Researchers', roles: ['end_user'], ...visiting },
  ])
})
