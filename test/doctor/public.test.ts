import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { judgeHandOver, type TriedHandOver } from '../../src/doctor/applications.ts'
import { FORGED_ADDRESS, judgeClientAddress } from '../../src/doctor/client-address.ts'
import type { Probed } from '../../src/doctor/probes.ts'
import { judgeBoundSessions } from '../../src/doctor/public.ts'
import { createTrustedProxies } from '../../src/http/request-context.ts'
import { freePort, type Gatehouse, startGatehouse } from '../support/gatehouse.ts'
import { startRedis } from '../support/redis-server.ts'
import { startSandboxUpstream } from '../support/sandbox-upstream.ts'
import { deadPort, startStubUpstream } from '../support/stub-upstream.ts'
import { diagnose, group, PATIENT } from './diagnose.ts'

const CLIENT = '203.0.113.9'
const WRITTEN = { 'x-forwarded-for': CLIENT }

let gatehouse: Gatehouse
/** Of the proxy, in `PUBLIC_URL`. */
let publicPort: number
/** Of the proxy of an application's host. */
let applicationPort: number
beforeAll(async () => {
  publicPort = await freePort()
  applicationPort = await freePort()
  const env = {
    PUBLIC_URL: `http://localhost:${publicPort}`,
    AUTHN_BASE_URL: 'http://127.0.0.1:9',
    TRUST_PROXY: '127.0.0.1/32',
    OPS_TOKEN,
    ALLOWED_ORIGINS: ALLOWED_ORIGIN,
    EVENT_HOOK_SECRET,
    RETURN_TO: `http://localhost:${applicationPort}/wiki`,
  }
  gatehouse = await startGatehouse({ env })
})
afterAll(() => gatehouse.stop())

const ALLOWED_ORIGIN = 'http://localhost:3999'
const EVENT_HOOK_SECRET = 'plainly-fake-event-hook-secret'
const OPS_TOKEN = 'plainly-fake-ops-token-of-32-characters'
const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

interface Rewrites {
  readonly request?: (headers: IncomingHttpHeaders) => IncomingHttpHeaders
  readonly response?: (headers: IncomingHttpHeaders) => IncomingHttpHeaders
  /** The port to which a request goes. Default: the broker's. */
  readonly portOf?: (path: string, headers: IncomingHttpHeaders) => string | undefined
  readonly path?: (path: string) => string
  /** Answers instead of the broker. Resolves with true if it has answered. */
  readonly intercept?: (req: IncomingMessage, res: ServerResponse) => Promise<boolean>
  /** Answers instead of the broker when it has. */
  readonly replace?: (answer: IncomingMessage, res: ServerResponse) => boolean
}

/** The proxy in front of the broker. It writes X-Forwarded-For, unless the rewrite replaces it. */
async function proxy(rewrites: Rewrites = {}): Promise<string> {
  // the proxy before this one has the same port
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
  return listen(publicPort, rewrites)
}

async function listen(at: number, rewrites: Rewrites): Promise<string> {
  const { request: toBroker, response: toClient, portOf } = rewrites
  const server = createServer(async (req, res) => {
    const { intercept = when(({ url }) => url?.startsWith('/forward-auth') === true, 404) } = rewrites
    if (await intercept(req, res)) return
    const { method, url = '' } = req
    const port = portOf?.(url, req.headers) ?? new URL(gatehouse.url).port
    const written = { ...req.headers, ...(toBroker?.(req.headers) ?? WRITTEN) }
    const headers = Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined))
    const forwarded = request(
      { host: '127.0.0.1', port, method, path: rewrites.path?.(url) ?? url, headers },
      (answer) => {
        if (rewrites.replace?.(answer, res)) return void answer.resume()
        res.writeHead(answer.statusCode ?? 502, toClient?.(answer.headers) ?? answer.headers)
        answer.pipe(res)
      },
    )
    forwarded.on('error', () => res.destroy())
    req.pipe(forwarded)
  })
  server.listen(at, '127.0.0.1')
  await once(server, 'listening')
  cleanUps.push(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  return `http://localhost:${at}`
}

