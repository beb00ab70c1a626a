import { beforeEach, expect, test } from '@jest/globals'
import {
  type Answer,
  KEY,
  linkTo,
  listOf,
  START,
  startPamServer,
  TEAM,
  usePamServer,
  walk,
} from 'gatehouse-test-support/pam-server'
import { PAM_ERROR_NAMES } from '../../src/pam/pam-errors.ts'

/** One test for each row of docs/conformance.md P, named after its table and row. */

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const groups = (query = '') => server.send('GET', `${TEAM}/groups${query}`, { token })

const ROLES: [role: string, group: string][] = [
  // sandbox shows: P-3.1
  ['pam_admin', 'Access Governance'],
  // sandbox shows: P-3.2
  ['resource_admin', 'Platform Admins'],
  // sandbox shows: P-3.3
  ['delegated_resource_admin', 'Kubernetes Operators'],
  // sandbox shows: P-3.4
  ['security_admin', 'Security'],
  // sandbox shows: P-3.5
  ['delegated_security_admin', 'Release Managers'],
  // sandbox shows: P-3.6
  ['end_user', 'Database Readers'],
]
// sandbox shows: P-2.6
test.each(ROLES)('Role, row %s: a group gives it to its members', async (role, name) => {
  const group = listOf(await groups()).find((one) => one.name === name)
  expect(group?.roles).toEqual([role])
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
// sandbox shows: F-7.7, P-4.1, P-4.2, P-4.3, P-4.4, P-7.2
test('Group: a UUID, a name, roles (none or several), and no time of deletion', async () => {
  server.control.setEmptyLists('array')
  const list = listOf(await groups())
  expect(list).toHaveLength(25)
  for (const { id, name, roles, deleted_at } of list) {
    expect([id, name, deleted_at]).toEqual([expect.stringMatching(UUID), expect.any(String), null])
    expect(roles).toEqual(roles.map(() => expect.any(String)))
  }
  expect(new Set(list.map(({ roles }) => roles.length))).toEqual(new Set([0, 1, 2]))
})
test('a list without elements is null unless setEmptyLists says otherwise (O4)', async () => {
  server.control.setUserGroups('amelia.stone@example.test', [])
  const noGroups = () => server.send('GET', `${TEAM}/users/amelia.stone@example.test/groups`, { token })
  const noRoles = async () => new Set(listOf(await groups()).map(({ roles }) => JSON.stringify(roles)))
  expect((await noGroups()).body).toEqual({ list: null })
  expect([...(await noRoles())]).toContain('null')
  server.control.setEmptyLists('array')
  expect((await noGroups()).body).toEqual({ list: [] })
  expect([...(await noRoles())]).toContain('[]')
  expect([...(await noRoles())]).not.toContain('null')
})
// sandbox shows: P-4.4
test('Group, row deleted_at: a time once the group is deleted', async () => {
  const deleted = listOf(await groups('?only_include_deleted=true')).map((group) => group.deleted_at)
  expect(deleted).toEqual(['2026-02-17T16:40:05.318204+01:00', '2025-11-03T09:14:27Z'])
})

// sandbox shows: F-7.1, P-5.1, P-5.2, P-5.3, P-8.1, P-8.3, P-10.4
test('Service user token: exactly bearer_token, expires_at and team_name', async () => {
  const answer = await server.send('POST', `${TEAM}/service_token`, { body: KEY })
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      bearer_token: expect.stringMatching(/^pamtok_[\w-]{64}$/),
      expires_at: new Date(START + 3_600_000).toISOString(),
      team_name: 'example-team',
    },
  ])
})

// sandbox shows: P-6.1, P-6.2, P-8.2, P-10.3
test.each(['key_id', 'key_secret'])('Service user API key, row %s: required and checked', async (field) => {
  const { [field]: _left, ...rest } = KEY as Record<string, string>
  const missing = await server.send('POST', `${TEAM}/service_token`, { body: rest })
  expect(missing.status).toBe(400)
  expect(missing.body).toEqual({
    code: 400,
    error: 'invalid_request',
    error_cause: [{ path: field, message: 'must be a non-empty string' }],
  })
  const wrong = await server.send('POST', `${TEAM}/service_token`, { body: { ...KEY, [field]: 'wrong' } })
  expect([wrong.status, wrong.body.error]).toEqual([401, 'authentication_error'])
})

