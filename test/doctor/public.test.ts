import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { isIP } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { FORGED_ADDRESS, judgeClientAddress } from '../../src/doctor/client-address.ts'
import { createTrustedProxies } from '../../src/http/request-context.ts'
import { freePort, type Gatehouse, startGatehouse } from '../support/gatehouse.ts'
import { deadPort, listenAnywhere, startStubUpstream } from '../support/stub-upstream.ts'
import { diagnose, group } from './diagnose.ts'

const CLIENT = '203.0.113.9'
const WRITTEN = { 'x-forwarded-for': CLIENT }

let gatehouse: Gatehouse
beforeAll(async () => {
  const env = { AUTHN_BASE_URL: 'http://127.0.0.1:9', TRUST_PROXY: '127.0.0.1/32', OPS_TOKEN }
  gatehouse = await startGatehouse({ env })
})
afterAll(() => gatehouse.stop())

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
}

/** The proxy in front of the broker. It writes X-Forwarded-For, unless the rewrite replaces it. */
async function proxy({ request: toBroker, response: toClient, portOf }: Rewrites = {}): Promise<string> {
  const server = createServer((req, res) => {
    const { method, url = '' } = req
    const port = portOf?.(url, req.headers) ?? new URL(gatehouse.url).port
    const written = { ...req.headers, ...(toBroker?.(req.headers) ?? WRITTEN) }
    const headers = Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined))
    const forwarded = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, toClient?.(answer.headers) ?? answer.headers)
      answer.pipe(res)
    })
    forwarded.on('error', () => res.destroy())
    req.pipe(forwarded)
  })
  const port = await listenAnywhere(server)
  cleanUps.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://localhost:${port}`
}

const diagnosePublic = async (PUBLIC_URL: string, env = {}): Promise<Record<string, string | undefined>> => {
  const results = await diagnose({ PUBLIC_URL, TRUST_PROXY: '127.0.0.1/32', ...env })
  return { ...group('public', results), ops: results['ops.closed'] }
}

const OK = {
  reach: 'ok: the broker answers',
  cookies: 'ok: the device cookie comes back',
  headers: 'ok: Origin, Sec-Fetch-Site and the client’s address arrive; a forged X-Forwarded-For is not used',
  ops: 'ok: the ops listener is not reachable through PUBLIC_URL',
}
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

test.each<[string, Rewrites, string]>([
  ['Sec-Fetch-Site', { request: () => drop('sec-fetch-site') }, 'fail: Sec-Fetch-Site does not arrive'],
  ['Origin', { request: () => drop('origin') }, 'fail: Origin does not arrive'],
])('a proxy that removes %s', async (_, rewrites, headers) => {
  expect(await diagnosePublic(await proxy(rewrites))).toEqual({ ...OK, headers })
})

const forwarding = (write: (given: string | undefined) => string | undefined): Rewrites => ({
  request: (headers) => ({ 'x-forwarded-for': write(headers['x-forwarded-for'] as string | undefined) }),
})

test.each<[string, Rewrites, string]>([
  [
    'passes the header of clients',
    forwarding((given) => given ?? CLIENT),
    'fail: a forged X-Forwarded-For is used',
  ],
  [
    'replaces it with the address in it (nginx: set_real_ip_from 0.0.0.0/0)',
    forwarding((given) => (isIP(given ?? '') > 0 ? given : CLIENT)),
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
    'removes the doctor’s probe',
    { request: () => drop('x-gatehouse-doctor') },
    'warn: the broker does not say which address it takes for the client’s',
  ],
  [
    'removes Sec-Fetch-Site, and passes the header of clients',
    { request: (headers) => ({ ...WRITTEN, ...headers, 'sec-fetch-site': undefined }) },
    'fail: Sec-Fetch-Site does not arrive; a forged X-Forwarded-For is used',
  ],
])('a proxy that %s', async (_, rewrites, headers) => {
  expect(await diagnosePublic(await proxy(rewrites))).toEqual({ ...OK, headers })
})

test.each([
  ['sends no X-Forwarded-For', undefined, 'fail: X-Forwarded-For does not arrive'],
  [
    'sends one without an address',
    'unknown',
    'fail: a proxy adds an entry to X-Forwarded-For that is not an address',
  ],
])('a proxy that %s', async (_, written, headers) => {
  expect(await diagnosePublic(await proxy(forwarding(() => written)))).toMatchObject({
    reach: 'ok: the broker answers, and refuses the request',
    headers,
  })
})

