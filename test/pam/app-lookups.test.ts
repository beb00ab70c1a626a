import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { counted } from './counted.ts'
import { LOGIN, type PamBroker } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

/** Look-ups of the portal's own backends, with a token instead of a session. */

const [OLD, NEW, OTHER] = ['old', 'new', 'other'].map((name) => `plainly-fake-token-of-an-app-${name}`)
const APP_TOKENS = [
  { name: 'portal', token: String(OLD) },
  { name: 'portal', token: String(NEW) },
  { name: 'reports', token: String(OTHER) },
]
const USER = `/app/v1/pam/users/${encodeURIComponent(LOGIN)}`
const GROUPS = '/app/v1/pam/groups'
const TOOLCHAIN = '78c18450-aead-52b9-a6a7-9ad7c7d07b56'

let harness: PamHarness
beforeEach(async () => {
  harness = await startPamHarness({ appTokens: APP_TOKENS, directory: { kind: 'none' } })
  harness.pam.control.setUserGroups(LOGIN, ['Toolchain, Early Access', 'Platform Admins'])
})
afterEach(() => harness.close())

/** As a backend: without a session. */
const ask = (path: string, token?: string, broker: PamBroker = harness.broker, headers = {}) =>
  broker.get(path, {
    login: '',
    headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
  })
const audits = () => harness.broker.logLines().filter(({ event }) => event === 'app_lookup')

describe('with a token', () => {
  test('a user’s groups are those that the user sees', async () => {
    const own = await harness.broker.get('/api/v1/pam/me')
    for (const token of [OLD, NEW, OTHER]) {
      const { status, body, headers } = await ask(USER, token)
      expect([status, body]).toEqual([200, own.body])
      expect(body).toMatchObject({ user: LOGIN, meta: { stale: false, fetchedAt: expect.any(String) } })
      for (const name of ['etag', 'cache-control', 'content-type'])
        expect([name, headers.get(name)]).toEqual([name, own.headers.get(name)])
    }
    const again = await ask(USER, NEW, harness.broker, { 'if-none-match': own.headers.get('etag') ?? '' })
    expect([again.status, again.text]).toEqual([304, ''])
    expect(harness.pam.control.counts().userLists).toEqual({ [LOGIN]: 1 })
  })

  test('all groups are listed, though PAM_DIRECTORY lets no user do so', async () => {
    const everyone = await harness.replica({ directory: { kind: 'all' } })
    for (const query of ['', '?search=a&limit=2&sort=name', `/${TOOLCHAIN}`]) {
      expect((await harness.broker.get(`/api/v1/pam/groups${query}`)).status).toBe(403)
      const listed = await ask(GROUPS + query, OTHER)
      const { status, body } = await everyone.get(`/api/v1/pam/groups${query}`)
      expect([query, listed.status, listed.body]).toEqual([query, status, body])
      expect(status).toBe(200)
    }
  })

  test.each([
    [`${GROUPS}?q=a`, 400, 'E0000001'],
    [`${USER}?x=1`, 400, 'E0000001'],
    [`${GROUPS}/00000000-0000-4000-8000-000000000000`, 404, 'E0000007'],
    ['/app/v1/pam/users/nobody%40example.com', 404, 'pam_user_unknown'],
    ['/app/v1/pam/users/%2e%2ex', 404, 'pam_user_unknown'],
    ['/app/v1/pam/users/%E0%A4', 400, 'E0000001'],
    ['/app/v1/pam/users/', 404, 'E0000007'],
    ['/app/v1/pam/me', 404, 'E0000007'],
  ])('%s: %d %s', async (path, status, code) => {
    const answer = await ask(path, NEW)
    expect([answer.status, answer.body.errorCode]).toEqual([status, code])
  })

  test('a login that PAM could read as another path is unknown, and PAM is not asked', async () => {
    for (const login of ['a%2fb', 'a%5cb', '%2e%2e', 'a?b', 'a#b', 'a;b', 'a%']) {
      const answer = await ask(`/app/v1/pam/users/${encodeURIComponent(login)}`, NEW)
      expect([login, answer.status, answer.body.errorCode]).toEqual([login, 404, 'pam_user_unknown'])
    }
    expect(harness.pam.requestLog.entries).toEqual([])
  })

  test('each look-up is audited and counted by the name of its token, without a login', async () => {
    await ask(USER, OLD)
    await ask(GROUPS, OTHER)
    await ask(`${GROUPS}/x`, OTHER)
    expect(audits()).toMatchObject([
      { app: 'portal', operation: 'me', status: 200, loginHash: expect.any(String), ageMs: 0 },
      { app: 'reports', operation: 'list', status: 200 },
      { app: 'reports', operation: 'one', status: 404, errorCode: 'E0000007' },
    ])
    expect(await counted(harness.broker.metrics, 'app_lookups_total')).toEqual({
      'portal 200': 1,
      'reports 200': 1,
      'reports 404': 1,
    })
    for (const secret of [LOGIN, ...APP_TOKENS.map(({ token }) => token)])
      expect(harness.broker.logText()).not.toContain(secret)
  })
})

