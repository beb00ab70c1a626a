import { beforeEach, expect, test } from '@jest/globals'
import { listOf, startPamServer, TEAM, usePamServer } from './pam-server.ts'

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const AMELIA = 'amelia.stone@example.test'
const get = (path: string, bearer = token) => server.send('GET', `${TEAM}${path}`, { token: bearer })
const KEYS = '/service_users/gatehouse/keys'
const ATTRIBUTES = '/groups/Production%20Linux%20-%20View/attributes'

test.each([
  ['ACTIVE', null],
  ['DISABLED', null],
  ['DELETED', '2026-02-01T00:00:00Z'],
  ['SUSPENDED', null],
])('a user that is %s', async (status, deletedAt) => {
  server.control.setUserStatus(AMELIA, status)
  const { body } = await get(`/users/${AMELIA}`)
  expect(body).toMatchObject({
    team_name: 'example-team',
    name: AMELIA,
    status,
    user_type: 'human',
    deleted_at: deletedAt,
  })
  expect(listOf(await get(`/users/${AMELIA}/groups`))).toHaveLength(4)
})

test('the service user of the token', async () => {
  const { body } = await get('/current_user')
  expect(body).toEqual({ id: expect.any(String), name: 'gatehouse', team_name: 'example-team' })
})

test('the keys of a service user: expiry, issue and last use, without secrets', async () => {
  server.control.expireKey('sandbox-key-2', '2026-12-24T00:00:00Z')
  const answer = await get(KEYS)
  const issued_at = '2026-01-01T00:00:00.000Z'
  expect(answer.body.list).toEqual([
    {
      id: 'sandbox-key-1',
      issued_at,
      expires_at: '0001-01-01T00:00:00Z',
      last_used: '2026-11-02T08:00:00.000Z',
    },
    { id: 'sandbox-key-2', issued_at, expires_at: '2026-12-24T00:00:00.000Z', last_used: null },
    { id: 'sandbox-key-expired', issued_at, expires_at: '2026-01-31T00:00:00.000Z', last_used: null },
  ])
  expect(answer.text).not.toContain('secret-')
})

test('keys are paginated like every list', async () => {
  server.control.setPageSize(2)
  const first = await get(KEYS)
  expect(listOf(first)).toHaveLength(2)
  expect(first.headers.get('link')).toContain('rel="next"')
})

test('the attributes of a group that has some, and of one that has none', async () => {
  const { body } = await get(ATTRIBUTES)
  expect(body.list).toMatchObject([
    { attribute_name: 'unix_gid', attribute_value: 60001 },
    { attribute_name: 'unix_group_name', attribute_value: 'prod-linux-view' },
    { attribute_name: 'windows_group_name', attribute_value: 'Production Linux View' },
  ])
  expect((await get('/groups/Everyone/attributes')).body.list).toEqual([])
})

test.each([['/users/nobody@example.test'], ['/service_users/nobody/keys'], ['/groups/Nobody/attributes']])(
  '%s does not exist',
  async (path) => {
    const answer = await get(path)
    expect([answer.status, answer.body.error]).toEqual([404, 'resource_does_not_exist'])
  },
)

test.each([
  ['groups', { [`/users/${AMELIA}`]: 200, [KEYS]: 403, [ATTRIBUTES]: 403, '/current_user': 200 }],
  ['own', { [`/users/${AMELIA}`]: 403, [KEYS]: 403, [ATTRIBUTES]: 403, '/current_user': 200 }],
  ['none', { [`/users/${AMELIA}`]: 401, [KEYS]: 401, [ATTRIBUTES]: 401, '/current_user': 200 }],
] as const)('with the access "%s"', async (access, expected) => {
  server.control.setAccess('gatehouse', access)
  for (const [path, status] of Object.entries(expected))
    expect([path, (await get(path)).status]).toEqual([path, status])
})

test('Advanced Server Access: its form of groups, and its roles', async () => {
  const asa = await startPamServer({ edition: 'server-access' })
  try {
    const bearer = await asa.mint()
    const send = (method: string, body?: unknown) =>
      asa.send(method, `${TEAM}/groups`, { token: bearer, body })
    expect(listOf(await send('GET'))[0]).toMatchObject({
      deleted_at: '0001-01-01T00:00:00Z',
      federated_from_team: null,
    })
    expect((await send('POST', { name: 'Operators', roles: ['access_user'] })).status).toBe(201)
    expect((await send('POST', { name: 'Others', roles: ['end_user'] })).status).toBe(400)
  } finally {
    await asa.close()
  }
})
