import { beforeEach, expect, test } from '@jest/globals'
import { PAM_ERROR_NAMES, PAM_ERRORS } from '../../../src/sandbox/pam/pam-errors.ts'
import { type Answer, KEY, listOf, namesOf, START, startPamServer, TEAM, usePamServer } from './pam-server.ts'

/** One test for each row of docs/conformance.md P, named after its table and row. */

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const groups = (query = '') => server.send('GET', `${TEAM}/groups${query}`, { token })

const ROLES: [role: string, group: string][] = [
  ['pam_admin', 'Access Governance'],
  ['resource_admin', 'Platform Admins'],
  ['delegated_resource_admin', 'Kubernetes Operators'],
  ['security_admin', 'Security'],
  ['delegated_security_admin', 'Release Managers'],
  ['end_user', 'Database Readers'],
]
test.each(ROLES)('Role, row %s: a group gives it to its members', async (role, name) => {
  const group = listOf(await groups()).find((one) => one.name === name)
  expect(group?.roles).toEqual([role])
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const GROUP_FIELDS: [row: string, check: (group: Record<string, unknown>) => void][] = [
  ['id', (group) => expect(group.id).toMatch(UUID)],
  ['name', (group) => expect(group.name).toEqual(expect.any(String))],
  ['roles', (group) => expect(group.roles).toEqual((group.roles as unknown[]).map(() => expect.any(String)))],
  ['deleted_at', (group) => expect(group.deleted_at).toBeNull()],
]
test.each(GROUP_FIELDS)('Group, row %s', async (_row, check) => {
  const list = listOf(await groups())
  expect(list).toHaveLength(25)
  for (const group of list) check(group)
})
test('Group, row roles: may be empty or hold several', async () => {
  const counts = new Set(listOf(await groups()).map((group) => group.roles.length))
  expect(counts).toEqual(new Set([0, 1, 2]))
})
test('Group, row deleted_at: a time once the group is deleted', async () => {
  const deleted = listOf(await groups('?include_deleted=true')).filter((group) => group.deleted_at !== null)
  expect(deleted.map((group) => group.deleted_at)).toEqual([
    '2026-02-17T16:40:05.318204+01:00',
    '2025-11-03T09:14:27Z',
  ])
})

const TOKEN_FIELDS: [row: string, value: unknown][] = [
  ['bearer_token', expect.stringMatching(/^pamtok_[\w-]{64}$/)],
  ['expires_at', new Date(START + 3_600_000).toISOString()],
  ['team_name', 'example-team'],
]
test.each(TOKEN_FIELDS)('Service user token, row %s', async (row, value) => {
  const answer = await server.send('POST', `${TEAM}/service_token`, { body: KEY })
  expect(answer.status).toBe(200)
  expect(answer.body[row]).toEqual(value)
})

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

test('Issue a service user token, rows request and response body: exactly these fields', async () => {
  const answer = await server.send('POST', `${TEAM}/service_token`, { body: KEY })
  expect(Object.keys(answer.body).sort()).toEqual(['bearer_token', 'expires_at', 'team_name'])
})

const LIST_ROWS: [row: string, check: () => Promise<void>][] = [
  ['method and path', async () => expect((await groups()).status).toBe(200)],
  [
    'path parameter team_name',
    async () => {
      const other = await server.send('GET', '/v1/teams/no-such-team/groups', { token })
      expect([other.status, other.body.error]).toEqual([404, 'resource_does_not_exist'])
    },
  ],
  [
    'query parameters offset and count',
    async () => {
      const first = await groups('?count=20')
      expect(listOf(first)).toHaveLength(20)
      const second = await server.send('GET', nextOf(first), { token })
      expect(listOf(second)).toHaveLength(5)
    },
  ],
  [
    'response body',
    async () => {
      const answer = await groups()
      expect(Object.keys(answer.body)).toEqual(['list'])
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    },
  ],
  [
    'response headers: no Link if there is only one page',
    async () => expect((await groups()).headers.has('link')).toBe(false),
  ],
]
test.each(LIST_ROWS)('List groups, row %s', async (_row, check) => check())

const AUTHENTICATION: [sentence: string, headers: Record<string, string>][] = [
  ['no header', {}],
  ['another scheme', { Authorization: 'SSWS 00abc' }],
  ['a token that was never issued', { Authorization: 'Bearer pamtok_never' }],
  ['no token after the scheme', { Authorization: 'Bearer ' }],
]
test.each(AUTHENTICATION)(
  'Authentication 1, a bearer token is required: %s',
  async (_authorization, headers) => {
    const answer = await server.send('GET', `${TEAM}/groups`, { headers })
    expect([answer.status, answer.body.error]).toEqual([401, 'authentication_error'])
  },
)

test('Authentication 3: an expired token is 401, and a new one can be issued', async () => {
  server.advance(3_600_000 - 1)
  expect((await groups()).status).toBe(200)
  server.advance(1)
  expect((await groups()).body.error).toBe('authentication_error')
  token = await server.mint()
  expect((await groups()).status).toBe(200)
})

test('Authentication 3: an expired key issues no tokens, and its tokens become invalid', async () => {
  server.control.expireKey('sandbox-key-1', new Date(server.now() + 1000).toISOString())
  expect((await groups()).status).toBe(200)
  server.advance(1000)
  expect((await groups()).body.error).toBe('authentication_error')
  const mint = await server.send('POST', `${TEAM}/service_token`, { body: KEY })
  expect([mint.status, mint.body.error]).toEqual([401, 'authentication_error'])
})

/** Requests that cause each error. The errors that are missing here occur only through `failNext`. */
const ERROR_CAUSES: Partial<Record<(typeof PAM_ERROR_NAMES)[number], () => Promise<Answer>>> = {
  invalid_request: () => groups('?count=none'),
  authentication_error: () => server.send('GET', `${TEAM}/groups`),
  authorization_error: () => {
    server.control.setAccess('gatehouse', 'none')
    return groups()
  },
  server_authorization_revoked: () =>
    server.send('GET', `${TEAM}/groups`, { token: 'pamsrv_7hS2kq-deleted-server-token' }),
  forbidden_error: () => {
    server.control.setAccess('gatehouse', 'own')
    return groups()
  },
  quota_exceeded: () => {
    server.control.generateGroups(50_000)
    return server.send('POST', `${TEAM}/groups`, { token, body: { name: 'One too many' } })
  },
  disabled_team: () => {
    server.control.disableTeam()
    return groups()
  },
  resource_does_not_exist: () => server.send('GET', `${TEAM}/users/nobody@example.test/groups`, { token }),
  resource_deprecated: () => server.send('GET', `${TEAM}/group_list`, { token }),
  resource_already_exists: () => server.send('POST', `${TEAM}/groups`, { token, body: { name: 'Security' } }),
  unsupported_content_type: () =>
    server.send('POST', `${TEAM}/service_token`, { body: '["not", "an object"]' }),
  too_many_requests: () => {
    server.control.setRateLimit({ limit: 1, periodSeconds: 60, parts: 1 })
    return groups().then(() => groups())
  },
}
test.each(PAM_ERROR_NAMES.filter((name) => ERROR_CAUSES[name] !== undefined))(
  'Errors, row %s: its own cause',
  async (name) => {
    const answer = await ERROR_CAUSES[name]?.()
    expect([answer?.status, answer?.body.error]).toEqual([PAM_ERRORS[name].status, name])
    expect(server.control.counts().errors).toEqual({ [name]: 1 })
  },
)

const ERRORS: [name: (typeof PAM_ERROR_NAMES)[number], status: number][] = [
  ['invalid_request', 400],
  ['authentication_error', 401],
  ['authorization_error', 401],
  ['server_authorization_revoked', 401],
  ['forbidden_error', 403],
  ['quota_exceeded', 403],
  ['disabled_team', 403],
  ['resource_does_not_exist', 404],
  ['resource_deprecated', 404],
  ['resource_already_exists', 409],
  ['unsupported_content_type', 415],
  ['too_many_requests', 429],
  ['client_closed_connection', 499],
  ['unknown_error', 500],
  ['service_offline', 503],
  ['gateway_timeout', 504],
]
test.each(ERRORS)('Errors, row %s: status %i, once through failNext', async (error, status) => {
  server.control.failNext({ error })
  const answer = await groups()
  expect([answer.status, answer.body]).toEqual([status, { code: status, error, error_cause: [] }])
  expect((await groups()).status).toBe(200)
})

const LIMIT_ROWS: [row: string, check: () => Promise<void>][] = [
  [
    'page size: 100 at most, and by default',
    async () => {
      server.control.generateGroups(300)
      expect(listOf(await groups())).toHaveLength(100)
      expect(listOf(await groups('?count=250'))).toHaveLength(100)
    },
  ],
  [
    'count: sent once, repeated in every link',
    async () => {
      let answer = await groups('?count=7')
      let pages = 1
      for (; answer.headers.has('link') && hasNext(answer); pages += 1) {
        const next = nextOf(answer)
        expect(new URL(next).searchParams.get('count')).toBe('7')
        answer = await server.send('GET', next, { token })
      }
      expect(pages).toBe(4)
    },
  ],
  [
    'pagination links: next and prev, only prev on the last page',
    async () => {
      const first = await groups('?count=10')
      expect(relationsOf(first)).toEqual(['next'])
      const second = await server.send('GET', nextOf(first), { token })
      expect(relationsOf(second)).toEqual(['next', 'prev'])
      const third = await server.send('GET', nextOf(second), { token })
      expect(relationsOf(third)).toEqual(['prev'])
    },
  ],
  [
    'client procedure: following next returns every group once',
    async () => {
      const names: string[] = []
      let answer = await groups('?count=4')
      names.push(...namesOf(answer))
      while (hasNext(answer)) {
        answer = await server.send('GET', nextOf(answer), { token })
        names.push(...namesOf(answer))
      }
      expect(names).toHaveLength(25)
      expect(new Set(names).size).toBe(25)
    },
  ],
  [
    'future pagination: a list without pages may become paginated',
    async () => {
      server.control.generateGroups(300)
      server.control.setPageSize(null)
      const whole = await groups()
      expect(listOf(whole)).toHaveLength(325)
      expect(whole.headers.has('link')).toBe(false)
      server.control.setPageSize(50)
      expect(listOf(await groups())).toHaveLength(50)
    },
  ],
  [
    'rate limit response: 429 too_many_requests over the limit',
    async () => {
      server.control.setRateLimit({ limit: 2, periodSeconds: 60, parts: 1 })
      const answers = [await groups(), await groups(), await groups()]
      expect(answers.map((answer) => answer.status)).toEqual([200, 200, 429])
      expect(answers[2]?.body.error).toBe('too_many_requests')
    },
  ],
]
test.each(LIMIT_ROWS)('Limits, row %s', async (_row, check) => check())

const unix = (ms: number) => String((START + ms) / 1000)
const RATE_HEADERS: [header: string, values: [first: string, second: string, refused: string]][] = [
  ['X-RateLimit-Limit', ['2', '2', '2']],
  ['X-RateLimit-Remaining', ['1', '0', '0']],
  ['X-RateLimit-Reset', [unix(30_000), unix(60_000), unix(60_000)]],
  ['X-RateLimit-Retry-At', [unix(30_000), unix(30_000), unix(30_000)]],
]
test.each(RATE_HEADERS)('Rate limit headers on every response, row %s', async (header, values) => {
  const own = await startPamServer({ rateLimit: { limit: 2, periodSeconds: 60, parts: 2 } })
  const answers = [
    await own.send('POST', `${TEAM}/service_token`, { body: KEY }),
    await own.send('POST', `${TEAM}/service_token`, { body: { ...KEY, key_secret: 'wrong' } }),
    await own.send('POST', `${TEAM}/service_token`, { body: KEY }),
  ]
  expect(answers.map((answer) => answer.status)).toEqual([200, 401, 429])
  expect(answers.map((answer) => answer.headers.get(header))).toEqual(values)
  await own.close()
})

test('Versioning: the version is a path segment, and another version does not exist', async () => {
  const answer = await server.send('GET', '/v2/teams/example-team/groups', { token })
  expect([answer.status, answer.body.error]).toEqual([404, 'resource_does_not_exist'])
})

test('Versioning: deprecated resources are resource_deprecated, the old token operation too', async () => {
  server.control.deprecatePath('/v1/teams/{team}/service_token')
  for (const path of [`${TEAM}/service_token`, `${TEAM}/token`]) {
    const answer = await server.send('POST', path, { body: KEY })
    expect([answer.status, answer.body.error]).toEqual([404, 'resource_deprecated'])
  }
})

function hasNext(answer: Answer): boolean {
  return relationsOf(answer).includes('next')
}

function relationsOf(answer: Answer): string[] {
  return [...(answer.headers.get('link') ?? '').matchAll(/rel="(\w+)"/g)].map(([, rel]) => String(rel))
}

function nextOf(answer: Answer): string {
  const url = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
  if (url === undefined) throw new Error(`no next page: ${answer.headers.get('link')}`)
  return url
}
