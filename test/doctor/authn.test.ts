import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type SandboxUpstream, startSandboxUpstream } from '../support/sandbox-upstream.ts'
import {
  deadPort,
  StubError,
  type StubListener,
  type StubUpstream,
  sendJson,
  startStubUpstream,
} from '../support/stub-upstream.ts'
import { diagnose, group } from './diagnose.ts'

let stub: StubUpstream | undefined
afterEach(() => stub?.close())

const ORGANIZATION = { id: '00o1', pipeline: 'v1' }
const TOKEN_ACCEPTED = new StubError(400, 'E0000001')

/** An org that answers the description with the first, and the empty sign-in with the second. */
async function org(
  describeOrg: StubListener,
  signIn: StubListener = answer(TOKEN_ACCEPTED),
): Promise<string> {
  stub = await startStubUpstream((req, res) =>
    (req.path.startsWith('/.well') ? describeOrg : signIn)(req, res),
  )
  return stub.origin
}

const answer =
  (error: StubError): StubListener =>
  (_req, res) =>
    sendJson(res, error.status, error.body)
const json =
  (body: object, headers = {}): StubListener =>
  (_req, res) =>
    sendJson(res, 200, body, headers)
const html =
  (status: number): StubListener =>
  (_req, res) =>
    res.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>')

const authnChecks = async (env: Record<string, string>, options = {}) =>
  group('authn', await diagnose(env, options))

const SKIPPED = 'skipped: not possible without authn.reach'
const ALL_SKIPPED = { clock: SKIPPED, token: SKIPPED, pipeline: SKIPPED }

describe('the sandbox', () => {
  let upstream: SandboxUpstream
  beforeAll(async () => {
    upstream = await startSandboxUpstream()
  })
  afterAll(() => upstream.close())

  test('the token is accepted, and no user is touched', async () => {
    const { reach, clock, token } = await authnChecks(upstream.signInEnv)
    expect([reach, token]).toEqual(['ok: the org answers', 'ok: Okta accepts the API token'])
    expect(clock).toMatch(/^ok: the clocks differ by \d s$/)
    const bodies = upstream.sandbox.requestLog.authn.entries.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(bodies)).toEqual(new Set(['GET /.well-known/okta-organization', 'POST /api/v1/authn']))
  })

  test('the language of error texts: a warning unless it is English (S6)', async () => {
    expect((await authnChecks(upstream.signInEnv)).language).toBe('ok: error texts are English')
    upstream.sandbox.settings.language = 'de'
    const { token, language } = await authnChecks(upstream.signInEnv)
    upstream.sandbox.settings.language = 'en'
    expect(token).toBe('ok: Okta accepts the API token')
    expect(language).toMatch(/^warn: Okta’s error texts are not English/)
  })

  test('an address of this machine that the org blocks, or that ThreatInsight suspects (S14)', async () => {
    const { settings } = upstream.sandbox
    settings.blockedZones = [{ name: 'Blocked', gateways: ['127.0.0.1'], proxies: [] }]
    const blocked = await authnChecks(upstream.signInEnv)
    Object.assign(settings, { blockedZones: [], suspectedAddresses: ['127.0.0.1'] })
    const suspected = await authnChecks(upstream.signInEnv)
    settings.suspectedAddresses = []
    expect(blocked.reach).toBe(
      'fail: the org refuses this machine’s address, or another web server answers (HTTP 403)',
    )
    expect([suspected.reach, suspected.token]).toEqual([
      'ok: the org answers',
      'fail: Okta forbids the call, whatever the API token (HTTP 403)',
    ])
  })

  test('a wrong token', async () => {
    const { token } = await authnChecks({ ...upstream.signInEnv, AUTHN_API_TOKEN: 'a-wrong-token' })
    expect(token).toBe('fail: Okta refuses the API token (E0000011)')
  })

  test('the clock is off', async () => {
    const at = (offMs: number) => authnChecks(upstream.signInEnv, { now: () => Date.now() + offMs })
    expect((await at(600_000)).clock).toMatch(/^fail: /)
    expect((await at(-600_000)).clock).toMatch(/^fail: /)
    expect((await at(90_000)).clock).toMatch(/^warn: /)
  })
})

test.each([
  [0, 'ok: the clocks differ by 0 s'],
  [30_000, 'ok: the clocks differ by 30 s'],
  [-31_000, 'warn: the clocks differ by 31 s'],
  [300_000, 'warn: the clocks differ by 300 s'],
  [600_000, 'fail: the clocks differ by 600 s'],
])('a clock that is %d ms ahead of the org’s Date: %s', async (aheadMs, finding) => {
  const orgMs = Date.parse('2026-11-29T00:00:00Z')
  const url = await org(json(ORGANIZATION, { date: new Date(orgMs).toUTCString() }))
  const env = { AUTHN_BASE_URL: url, AUTHN_API_TOKEN: 'plainly-fake-token' }
  expect((await authnChecks(env, { now: () => orgMs + aheadMs })).clock).toBe(finding)
})