const diagnosePublic = async (
  PUBLIC_URL: string,
  env = {},
  deadlines = {},
): Promise<Record<string, string | undefined>> => {
  const results = await diagnose(
    { PUBLIC_URL, TRUST_PROXY: '127.0.0.1/32', ...env },
    { deadlines: { ...PATIENT, ...deadlines } },
  )
  return { ...group('public', results), ops: results['ops.closed'] }
}

const OK = {
  reach: 'ok: the broker answers',
  paths: 'ok: all paths that the configuration needs are passed, with their query',
  redis: 'skipped: REDIS_URL is memory:, the embedded store',
  keepalive: 'ok: the proxy keeps connections to the broker open',
  event_hook: 'skipped: EVENT_HOOK_SECRET is not set',
  cookies: 'ok: the device cookie comes back',
  headers: 'ok: Origin, Sec-Fetch-Site and the client’s address arrive; a forged X-Forwarded-For is not used',
  bound_sessions: 'skipped: DEVICE_BOUND_SESSIONS is off',
  applications: 'skipped: RETURN_TO has no other host on the site of PUBLIC_URL',
  ops: 'ok: the ops listener is not reachable through PUBLIC_URL',
}
const HOOK_OK = 'ok: the event hook answers as Okta expects'
const HOOK_LOST = 'fail: the event hook does not answer as Okta expects (HTTP 401)'
const NOT_REACHED = 'skipped: not possible without public.reach'

test('all checks pass, and nothing is sent to Okta', async () => {
  expect(await diagnosePublic(await proxy())).toEqual(OK)
  expect(gatehouse.logText()).not.toContain('dependency_failed')
})

test('a proxy that appends to X-Forwarded-For is as good', async () => {
  const append = ({ 'x-forwarded-for': given }: IncomingHttpHeaders) => ({
    'x-forwarded-for': given === undefined ? CLIENT : `${given}, ${CLIENT}`,
  })
  expect(await diagnosePublic(await proxy({ request: append }))).toEqual(OK)
})

