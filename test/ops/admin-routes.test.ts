import { describe, expect, test } from '@jest/globals'
import { createCallLimits } from '../../src/bearer-auth/call-limits.ts'
import { createSigner } from '../../src/crypto/keys.ts'
import { storeUnavailable } from '../../src/errors.ts'
import { OPS_LIMITS } from '../../src/ops/admin-routes.ts'
import { createOps } from '../../src/ops.ts'
import { listenFor } from '../http/serve.ts'
import { GRANT } from '../session/grant.ts'
import { type HarnessOptions, openSession, startSessionHarness } from '../session/session-harness.ts'
import { useKeeper } from '../support/keeper.ts'

const keep = useKeeper()

const TOKEN = 'plainly-fake-ops-token'
const SESSIONS = '/admin/users/00u1person/sessions'
const LIMITS = '/admin/users/00u1person/limits'
const EVERYONE = '/admin/sessions'
const ME = '/api/v1/sessions/me'

/** The public and the operations listener on the same store. */
async function harness(
  opsToken: string | null = TOKEN,
  named: { name: string; token: string }[] = [],
  options: HarnessOptions = {},
) {
  const own = keep(await startSessionHarness(options))
  const endedLimits: { userId: string; login: string | undefined }[] = []
  const { metrics, store, sessions, endAllSessions, log } = own
  const app = createOps({
    revision: 'unknown',
    health: { readiness: () => ({ ready: true, draining: false, checks: { store: 'ok' } }) },
    metrics,
    store,
    sessions,
    endAllSessions,
    limits: {
      async end(person) {
        if (own.traffic.unavailable) throw storeUnavailable()
        endedLimits.push(person)
      },
      hashLogin: (login) => login.replace(/[^a-z]/g, '').padEnd(16, '_'),
    },
    access: {
      opsTokens: [...(opsToken === null ? [] : [{ name: undefined, token: opsToken }]), ...named],
      limits: createCallLimits({
        limits: OPS_LIMITS,
        nameSigner: createSigner([Buffer.alloc(32, 1)], 'ops-limit-names'),
        store,
        metrics,
        now: Date.now,
      }),
    },
    log,
  })
  const ops = keep(await listenFor(app))
  const as = (authorization: string | undefined, method: string, path: string, body?: string) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const headers = { ...type, ...(authorization === undefined ? {} : { authorization }) }
    return ops.ask({ method, path, headers, ...(body === undefined ? {} : { body }) })
  }
  return {
    ...own,
    ops,
    endedLimits,
    as,
    admin: (method: string, path: string, body?: string) => as(`Bearer ${opsToken}`, method, path, body),
    audited: () => own.lines().filter(({ event }) => event === 'admin_call'),
  }
}

describe('without an OPS_TOKEN', () => {
  // shows: V16.3.2
  test.each(['/admin', '/admin/', '/admin/x', SESSIONS, LIMITS, EVERYONE, '/', '/LIVEZ', '/livez/', '/%'])(
    '%s is 404 with any token',
    async (path) => {
      const { as } = await harness(null)
      for (const authorization of [undefined, 'Bearer undefined', 'Bearer ', `Bearer ${TOKEN}`]) {
        const answer = await as(authorization, 'DELETE', path)
        expect([answer.status, answer.json]).toEqual([
          404,
          expect.objectContaining({ errorCode: 'E0000007' }),
        ])
      }
    },
  )
})