// sandbox shows: P-2.3, P-2.10, P-2.11, P-9.1, P-9.2, P-9.4, P-9.5, P-9.6
test('List groups: exactly the list, no Link if there is only one page, and 404 for another team', async () => {
  const answer = await groups()
  expect([answer.status, Object.keys(answer.body), answer.headers.has('link')]).toEqual([
    200,
    ['list'],
    false,
  ])
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const other = await server.send('GET', '/v1/teams/no-such-team/groups', { token })
  expect([other.status, other.body.error]).toEqual([404, 'resource_does_not_exist'])
})

const AUTHENTICATION: [sentence: string, headers: Record<string, string>][] = [
  ['no header', {}],
  ['another scheme', { Authorization: 'SSWS 00abc' }],
  ['a token that was never issued', { Authorization: 'Bearer pamtok_never' }],
  ['no token after the scheme', { Authorization: 'Bearer ' }],
]
// sandbox shows: P-10.1
test.each(AUTHENTICATION)(
  'Authentication 1, a bearer token is required: %s',
  async (_authorization, headers) => {
    const answer = await server.send('GET', `${TEAM}/groups`, { headers })
    expect([answer.status, answer.body.error]).toEqual([401, 'authentication_error'])
  },
)

// sandbox shows: P-10.5
test('Authentication 3: an expired token is 401, and a new one can be issued', async () => {
  server.advance(3_600_000 - 1)
  expect((await groups()).status).toBe(200)
  server.advance(1)
  expect((await groups()).body.error).toBe('authentication_error')
  token = await server.mint()
  expect((await groups()).status).toBe(200)
})

// sandbox shows: F-7.3, P-6.3, P-10.6
test('Authentication 3: an expired key issues no tokens, and its tokens become invalid', async () => {
  server.control.expireKey('sandbox-key-1', new Date(server.now() + 1000).toISOString())
  expect((await groups()).status).toBe(200)
  server.advance(1000)
  expect((await groups()).body.error).toBe('authentication_error')
  const mint = await server.send('POST', `${TEAM}/service_token`, { body: KEY })
  expect([mint.status, mint.body.error]).toEqual([401, 'authentication_error'])
})

const mintWith = (body: unknown) => server.send('POST', `${TEAM}/service_token`, { body })
const createGroup = (name: string) => server.send('POST', `${TEAM}/groups`, { token, body: { name } })
/**
 * The status of each error, and a request that causes it, where one does (the others occur only
 * through `failNext`).
 */
const ERRORS: Record<(typeof PAM_ERROR_NAMES)[number], [status: number, cause?: () => Promise<Answer>]> = {
  // sandbox shows: P-12.2
  invalid_request: [400, () => groups('?count=none')],
  // sandbox shows: P-12.3
  authentication_error: [401, () => server.send('GET', `${TEAM}/groups`)],
  // sandbox shows: P-12.4
  authorization_error: [401, () => after(() => server.control.setAccess('gatehouse', 'none'))],
  // sandbox shows: P-7.3, P-12.5
  server_authorization_revoked: [
    401,
    () => server.send('GET', `${TEAM}/groups`, { token: 'pamsrv_7hS2kq-deleted-server-token' }),
  ],
  // sandbox shows: F-7.16, P-10.7, P-12.6
  forbidden_error: [403, () => after(() => server.control.setAccess('gatehouse', 'own'))],
  // sandbox shows: P-12.7
  quota_exceeded: [
    403,
    () =>
      after(
        () => server.control.generateGroups(50_000),
        () => createGroup('One more'),
      ),
  ],
  // sandbox shows: P-12.8
  disabled_team: [403, () => after(() => server.control.disableTeam())],
  // sandbox shows: P-12.9
  resource_does_not_exist: [
    404,
    () => server.send('GET', `${TEAM}/users/nobody@example.test/groups`, { token }),
  ],
  // sandbox shows: P-12.10, P-15.2
  resource_deprecated: [404, () => server.send('GET', `${TEAM}/group_list`, { token })],
  // sandbox shows: P-12.11
  resource_already_exists: [409, () => createGroup('Security')],
  // sandbox shows: P-12.12
  unsupported_content_type: [415, () => mintWith('["not", "an object"]')],
  // sandbox shows: P-12.13
  too_many_requests: [
    429,
    () => {
      server.control.setRateLimit({ limit: 1, periodSeconds: 60, parts: 1 })
      return groups().then(() => groups())
    },
  ],
  // sandbox shows: P-12.14
  client_closed_connection: [499],
  // sandbox shows: P-12.15
  unknown_error: [500],
  // sandbox shows: P-12.16
  service_offline: [503],
  // sandbox shows: P-12.17
  gateway_timeout: [504],
}
function after(change: () => void, send = groups): Promise<Answer> {
  change()
  return send()
}
test.each(PAM_ERROR_NAMES)('Errors, row %s: through failNext once, and by its own cause', async (error) => {
  const [status, cause] = ERRORS[error]
  server.control.failNext({ error })
  const answer = await groups()
  expect([answer.status, answer.body]).toEqual([status, { code: status, error, error_cause: [] }])
  expect((await groups()).status).toBe(200)
  if (cause === undefined) return
  const caused = await cause()
  expect([caused.status, caused.body.error]).toEqual([status, error])
  expect(server.control.counts().errors).toEqual({ [error]: 2 })
})