test('a broker with other SECRET_KEYS does not answer the probe', async () => {
  const { headers } = await diagnosePublic(await proxy(), {
    SECRET_KEYS: randomBytes(32).toString('base64url'),
  })
  expect(headers).toBe('warn: the broker does not say which address it takes for the client’s')
})

const trusts = (...trusted: string[]) => ({ secure: true, isTrustedProxy: createTrustedProxies(trusted) })
const through = (address: string, firstForwarded?: string) => ({ address, firstForwarded })

test('https, but no X-Forwarded-For', () => {
  const alone = through('10.0.0.1')
  expect(judgeClientAddress(alone, alone, trusts())).toMatchObject({
    status: 'fail',
    detail: 'X-Forwarded-For does not arrive: all users share the address 10.0.0.1',
  })
})

test('TRUST_PROXY is not set', () => {
  const seen = through('10.0.0.1', CLIENT)
  expect(judgeClientAddress(seen, seen, trusts())).toMatchObject({
    status: 'fail',
    detail: 'TRUST_PROXY does not contain 10.0.0.1, which sent X-Forwarded-For: all users share this address',
  })
})

test('TRUST_PROXY contains every address', () => {
  const forged = through(FORGED_ADDRESS, FORGED_ADDRESS)
  expect(judgeClientAddress(through(CLIENT, CLIENT), forged, trusts('0.0.0.0/0'))).toMatchObject({
    status: 'fail',
    detail: 'a forged X-Forwarded-For is used: TRUST_PROXY contains addresses of clients',
  })
})

test('a proxy that removes cookies, in one direction or the other', async () => {
  const toClient = await diagnosePublic(await proxy({ response: without('set-cookie') }))
  expect(toClient).toEqual({ ...OK, cookies: 'fail: the response sets no device cookie' })
  const toBroker = await diagnosePublic(await proxy({ request: () => drop('cookie') }))
  expect(toBroker.cookies).toMatch(/^fail: the device cookie does not come back/)
})

test('a proxy that does not answer a request with a cookie', async () => {
  const nowhere = String(await deadPort())
  const url = await proxy({ portOf: (_path, { cookie }) => (cookie === undefined ? undefined : nowhere) })
  expect((await diagnosePublic(url)).cookies).toBe('fail: no response (connection_lost UND_ERR_SOCKET)')
})

test('a proxy that does not pass the paths of the broker, and none', async () => {
  const page = await startStubUpstream((_req, res) => res.end('<h1>Portal</h1>'))
  cleanUps.push(page.close)
  expect(await diagnosePublic(page.origin.replace('127.0.0.1', 'localhost'))).toEqual({
    reach: 'fail: not the expected response of the broker (HTTP 200)',
    cookies: NOT_REACHED,
    headers: NOT_REACHED,
    ops: NOT_REACHED,
  })
  const { reach } = await diagnosePublic(`http://localhost:${await deadPort()}`)
  expect(reach).toBe('fail: PUBLIC_URL does not answer (unreachable ECONNREFUSED)')
})

const opsPort = () => new URL(gatehouse.opsUrl).port

test.each(['/livez', '/readyz', '/metrics', '/openapi.json', '/admin/users/doctor/sessions'])(
  'a proxy that passes %s to the ops listener',
  async (path) => {
    const url = await proxy({ portOf: (given) => (given === path ? opsPort() : undefined) })
    expect((await diagnosePublic(url)).ops).toBe(`fail: the ops listener is public: ${path} on PUBLIC_URL`)
  },
)

test('the ops port is published', async () => {
  const published = await diagnosePublic(await proxy(), { OPS_HOST: '0.0.0.0', OPS_PORT: opsPort() })
  expect(published.ops).toBe('fail: the ops listener is public: OPS_PORT on the host of PUBLIC_URL')
  const closed = await diagnosePublic(await proxy(), {
    OPS_HOST: '0.0.0.0',
    OPS_PORT: String(await freePort()),
  })
  expect(closed.ops).toBe(OK.ops)
})