describe('with a wrong token', () => {
  test.each([
    undefined,
    '',
    'Bearer',
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(0, -1)}`,
    `Bearer ${TOKEN} x`,
    `Basic ${TOKEN}`,
    TOKEN,
  ])('%j: 401 on every path under /admin, with no effect, and audited', async (authorization) => {
    const { as, signIn, call, audited, endedLimits } = await harness()
    const { cookieHeader } = await signIn()
    for (const [method, path] of [
      ['GET', SESSIONS],
      ['DELETE', SESSIONS],
      ['POST', SESSIONS],
      ['DELETE', LIMITS],
      ['GET', '/admin/nothing'],
    ] as const) {
      const answer = await as(authorization, method, path)
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer realm="gatehouse"'])
      expect(answer.json).toMatchObject({
        errorCode: 'E0000011',
        errorId: answer.headers['x-request-id'],
      })
    }
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
    expect(endedLimits).toEqual([])
    expect(audited()).toHaveLength(5)
    expect(audited()[0]).toMatchObject({ operation: 'none', status: 401, errorCode: 'E0000011' })
  })

  test.each([
    '/%61dmin/users/00u1person/sessions',
    '//admin/users/00u1person/sessions',
    '/ADMIN/users/00u1person/sessions',
  ])('%s does not bypass the check', async (path) => {
    const { as, signIn, call } = await harness()
    const { cookieHeader } = await signIn()
    expect([401, 404]).toContain((await as(undefined, 'DELETE', path)).status)
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
  })

  test('the scheme may be in lower case', async () => {
    const { as } = await harness()
    expect((await as(`bearer ${TOKEN}`, 'GET', SESSIONS)).status).toBe(200)
  })
})

describe('wrong tokens of one address', () => {
  test('are refused with 429 after 20 in ten minutes, audited, while the right token goes on', async () => {
    const { as, admin, clock, audited, metrics } = await harness()
    const guess = async (n: number) => (await as(`Bearer ${TOKEN}${n}`, 'GET', SESSIONS)).status
    const statuses: number[] = []
    for (let n = 0; n < 25; n++) statuses.push(await guess(n))
    expect(statuses).toEqual([...Array(20).fill(401), ...Array(5).fill(429)])
    expect(audited().at(-1)).toMatchObject({ operation: 'none', status: 429, errorCode: 'E0000047' })
    expect(await metrics.registry.metrics()).toContain('gatehouse_limit_hits_total{limit="ops_address"} 5')
    expect((await admin('GET', SESSIONS)).status).toBe(200)
    clock.now += 600_000
    expect(await guess(0)).toBe(401)
  })
})

describe('with a token of OPS_TOKENS', () => {
  const NAMED = [
    { name: 'helpdesk', token: 'plainly-fake-helpdesk-token-of-32-chars' },
    { name: 'siem', token: 'plainly-fake-siem-token-of-32-characters' },
  ]

  test('the audit names it; a call with OPS_TOKEN has no name, nor has a refused one', async () => {
    const { as, audited } = await harness(TOKEN, NAMED)
    for (const token of [...NAMED.map(({ token }) => token), TOKEN, 'x'])
      await as(`Bearer ${token}`, 'GET', SESSIONS)
    const named = audited().map(({ operator, operation, status }) => [operator, operation, status])
    expect(named).toEqual([
      ['helpdesk', 'list_sessions', 200],
      ['siem', 'list_sessions', 200],
      [undefined, 'list_sessions', 200],
      [undefined, 'none', 401],
    ])
  })

  test('OPS_TOKEN is not necessary', async () => {
    const { as } = await harness(null, NAMED)
    expect((await as(`Bearer ${NAMED[0]?.token}`, 'GET', SESSIONS)).status).toBe(200)
    expect((await as(`Bearer ${TOKEN}`, 'GET', SESSIONS)).status).toBe(401)
  })
})

describe('with the token', () => {
  test('other methods are 405, other paths 404', async () => {
    const { admin } = await harness()
    const wrong = await admin('POST', SESSIONS)
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'GET, HEAD, DELETE'])
    const noLook = await admin('GET', LIMITS)
    expect([noLook.status, noLook.headers.allow]).toEqual([405, 'DELETE'])
    const probe = await admin('POST', '/readyz')
    expect([probe.status, probe.headers.allow]).toEqual([405, 'GET, HEAD'])
    for (const path of [
      '/admin',
      '/admin/users',
      '/admin/users/00u1person',
      `${SESSIONS}/`,
      `${SESSIONS}/x`,
    ]) {
      expect((await admin('GET', path)).status).toBe(404)
    }
  })

  test.each(['%20', 'a.b', 'a%2Fb', '%00', 'ada%40example.com', 'x'.repeat(101)])(
    '%s is not a user id: 400, and it is not logged',
    async (uid) => {
      const { admin, audited } = await harness()
      const answer = await admin('DELETE', `/admin/users/${uid}/sessions`)
      expect([answer.status, answer.json]).toEqual([400, expect.objectContaining({ errorCode: 'E0000001' })])
      expect(audited()).toEqual([expect.objectContaining({ operation: 'end_sessions', status: 400 })])
      expect(audited()[0]).not.toHaveProperty('userId')
    },
  )

  test('a user’s sessions are listed without logins and without the ids in cookies', async () => {
    const { admin, signIn, audited } = await harness()
    const { id } = await signIn()
    const answer = await admin('GET', SESSIONS)
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        sessions: [
          {
            id: expect.stringMatching(/^[0-9a-f-]{36}$/),
            createdAt: '2026-11-05T06:00:00.000Z',
            lastSeenAt: '2026-11-05T06:00:00.000Z',
            expiresAt: '2026-11-05T18:00:00.000Z',
            idleExpiresAt: '2026-11-05T06:30:00.000Z',
            amr: ['pwd', 'otp', 'mfa'],
            userAgent: 'Test/1',
            deviceBound: false,
          },
        ],
      },
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    expect(answer.text).not.toContain(id)
    expect(answer.text).not.toContain('ada@')
    expect(audited()).toEqual([
      expect.objectContaining({
        audit: true,
        requestId: answer.headers['x-request-id'],
        address: '127.0.0.1',
        operation: 'list_sessions',
        userId: '00u1person',
        status: 200,
        count: 1,
      }),
    ])
  })

  // shows: V7.4.2, V7.4.5
  test('all sessions of the user are ended, but of no other user, and the response has their number', async () => {
    const { admin, signIn, call, sessions, clock, lines, metrics } = await harness()
    const cookieHeaders = [(await signIn()).cookieHeader, (await signIn()).cookieHeader]
    const other = await openSession(
      { sessions, clock },
      { ...GRANT, userId: '00u2other', deviceId: 'of-bob' },
    )
    const answer = await admin('DELETE', SESSIONS)
    expect([answer.status, answer.json]).toEqual([200, { ended: 2 }])
    for (const cookieHeader of cookieHeaders) expect((await call('GET', ME, cookieHeader)).status).toBe(404)
    expect(await sessions.get(other.id, 'of-bob')).toMatchObject({ userId: '00u2other' })
    expect((await admin('DELETE', SESSIONS)).json).toEqual({ ended: 0 })
    expect((await admin('GET', SESSIONS)).json).toEqual({ sessions: [] })
    expect(lines()).toContainEqual(
      expect.objectContaining({
        event: 'sessions_revoked',
        audit: true,
        userId: '00u1person',
        reason: 'by_admin',
        count: 2,
      }),
    )
    expect((await metrics.sessionsEnded.get()).values).toEqual([
      expect.objectContaining({ labels: { reason: 'by_admin' }, value: 2 }),
    ])
  })

  test('if the PAM groups cannot be removed from the cache, the answer and the audit tell what has ended', async () => {
    const refetchAccess = () => Promise.reject(storeUnavailable())
    const { admin, signIn, call, lines, audited } = await harness(TOKEN, [], { refetchAccess })
    const { cookieHeader } = await signIn()
    const answer = await admin('DELETE', SESSIONS)
    expect([answer.status, answer.json]).toEqual([200, { ended: 1 }])
    expect((await call('GET', ME, cookieHeader)).status).toBe(404)
    expect(audited()).toMatchObject([{ operation: 'end_sessions', status: 200, count: 1 }])
    const revoked = { event: 'sessions_revoked', userId: '00u1person', reason: 'by_admin', count: 1 }
    expect(lines()).toContainEqual(expect.objectContaining(revoked))
    const warning = { event: 'groups_not_cleared', level: 'warn', userId: '00u1person' }
    expect(lines()).toContainEqual(expect.objectContaining(warning))
  })

  test('the sessions of all users are ended after their transactions and SSO tokens, and nothing else', async () => {
    const { admin, signIn, call, entries, store, metrics, audited } = await harness()
    const { cookieHeader } = await signIn()
    const before = [...entries.keys()]
    for (const kind of ['txn:{a}', 'sso:a', 'limit:a', 'known:txn:{a}'])
      await store.set(`gatehouse:${kind}`, '1', 60_000)
    const { status, json } = await admin('DELETE', EVERYONE)
    expect([status, json]).toEqual([200, { ended: 1 }])
    expect((await metrics.sessionsEnded.get()).values).toMatchObject([
      { labels: { reason: 'by_admin' }, value: 1 },
    ])
    expect((await call('GET', ME, cookieHeader)).status).toBe(404)
    const kept = before.filter((key) => !key.startsWith('gatehouse:sess:'))
    expect([...entries.keys()]).toEqual([...kept, 'gatehouse:limit:a', 'gatehouse:known:txn:{a}'])
    expect(audited()).toEqual([
      expect.objectContaining({ operation: 'end_sessions_of_all_users', status: 200, count: 1 }),
    ])
  })

  test.each([
    ['no body', undefined],
    ['an empty one', '{}'],
  ])('with %s, only the limits by user id are ended', async (_, body) => {
    const { admin, endedLimits, audited, lines } = await harness()
    const answer = await admin('DELETE', LIMITS, body)
    expect([answer.status, answer.json]).toEqual([200, { ended: ['userId'] }])
    expect(endedLimits).toEqual([{ userId: '00u1person', login: undefined }])
    const expected = { audit: true, requestId: answer.headers['x-request-id'], userId: '00u1person' }
    expect(audited()).toEqual([
      expect.objectContaining({ ...expected, operation: 'end_limits', status: 200 }),
    ])
    const ended = lines().filter(({ event }) => event === 'limits_ended')
    expect(ended).toEqual([expect.objectContaining({ ...expected, address: '127.0.0.1' })])
    expect(ended[0]).not.toHaveProperty('loginHash')
  })

  test('the limits by login are ended, too, and the login is not logged', async () => {
    const { admin, endedLimits, lines } = await harness()
    const answer = await admin('DELETE', LIMITS, '{"login": "ada+1@example.com"}')
    expect([answer.status, answer.json]).toEqual([200, { ended: ['userId', 'login'] }])
    expect(endedLimits).toEqual([{ userId: '00u1person', login: 'ada+1@example.com' }])
    const ended = lines().filter(({ event }) => event === 'limits_ended')
    expect(ended.map(({ loginHash }) => loginHash)).toEqual([undefined, 'adaexamplecom___'])
    expect(JSON.stringify(lines())).not.toContain('ada+1')
  })

  test.each([
    ['{"logins": ["ada"]}', 400, 'E0000001'],
    ['{"login": ["ada"]}', 400, 'E0000001'],
    ['{"login": ""}', 400, 'E0000001'],
    ['{"login": "a\\u0000b"}', 400, 'E0000001'],
    [`{"login": "${'x'.repeat(321)}"}`, 400, 'E0000001'],
    ['["ada"]', 400, 'E0000003'],
    [`{"login": "${'x'.repeat(65_536)}"}`, 413, 'E0000001'],
  ])('body %# is refused and audited, and no limit is ended', async (body, status, errorCode) => {
    const { admin, endedLimits, audited, lines } = await harness()
    const answer = await admin('DELETE', LIMITS, body)
    expect([answer.status, answer.json]).toEqual([status, expect.objectContaining({ errorCode })])
    expect(endedLimits).toEqual([])
    expect(audited()).toEqual([expect.objectContaining({ operation: 'end_limits', status, errorCode })])
    expect(lines().filter(({ event }) => event === 'limits_ended')).toEqual([])
  })
})

test('with the store out of reach: 503 with Retry-After, audited, and no error is logged', async () => {
  const { admin, traffic, audited, lines } = await harness()
  traffic.unavailable = true
  for (const [method, path] of [
    ['GET', SESSIONS],
    ['DELETE', SESSIONS],
    ['DELETE', LIMITS],
    ['DELETE', EVERYONE],
  ] as const) {
    const answer = await admin(method, path)
    expect([answer.status, answer.headers['retry-after'], answer.json]).toEqual([
      503,
      '2',
      expect.objectContaining({ errorCode: 'E0000009' }),
    ])
  }
  const operations = ['list_sessions', 'end_sessions', 'end_limits', 'end_sessions_of_all_users']
  expect(audited()).toMatchObject(
    operations.map((operation) => ({ operation, status: 503, errorCode: 'E0000009' })),
  )
  expect(lines().some(({ level }) => level === 'error')).toBe(false)
})