test('a web server at the address of the org: the token is not sent to it', async () => {
  const AUTHN_BASE_URL = await org(html(200), html(200))
  expect(await authnChecks({ AUTHN_BASE_URL })).toMatchObject({
    reach: 'fail: another web server answers, not Okta’s API (HTTP 200)',
    ...ALL_SKIPPED,
  })
  expect(stub?.requests.map(({ headers }) => headers.authorization)).toEqual([undefined])
})

test.each([
  ['a redirect', html(302), 'fail: another web server answers, not Okta’s API (HTTP 302)'],
  ['an org that fails', answer(new StubError(503, 'E0000009')), 'fail: the org fails (HTTP 503)'],
  ['an org without a description', answer(new StubError(404, 'E0000007')), 'ok: the org answers'],
])('%s', async (_, listener, reach) => {
  expect((await authnChecks({ AUTHN_BASE_URL: await org(listener) })).reach).toBe(reach)
})

test('no server, and no TLS on the port', async () => {
  const port = await deadPort()
  const unreachable = await authnChecks({ AUTHN_BASE_URL: `https://127.0.0.1:${port}` })
  expect(unreachable).toMatchObject({
    tls: 'skipped: no connection (unreachable ECONNREFUSED)',
    reach: 'fail: the org does not answer (unreachable ECONNREFUSED)',
    ...ALL_SKIPPED,
  })
  const plain = await org(json(ORGANIZATION))
  const { tls, reach } = await authnChecks({ AUTHN_BASE_URL: plain.replace('http:', 'https:') })
  expect(tls).toMatch(/^fail: the certificate is not accepted \(ERR_SSL_\w+\)$/)
  expect(reach).toBe('skipped: not possible without authn.tls')
})

test.each<[string, StubListener, string]>([
  ['v1', json(ORGANIZATION), 'ok: Classic Engine (v1)'],
  [
    'idx',
    json({ ...ORGANIZATION, pipeline: 'idx' }),
    'warn: Identity Engine (idx): parts of the Authentication API do not work',
  ],
  ['none', json({ id: '00o1' }), 'warn: the org does not name its pipeline'],
])('the pipeline %s', async (_, listener, pipeline) => {
  expect((await authnChecks({ AUTHN_BASE_URL: await org(listener) })).pipeline).toBe(pipeline)
})

test.each<[string, StubListener, string]>([
  [
    'a token that is limited to other addresses',
    answer(new StubError(403, 'E0000006')),
    'fail: Okta forbids the call, whatever the API token (HTTP 403)',
  ],
  [
    'an address that may describe the org but not sign in',
    html(403),
    'fail: the org refuses this machine’s address (HTTP 403 without an error code)',
  ],
  [
    'a rate limit',
    answer(new StubError(429, 'E0000047')),
    'warn: the org’s rate limit is used up (HTTP 429), so the API token is not checked',
  ],
  ['a page', html(200), 'warn: Okta’s response does not show whether the token is valid'],
])('%s', async (_, listener, token) => {
  const AUTHN_BASE_URL = await org(json(ORGANIZATION), listener)
  expect((await authnChecks({ AUTHN_BASE_URL })).token).toBe(token)
})

describe('the users', () => {
  const USERS = [{ id: '00uPlainlyFake', profile: { login: 'plainly.fake@example.test' } }]
  const unable = (reason: string) =>
    `fail: the API token could not read users (${reason}), so no session ends by a re-check`

  test.each<[string, StubListener, string]>([
    ['may be read', (_req, res) => sendJson(res, 200, USERS), 'ok: the API token may read users'],
    ['may not be read', answer(new StubError(403, 'E0000006')), unable('HTTP 403')],
    ['are a page', html(200), unable('HTTP 200')],
    [
      'are behind a rate limit',
      answer(new StubError(429, 'E0000047')),
      'warn: the org’s rate limit is used up (HTTP 429), so the right to read users is not checked',
    ],
    [
      'are not answered by an org that fails',
      answer(new StubError(500, 'E0000009')),
      'fail: the org fails at the call for users (HTTP 500)',
    ],
    ['are not answered', (req) => req.socket.destroy(), unable('connection_lost UND_ERR_SOCKET')],
  ])('%s', async (_, users, finding) => {
    stub = await startStubUpstream((req, res) => {
      if (req.path.startsWith('/.well')) return sendJson(res, 200, ORGANIZATION)
      return req.method === 'GET' ? users(req, res) : answer(TOKEN_ACCEPTED)(req, res)
    })
    const env = { AUTHN_BASE_URL: stub.origin, SESSION_RECHECK_MINUTES: '10' }
    expect((await authnChecks(env)).users).toBe(finding)
    expect(stub.requests.map(({ url }) => url)).toContain('/api/v1/users?limit=1')
  })

  test('are not read if SESSION_RECHECK_MINUTES is off', async () => {
    const AUTHN_BASE_URL = await org(json(ORGANIZATION))
    expect((await authnChecks({ AUTHN_BASE_URL })).users).toBe('skipped: SESSION_RECHECK_MINUTES is off')
    expect(stub?.requests.filter(({ path }) => path.startsWith('/api/v1/users'))).toEqual([])
  })
})