const without =
  (...names: string[]) =>
  (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
const drop = (name: string) => ({ ...WRITTEN, [name]: undefined })

const forwarding = (write: (given: string | undefined) => string | undefined): Rewrites => ({
  request: (headers) => ({ 'x-forwarded-for': write(headers['x-forwarded-for'] as string | undefined) }),
})

test.each<[string, Rewrites, string]>([
  [
    'removes Sec-Fetch-Site',
    { request: () => drop('sec-fetch-site') },
    'fail: Sec-Fetch-Site does not arrive',
  ],
  ['removes Origin', { request: () => drop('origin') }, 'fail: Origin does not arrive'],
  [
    'passes the header of clients',
    forwarding((given) => given ?? CLIENT),
    'fail: a forged X-Forwarded-For is used',
  ],
  [
    'adds the doctor’s address, which is in TRUST_PROXY',
    forwarding((given) => (given === undefined ? '127.0.0.1' : `${given}, 127.0.0.1`)),
    'warn: TRUST_PROXY contains the address of the doctor (127.0.0.1), so the doctor cannot check whether a forged X-Forwarded-For is used',
  ],
  [
    'replaces it with the doctor’s address, which is in TRUST_PROXY',
    forwarding(() => '127.0.0.1'),
    OK.headers,
  ],
  [
    'is behind a proxy that is not in TRUST_PROXY',
    forwarding(() => `${CLIENT}, 203.0.113.77`),
    'fail: TRUST_PROXY does not contain 203.0.113.77, which sent X-Forwarded-For: all users share this address',
  ],
  [
    'allows pages of every origin',
    { response: (headers) => ({ ...headers, 'access-control-allow-origin': '*' }) },
    'fail: the proxy lets pages of every origin read responses (Access-Control-Allow-Origin)',
  ],
  [
    'removes the doctor’s probe',
    { request: () => drop('x-gatehouse-doctor') },
    'warn: the broker does not say which address it takes for the client’s',
  ],
])('a proxy that %s', async (_, rewrites, headers) => {
  expect(await diagnosePublic(await proxy(rewrites))).toMatchObject({
    reach: OK.reach,
    cookies: OK.cookies,
    ops: OK.ops,
    headers,
  })
})

test.each<[string, string | undefined | ((given?: string) => string | undefined), string]>([
  [
    'passes the header of clients, and adds no address',
    (given) => given,
    'fail: the proxy passes the X-Forwarded-For of clients, and adds no address: it can be forged',
  ],
  ['sends no X-Forwarded-For', undefined, 'fail: X-Forwarded-For does not arrive'],
  [
    'sends one without an address',
    'unknown',
    'fail: a proxy adds an entry to X-Forwarded-For that is not an address',
  ],
  ['adds an empty entry', `${CLIENT}, ,`, 'fail: a proxy adds an empty entry to X-Forwarded-For'],
])('a proxy that %s', async (_, written, headers) =>
  expect(
    await diagnosePublic(await proxy(forwarding(typeof written === 'function' ? written : () => written))),
  ).toMatchObject({
    reach: OK.reach,
    cookies: 'skipped: not possible without public.headers',
    headers,
  }),
)

test('a broker with other SECRET_KEYS does not answer the probe', async () => {
  const { headers, event_hook } = await diagnosePublic(await proxy(), {
    SECRET_KEYS: randomBytes(32).toString('base64url'),
    EVENT_HOOK_SECRET,
  })
  // the secret is not sent to it
  expect(event_hook).toBe('skipped: the broker does not answer the doctor’s probes')
  expect(headers).toBe('warn: the broker does not say which address it takes for the client’s')
})

const trusts = (...trusted: string[]) => ({ secure: true, isTrustedProxy: createTrustedProxies(trusted) })
const through = (address: string, firstForwarded?: string) => ({ address, firstForwarded })

const alone = through('10.0.0.1')
test.each([
  {
    what: 'https, but no X-Forwarded-For',
    seen: [alone, alone],
    trusted: [],
    detail: 'X-Forwarded-For does not arrive: all users share the address 10.0.0.1',
  },
  {
    what: 'TRUST_PROXY contains every address',
    seen: [through(CLIENT, CLIENT), through(FORGED_ADDRESS, FORGED_ADDRESS)],
    trusted: ['0.0.0.0/0'],
    detail: 'a forged X-Forwarded-For is used: TRUST_PROXY contains addresses of clients',
  },
] as const)('$what', ({ seen: [own, forged], trusted, detail }) => {
  expect(judgeClientAddress(own, forged, trusts(...trusted))).toMatchObject({ status: 'fail', detail })
})

test('a proxy that removes cookies, in one direction or the other', async () => {
  const toClient = await diagnosePublic(await proxy({ response: without('set-cookie') }))
  expect(toClient).toEqual({ ...OK, cookies: 'fail: the response sets no device cookie' })
  const toBroker = await diagnosePublic(await proxy({ request: () => drop('cookie') }))
  expect(toBroker.cookies).toMatch(/^fail: the device cookie does not come back/)
})

const NOT_CHECKED = {
  paths: NOT_REACHED,
  redis: NOT_REACHED,
  keepalive: NOT_REACHED,
  event_hook: NOT_REACHED,
  cookies: NOT_REACHED,
  headers: NOT_REACHED,
  bound_sessions: NOT_REACHED,
  applications: OK.applications,
  ops: NOT_REACHED,
}
const answering =
  (status: number): NonNullable<Rewrites['intercept']> =>
  async (req, res) => {
    req.resume()
    res.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Refused</h1>')
    return true
  }
const when =
  (isRefused: (req: IncomingMessage) => boolean, status: number): NonNullable<Rewrites['intercept']> =>
  async (req, res) =>
    isRefused(req) && (await answering(status)(req, res))

function cacheGets(): NonNullable<Rewrites['intercept']> {
  const cached = new Map<string, string>()
  return async ({ method, url = '', headers }, res) => {
    if (method !== 'GET') return false
    const sent = { ...WRITTEN, 'x-gatehouse-doctor': String(headers['x-gatehouse-doctor']) }
    const answered = () => fetch(gatehouse.url + url, { headers: sent, redirect: 'manual' })
    const body = cached.get(url) ?? (await (await answered()).text())
    cached.set(url, body)
    res.writeHead(302, { 'content-type': 'application/json' }).end(body)
    return true
  }
}

const cutAfterOneSecond: Rewrites = {
  async intercept(_req, res) {
    setTimeout(() => res.headersSent || res.writeHead(504).end(), 1000).unref()
    return false
  },
  replace: (_answer, res) => res.headersSent,
}

test.each<[string, Rewrites, string]>([
  [
    'strips /api',
    { path: (path) => path.replace(/^\/api/, '') },
    'the proxy changes the path, so no route of the broker is found',
  ],
  [
    'refuses POST',
    { intercept: when(({ method }) => method === 'POST', 403) },
    'the proxy does not pass POST (HTTP 403)',
  ],
  [
    'refuses DELETE',
    { intercept: when(({ method }) => method === 'DELETE', 405) },
    'the proxy does not pass DELETE (HTTP 405)',
  ],
  [
    'answers OPTIONS itself',
    { intercept: when(({ method }) => method === 'OPTIONS', 204) },
    'the proxy does not pass OPTIONS (HTTP 204)',
  ],
  [
    'limits requests',
    { intercept: when(({ method }) => method !== 'GET', 429) },
    'the proxy limits requests (HTTP 429)',
  ],
  [
    'has a replica that is down',
    { intercept: when(({ headers }) => !('x-gatehouse-doctor' in headers), 502) },
    'the proxy gets no answer of the broker, or of one of its replicas (HTTP 502)',
  ],
  [
    'has no replica',
    { intercept: answering(502) },
    'the proxy gets no answer of the broker, or of one of its replicas (HTTP 502)',
  ],
  ['leads to the ops listener', { portOf: () => opsPort() }, 'PUBLIC_URL leads to the ops listener'],
  [
    'replaces a 401 with its own sign-in',
    {
      replace: ({ statusCode }, res) =>
        statusCode === 401 && Boolean(res.writeHead(302, { location: '/login' }).end()),
    },
    'the proxy replaces the errors of the broker (on a 401, HTTP 302)',
  ],
  [
    'has a page of its own for a 503',
    {
      replace: ({ statusCode }, res) =>
        statusCode === 503 &&
        Boolean(res.writeHead(503, { 'content-type': 'text/html' }).end('<h1>Back soon</h1>')),
    },
    'the proxy replaces the errors of the broker (on a 503, HTTP 503)',
  ],
  [
    'loses a replica while the doctor asks',
    { replace: ({ statusCode }, res) => statusCode === 503 && Boolean(res.writeHead(502).end()) },
    'the proxy gets no answer of the broker, or of one of its replicas (HTTP 502)',
  ],
  [
    'replaces error pages',
    {
      replace: ({ statusCode = 0 }, res) =>
        statusCode >= 400 &&
        Boolean(res.writeHead(statusCode, { 'content-type': 'text/html' }).end('<h1>Oops</h1>')),
    },
    'the proxy replaces the errors of the broker (HTTP 404)',
  ],
  [
    'allows bodies of 100 B',
    { intercept: when(({ headers }) => Number(headers['content-length']) > 100, 413) },
    'the proxy does not pass a body of 60 kB (HTTP 413)',
  ],
  ['caches', { intercept: cacheGets() }, 'a cache answers instead of the broker'],
])('a proxy that %s is named once, and the other checks are skipped', async (_, rewrites, detail) => {
  expect(await diagnosePublic(await proxy(rewrites))).toEqual({ reach: `fail: ${detail}`, ...NOT_CHECKED })
})

test('a proxy that waits for a response for one second', async () => {
  const results = await diagnosePublic(await proxy(cutAfterOneSecond), {}, { slowMs: 1500 })
  expect(results).toEqual({
    reach: expect.stringMatching(
      /^fail: the proxy ends a request after 1(\.\d)? s, before the broker answers \(HTTP 504\)$/,
    ),
    ...NOT_CHECKED,
  })
})

test('a broker with another PUBLIC_URL', async () => {
  await proxy()
  expect(await diagnosePublic(`http://127.0.0.1:${publicPort}`)).toEqual({
    reach: 'fail: the running broker has another PUBLIC_URL',
    ...NOT_CHECKED,
  })
})

test('PUBLIC_URL leads to Okta', async () => {
  const upstream = await startSandboxUpstream()
  cleanUps.push(upstream.close)
  const { reach, paths } = await diagnosePublic(upstream.signInEnv.AUTHN_BASE_URL ?? '', {
    AUTHN_BASE_URL: 'http://127.0.0.1:9',
  })
  expect([reach, paths]).toEqual(['fail: PUBLIC_URL leads to Okta itself, not to the broker', NOT_REACHED])
})

test('a connection that is reset once is tried again', async () => {
  let resets = 0
  const resetFirst: Rewrites = {
    async intercept(req) {
      if (resets > 0) return false
      resets++
      req.socket.resetAndDestroy()
      return true
    },
  }
  expect((await diagnosePublic(await proxy(resetFirst))).reach).toBe(OK.reach)
  expect(resets).toBe(1)
})

test('a path that a variable needs and the proxy does not pass, and /app/v1, which it passes', async () => {
  const hidden = when(({ url }) => /^\/(hooks|sso)\//.test(url ?? ''), 404)
  const appTokens: Rewrites['intercept'] = async (req, res) => {
    if (!req.url?.startsWith('/app/v1/')) return hidden(req, res)
    res.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Bearer' })
    res.end(JSON.stringify({ errorCode: 'E0000011' }))
    return true
  }
  const intercept: Rewrites['intercept'] = async (req, res) =>
    (await when(({ url }) => url?.startsWith('/forward-auth') === true, 404)(req, res)) ||
    (await appTokens(req, res))
  const results = await diagnosePublic(await proxy({ intercept }), {
    EVENT_HOOK_SECRET: 'plainly-fake-event-hook-secret',
  })
  expect(results).toEqual({
    ...OK,
    paths: 'fail: not passed to the broker: /hooks/org-events (EVENT_HOOK_SECRET; HTTP 404)',
    event_hook: 'fail: the event hook does not answer as Okta expects (HTTP 404)',
    ops: 'warn: /app/v1 is public',
  })
})

test.each<[string, Rewrites, Partial<typeof OK>]>([
  [
    'drops queries',
    { path: (path) => path.replace(/\?.*/, '') },
    {
      paths:
        'fail: the proxy drops or changes the query of /signin, /signin/step-up, /login/sessionCookieRedirect, /login/step-up/redirect, /sso/idps/doctor',
    },
  ],
  [
    'opens a connection for each request',
    { request: () => ({ ...WRITTEN, connection: 'close' }) },
    { keepalive: 'warn: the proxy opens a connection for each request (8 of 8)' },
  ],
  [
    'adds Cache-Control: public',
    { response: (headers) => ({ ...headers, 'cache-control': 'public, max-age=60' }) },
    {
      headers: 'fail: the proxy changes Cache-Control, so that caches may keep what is one user’s',
    },
  ],
])('a proxy that %s', async (_, rewrites, expected) => {
  expect(await diagnosePublic(await proxy(rewrites))).toEqual({ ...OK, ...expected })
})

test('a broker on another Redis than the doctor’s, and on the same one', async () => {
  const [own, other] = [await startRedis(), await startRedis()]
  const broker = await startGatehouse({ env: { AUTHN_BASE_URL: 'http://127.0.0.1:9', REDIS_URL: own.url } })
  cleanUps.push(own.stop, other.stop, broker.stop)
  const checkRedis = async (REDIS_URL: string) =>
    (await diagnose({ PUBLIC_URL: broker.url, REDIS_URL }))['public.redis']
  expect(await checkRedis(own.url)).toBe('ok: the running broker uses this Redis')
  const different =
    'fail: the running broker, or one of its replicas, uses another Redis, database or key prefix than the doctor'
  expect(await checkRedis(other.url)).toBe(different)
  expect(await checkRedis(`${own.url}/1`)).toBe(different)
  expect(await own.client().keys('gatehouse:doctor:*')).toEqual([])
})

test.each([
  ['HttpOnly', 'httponly'],
  ['SameSite=Lax', 'samesite=lax'],
])('a proxy that removes %s from cookies', async (attribute, missing) => {
  const response = (headers: IncomingHttpHeaders) => {
    const cookies = headers['set-cookie']?.map((cookie) => cookie.replace(`; ${attribute}`, ''))
    return { ...headers, ...(cookies && { 'set-cookie': cookies }) }
  }
  expect(await diagnosePublic(await proxy({ response }))).toEqual({
    ...OK,
    cookies: `fail: the proxy changes the attributes of cookies: ${missing} is missing`,
  })
})

test('a proxy that passes /forward-auth', async () => {
  expect(await diagnosePublic(await proxy({ intercept: async () => false }))).toEqual({
    ...OK,
    ops: 'warn: /forward-auth is public',
  })
})

test('a proxy that does not pass the paths of the broker, and none', async () => {
  const page = await startStubUpstream((_req, res) => res.end('<h1>Portal</h1>'))
  cleanUps.push(page.close)
  expect(await diagnosePublic(page.origin.replace('127.0.0.1', 'localhost'))).toEqual({
    reach: 'fail: not the expected response of the broker (HTTP 200)',
    ...NOT_CHECKED,
  })
  const { reach } = await diagnosePublic(`http://localhost:${await deadPort()}`)
  expect(reach).toBe('fail: PUBLIC_URL does not answer (unreachable ECONNREFUSED)')
})

const opsPort = () => new URL(gatehouse.opsUrl).port

test('a proxy that passes the paths of the ops listener', async () => {
  const paths = ['/livez', '/readyz', '/metrics', '/openapi.json', '/admin/users/doctor/sessions']
  const url = await proxy({ portOf: (path) => (paths.includes(path) ? opsPort() : undefined) })
  const { ops = '' } = await diagnosePublic(url)
  expect(ops).toMatch(/^fail: the ops listener is public: .* on PUBLIC_URL$/)
  for (const path of paths) expect(ops).toContain(path)
  const underPath = await proxy({
    portOf: (path) => (path.startsWith('/ops/') ? opsPort() : undefined),
    path: (path) => path.replace(/^\/ops\//, '/'),
  })
  expect((await diagnosePublic(underPath)).ops).toBe(
    'fail: the ops listener is public: /ops/livez, /ops/metrics on PUBLIC_URL',
  )
})

test.each<[string, Rewrites, Record<string, string>, Partial<typeof OK>]>([
  ['passes on what the event hook needs', {}, { EVENT_HOOK_SECRET }, { event_hook: HOOK_OK }],
  [
    'removes Authorization',
    { request: () => drop('authorization') },
    { EVENT_HOOK_SECRET },
    { event_hook: HOOK_LOST },
  ],
  [
    'is in front of a broker with another secret',
    {},
    { EVENT_HOOK_SECRET: 'plainly-fake-other-hook-secret' },
    { event_hook: HOOK_LOST },
  ],
  ['passes on what ALLOWED_ORIGINS need', {}, { ALLOWED_ORIGINS: ALLOWED_ORIGIN }, {}],
  [
    'removes what ALLOWED_ORIGINS need',
    { response: without('access-control-allow-origin') },
    { ALLOWED_ORIGINS: ALLOWED_ORIGIN },
    {
      headers: 'fail: pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Origin)',
    },
  ],
])('a proxy that %s', async (_, rewrites, env, expected) => {
  expect(await diagnosePublic(await proxy(rewrites), env)).toEqual({ ...OK, ...expected })
})

test('the ops port is published', async () => {
  const published = await diagnosePublic(await proxy(), { OPS_HOST: '0.0.0.0', OPS_PORT: opsPort() })
  expect(published.ops).toBe('fail: the ops listener is public: OPS_PORT on the host of PUBLIC_URL')
  const closed = await diagnosePublic(await proxy(), {
    OPS_HOST: '0.0.0.0',
    OPS_PORT: String(await freePort()),
  })
  expect(closed.ops).toBe(OK.ops)
})

test('device-bound sessions need their headers both ways, and their path', () => {
  const requestHeaders = ['Secure-Session-Response', 'Sec-Secure-Session-Id', 'Secure-Session-Skipped']
  const responseHeaders = { 'secure-session-registration': 'doctor', 'secure-session-challenge': 'doctor' }
  const judge = (boundSessionHeaders: string[], headers: object, isPassedOn = true) => {
    const probed: unknown = { response: { headers }, answer: { boundSessionHeaders } }
    // it reads no more
    const { status, detail } = judgeBoundSessions(probed as Probed, isPassedOn)
    return `${status}: ${detail}`
  }
  expect(judge(requestHeaders, responseHeaders)).toBe(
    'ok: the headers of device-bound sessions pass both ways',
  )
  expect(judge(requestHeaders.slice(1), {})).toBe(
    'fail: Secure-Session-Response does not arrive; Secure-Session-Registration does not come back; Secure-Session-Challenge does not come back',
  )
  expect(judge(requestHeaders, responseHeaders, false)).toBe(
    'fail: /bound-session/refresh does not lead to the broker',
  )
})

/** `host` instead of that of an application; {host} stands for it. */
test.each<[string, (host: string) => Rewrites, string]>([
  ['passes on what it must', () => ({}), 'ok: a hand-over to {host} gets as far as the sign-in'],
  [
    'does not pass the start',
    () => ({ intercept: when(({ url }) => url?.startsWith('/forward-auth') === true, 404) }),
    'warn: {host} does not pass /forward-auth/start to the broker (HTTP 404)',
  ],
  [
    'asks who is signed in before the start',
    () => ({
      intercept: async ({ url = '' }, res) => {
        res.writeHead(302, { location: `/forward-auth/start?returnTo=${url}` }).end()
        return true
      },
    }),
    'fail: {host} sends /forward-auth/start to /forward-auth/start again, in a loop',
  ],
  [
    'does not name its host',
    () => ({ request: () => drop('x-forwarded-host') }),
    'fail: X-Forwarded-Host does not arrive from {host}',
  ],
  [
    'names another host',
    () => ({ request: () => ({ ...WRITTEN, 'x-forwarded-host': 'localhost' }) }),
    'fail: X-Forwarded-Host arrives from {host} as another host',
  ],
  [
    'passes on the header of clients',
    (host) => ({
      request: (given) => ({ ...WRITTEN, 'x-forwarded-host': given['x-forwarded-host'] ?? host }),
    }),
    'fail: the proxy of {host} passes on the X-Forwarded-Host of clients: it can be forged',
  ],
  [
    'removes the cookies',
    () => ({ response: without('set-cookie') }),
    'fail: the cookie of {host}/forward-auth/start does not come back at /forward-auth/callback (HTTP 401 E0000011)',
  ],
  [
    'removes the Sec-Fetch headers',
    (host) => ({ request: () => ({ ...drop('sec-fetch-mode'), 'x-forwarded-host': host }) }),
    'fail: {host}/forward-auth/start does not lead to /signin (HTTP 403 E0000006)',
  ],
])('the proxy of an application that %s', async (_, rewrites, wanted) => {
  const host = `localhost:${applicationPort}`
  const publicUrl = await proxy()
  await listen(applicationPort, {
    request: () => ({ ...WRITTEN, 'x-forwarded-host': host }),
    intercept: when(({ url }) => url === '/forward-auth', 404),
    ...rewrites(host),
  })
  const found = await diagnosePublic(publicUrl, { RETURN_TO: `http://${host}/wiki` })
  expect(found).toMatchObject({ reach: OK.reach, applications: wanted.replace('{host}', host) })
})

test('the proxy of an application that is not in TRUST_PROXY', () => {
  const answer = { isFromProxy: false, forwardedHost: 'wiki.example.com' } as Probed['answer']
  const probed = { answer } as Probed
  const tried = { host: 'wiki.example.com', seen: probed, forged: probed } as TriedHandOver
  expect(judgeHandOver(tried)).toMatchObject({
    status: 'fail',
    detail: 'the proxy of wiki.example.com is not in TRUST_PROXY, so its X-Forwarded-Host does not count',
  })
})
