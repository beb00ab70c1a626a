import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createHttpClient } from '../../src/doctor/http-client.ts'
import { publicChecks } from '../../src/doctor/public.ts'
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
  /** The port to which a path goes. Default: the broker's. */
  readonly portOf?: (path: string) => string | undefined
}

/** The proxy in front of the broker. It writes X-Forwarded-For, unless the rewrite replaces it. */
async function proxy({ request: toBroker, response: toClient, portOf }: Rewrites = {}): Promise<string> {
  const server = createServer((req, res) => {
    const { method, url = '' } = req
    const port = portOf?.(url) ?? new URL(gatehouse.url).port
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
  headers: 'ok: Origin and Sec-Fetch-Site arrive; a forged X-Forwarded-For does not',
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

test('a proxy that passes the X-Forwarded-For of clients, or sends none', async () => {
  const passing = await proxy({ request: (headers) => ({ ...WRITTEN, ...headers }) })
  expect(await diagnosePublic(passing)).toEqual({ ...OK, headers: 'fail: a forged X-Forwarded-For arrives' })
  const silent = await proxy({ request: () => drop('x-forwarded-for') })
  expect(await diagnosePublic(silent)).toMatchObject({
    reach: 'ok: the broker answers, and refuses the request',
    headers: 'fail: X-Forwarded-For does not arrive',
  })
})

test('https without TRUST_PROXY: the headers arrive, but not the address of the client', async () => {
  const egress = { ca: undefined, httpsProxy: undefined, noProxy: [] }
  const client = createHttpClient({ baseUrl: await proxy(), egress, timeoutMs: 60_000 })
  cleanUps.unshift(client.close)
  const statuses: Record<string, string> = {}
  for (const { name, run } of publicChecks({ client, secure: true, trustsProxy: false }))
    statuses[name] = (await run()).status
  expect(statuses).toMatchObject({ 'public.reach': 'ok', 'public.headers': 'warn' })
})

test('a proxy that removes cookies, in one direction or the other', async () => {
  const toClient = await diagnosePublic(await proxy({ response: without('set-cookie') }))
  expect(toClient).toEqual({ ...OK, cookies: 'fail: the response sets no device cookie' })
  const toBroker = await diagnosePublic(await proxy({ request: () => drop('cookie') }))
  expect(toBroker.cookies).toMatch(/^fail: the device cookie does not come back/)
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