const LIMIT_ROWS: Record<string, () => Promise<void>> = {
  // sandbox shows: P-13.1
  'page size: 100 at most, and by default': async () => {
    server.control.generateGroups(300)
    for (const query of ['', '?count=250']) expect(listOf(await groups(query))).toHaveLength(100)
  },
  // sandbox shows: F-7.11, P-9.3, P-9.6, P-13.2, P-13.3, P-13.4
  'pagination links: next and prev, only prev on the last page; each repeats count': async () => {
    const { names, pages } = await walk(server, token, `${TEAM}/groups?count=10`)
    expect([pages.length, new Set(names).size]).toEqual([3, 25])
    const relations = pages.map((page) =>
      ['next', 'prev'].filter((rel) => {
        const link = linkTo(rel, page, server.origin)
        if (link) expect(new URL(link).searchParams.get('count')).toBe('10')
        return link
      }),
    )
    expect(relations).toEqual([['next'], ['next', 'prev'], ['prev']])
  },
  // sandbox shows: P-13.5
  'future pagination: a list without pages may become paginated': async () => {
    server.control.generateGroups(300)
    server.control.setPageSize(null)
    const whole = await groups()
    expect([listOf(whole).length, whole.headers.has('link')]).toEqual([325, false])
    server.control.setPageSize(50)
    expect(listOf(await groups())).toHaveLength(50)
  },
}
test.each(Object.entries(LIMIT_ROWS))('Limits, row %s', async (_row, check) => check())

const unix = (ms: number) => String((START + ms) / 1000)
// sandbox shows: F-7.19, P-13.6, P-14.1, P-14.2, P-14.3, P-14.4
test('Rate limit headers on every response', async () => {
  const own = await startPamServer({ rateLimit: { limit: 2, periodSeconds: 60, parts: 2 } })
  const mint = (key: object) => own.send('POST', `${TEAM}/service_token`, { body: { ...KEY, ...key } })
  const answers = [await mint({}), await mint({ key_secret: 'wrong' }), await mint({})]
  await own.close()
  const shown = ['limit', 'remaining', 'reset', 'retry-at'].map((name) => `x-ratelimit-${name}`)
  const seen = answers.map(({ status, headers }) => [status, ...shown.map((name) => headers.get(name))])
  expect(seen).toEqual([
    [200, '2', '1', unix(30_000), unix(30_000)],
    [401, '2', '0', unix(60_000), unix(30_000)],
    [429, '2', '0', unix(60_000), unix(30_000)],
  ])
})

// sandbox shows: P-15.1
test('Versioning: the version is a path segment, and another version does not exist', async () => {
  const answer = await server.send('GET', '/v2/teams/example-team/groups', { token })
  expect([answer.status, answer.body.error]).toEqual([404, 'resource_does_not_exist'])
})

// sandbox shows: P-15.2
test('Versioning: deprecated resources are resource_deprecated, the old token operation too', async () => {
  server.control.deprecatePath('/v1/teams/{team}/service_token')
  for (const path of [`${TEAM}/service_token`, `${TEAM}/token`]) {
    const answer = await server.send('POST', path, { body: KEY })
    expect([answer.status, answer.body.error]).toEqual([404, 'resource_deprecated'])
  }
})