describe('with another token or none', () => {
  test.each([
    undefined,
    '',
    'Bearer',
    `Bearer ${NEW}x`,
    `Bearer ${NEW?.slice(0, -1)}`,
    `Bearer ${NEW?.toUpperCase()}`,
    `Bearer ${OLD}, Bearer ${NEW}`,
    `Bearer ${NEW} x`,
    `Basic ${NEW}`,
    `SSWS ${NEW}`,
    NEW,
    'Bearer portal',
    `Bearer portal:${NEW}`,
  ])('%j: 401 at every path, also for a user with a session; PAM is not asked', async (authorization) => {
    for (const path of [USER, GROUPS, `${GROUPS}/${TOOLCHAIN}`, `${GROUPS}?q=a`]) {
      const headers = authorization === undefined ? {} : { authorization }
      const answer = await harness.broker.get(path, { headers })
      expect([path, answer.status, answer.body.errorCode]).toEqual([path, 401, 'E0000011'])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse"')
    }
    expect(harness.pam.requestLog.entries).toEqual([])
    expect(audits()).toHaveLength(4)
    expect(audits()[0]).toMatchObject({ operation: 'me', status: 401, errorCode: 'E0000011' })
    expect(audits()[0]).not.toHaveProperty('app')
    expect(await counted(harness.broker.metrics, 'app_lookups_total')).toEqual({})
    expect(await counted(harness.broker.metrics, 'requests_refused_total')).toEqual({ app_token: 4 })
  })

  test('the scheme may be in lower case', async () => {
    const headers = { authorization: `bearer ${NEW}` }
    expect((await harness.broker.get(GROUPS, { login: '', headers })).status).toBe(200)
  })

  test('without APP_TOKENS: 404', async () => {
    const broker = await harness.replica({ appTokens: [] })
    for (const path of [USER, GROUPS, `${GROUPS}/${TOOLCHAIN}`])
      for (const token of [undefined, NEW, 'undefined'])
        expect((await ask(path, token, broker)).status).toBe(404)
  })
})

describe('too many calls', () => {
  /** A thousandth of each limit. */
  const scarce = (store: Store): Store => ({
    ...store,
    countAttempt: (request) =>
      store.countAttempt({
        ...request,
        windows: request.windows.map((window) => ({
          ...window,
          maxAttempts: window.maxAttempts / 1000,
        })),
      }),
  })

  test('6,000 in a minute with the tokens of one name, over all replicas: then 429', async () => {
    const store = scarce(harness.store.store)
    const replicas = [await harness.replica({ store }), await harness.replica({ store })]
    for (let call = 0; call < 6; call++)
      expect((await ask(GROUPS, call % 3 === 0 ? OLD : NEW, replicas[call % 2])).status).toBe(200)
    const refused = await ask(GROUPS, NEW, replicas[0])
    expect([refused.status, refused.body.errorCode]).toEqual([429, 'E0000047'])
    expect([refused.headers.get('retry-after'), refused.headers.get('x-rate-limit-limit')]).toEqual([
      '60',
      '6000',
    ])
    expect((await ask(GROUPS, OTHER, replicas[0])).status).toBe(200)
    expect(await counted(replicas[0]?.metrics ?? harness.broker.metrics, 'limit_hits_total')).toEqual({
      app: 1,
    })
    const refusals = replicas[0]
      ?.logLines()
      .filter(({ event, status }) => event === 'app_lookup' && status !== 200)
    expect(refusals).toMatchObject([{ app: 'portal', status: 429, errorCode: 'E0000047' }])
    harness.advance(60_000)
    expect((await ask(GROUPS, NEW, replicas[1])).status).toBe(200)
  })

  test('20 wrong tokens in ten minutes from one address: then 429, but a right one still has access', async () => {
    for (let call = 0; call < 20; call++) expect((await ask(GROUPS, 'wrong')).status).toBe(401)
    const refused = await ask(GROUPS)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '600'])
    expect(await counted(harness.broker.metrics, 'limit_hits_total')).toEqual({ app_address: 1 })
    expect((await ask(GROUPS, NEW)).status).toBe(200)
    harness.advance(600_000)
    expect((await ask(GROUPS)).status).toBe(401)
  })

  test('if the store cannot count it: 503 with any token, and PAM is not asked', async () => {
    harness.store.disconnect(storeUnavailable())
    for (const token of [NEW, 'wrong']) expect((await ask(GROUPS, token)).status).toBe(503)
    expect(harness.pam.requestLog.entries).toEqual([])
  })
})
