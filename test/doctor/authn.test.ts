import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type SandboxUpstream, startSandboxUpstream } from '../support/sandbox-upstream.ts'
import {
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
    // the machine may be busy
    expect(reach).toMatch(/^(ok: the org answers|warn: the org takes [\d.]+ s to answer)$/)
    expect(token).toBe('ok: Okta accepts the API token')
    expect(clock).toMatch(/^ok: the clocks differ by \d s$/)
    const bodies = upstream.sandbox.requestLog.authn.entries.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(bodies)).toEqual(new Set(['GET /.well-known/okta-organization', 'POST /api/v1/authn']))
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

test('an org without a description', async () => {
  const AUTHN_BASE_URL = await org(answer(new StubError(404, 'E0000007')))
  expect((await authnChecks({ AUTHN_BASE_URL })).reach).toBe('ok: the org answers')
})

describe('the users', () => {
  const USERS = [{ id: '00uPlainlyFake', profile: { login: 'plainly.fake@example.test' } }]
  test('may be read', async () => {
    stub = await startStubUpstream((req, res) => {
      if (req.path.startsWith('/.well')) return sendJson(res, 200, ORGANIZATION)
      return req.method === 'GET' ? sendJson(res, 200, USERS) : answer(TOKEN_ACCEPTED)(req, res)
    })
    const env = { AUTHN_BASE_URL: stub.origin, SESSION_RECHECK_MINUTES: '10' }
    expect((await authnChecks(env)).users).toBe('ok: the API token may read users')
    expect(stub.requests.map(({ url }) => url)).toContain('/api/v1/users?limit=1')
  })

  test('are not read if SESSION_RECHECK_MINUTES is off', async () => {
    const AUTHN_BASE_URL = await org(json(ORGANIZATION))
    expect((await authnChecks({ AUTHN_BASE_URL })).users).toBe('skipped: SESSION_RECHECK_MINUTES is off')
    expect(stub?.requests.filter(({ path }) => path.startsWith('/api/v1/users'))).toEqual([])
  })
})
