import { type IncomingMessage, request } from 'node:http'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type Listener, listen } from 'gatehouse-sandbox/listen'
import { createPortal } from '../../examples/express/src/portal.ts'
import { type StubUpstream, startStubUpstream } from '../support/stub-upstream.ts'

let gatehouse: StubUpstream
/** The next answers of Gatehouse. */
let answers: { status: number; headers?: Record<string, string | string[]>; body?: string }[]
let servers: Listener[]
let portalUrl: string
const { error: printError } = console

beforeEach(async () => {
  console.error = () => {}
  answers = []
  servers = []
  gatehouse = await startStubUpstream((_req, res) => {
    const { status, headers, body } = answers.shift() ?? { status: 500 }
    res.writeHead(status, headers).end(body)
  })
  portalUrl = await serve(gatehouse.origin)
})
afterEach(async () => {
  console.error = printError
  for (const server of [...servers, gatehouse]) await server.close()
})

async function serve(gatehouseUrl: string): Promise<string> {
  const listening = await listen(createPortal({ gatehouseUrl }), { port: 0, host: '127.0.0.1' })
  servers.push(listening)
  return listening.url
}

/** Not `fetch`, which refuses some of these headers. */
function send(path: string, headers: Record<string, string>, { method = 'GET', body = '' } = {}) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(portalUrl + path, { method, headers }, (response) => resolve(response.resume()))
    sent.on('error', reject).end(body)
  })
}

const SIGNED_IN = {
  status: 200,
  headers: {
    'x-auth-request-user': '00uADA',
    'x-auth-request-preferred-username': 'zo%C3%AB%40example.test',
    'x-auth-request-session': 'session-1',
  },
}
const COOKIE = 'theme=dark; gatehouse=s%3Asession; gatehouse-device=device; __Host-gatehouse=other'

test('without an answer about the session the portal says so, and does not ask the user to sign in', async () => {
  answers = [{ status: 503 }]
  expect(await send('/', { cookie: COOKIE })).toMatchObject({
    statusCode: 503,
    headers: { 'retry-after': '2' },
  })
})

test('without a connection to Gatehouse the answer is 503 too', async () => {
  portalUrl = await serve('http://127.0.0.1:1')
  for (const path of ['/', '/api/v1/sessions/me']) expect((await send(path, {})).statusCode).toBe(503)
})

test('a user without a session is sent to the sign-in page', async () => {
  answers = [{ status: 401 }]
  expect(await send('/', {})).toMatchObject({ statusCode: 303, headers: { location: '/sign-in' } })
})

test('an address that the client made up does not reach Gatehouse, even with Expect', async () => {
  const forged = {
    'x-forwarded-for': '203.0.113.66',
    forwarded: 'for=203.0.113.66',
    'x-request-id': 'made-up',
    traceparent: 'made-up',
    authorization: 'Bearer made-up',
    expect: '100-continue',
    'content-length': '2',
  }
  answers = [{ status: 200, headers: { 'set-cookie': ['a=1', 'b=2'] }, body: '{}' }]
  const response = await send('/api/v1/authn?a=b', forged, { method: 'POST', body: '{}' })
  expect(response.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  expect(gatehouse.requests[0]).toMatchObject({ method: 'POST', url: '/api/v1/authn?a=b' })
  expect(gatehouse.requests[0]?.headers).toMatchObject({
    'x-forwarded-for': '127.0.0.1',
    'content-length': '2',
  })
  for (const name of ['forwarded', 'x-request-id', 'traceparent', 'authorization', 'expect'])
    expect(gatehouse.requests[0]?.headers).not.toHaveProperty(name)
})

test("Gatehouse gets its own cookies and the browser's origin headers, and no other cookie", async () => {
  const headers = {
    origin: 'http://portal.test',
    'sec-fetch-site': 'same-origin',
    'x-gatehouse-session': 'id',
  }
  answers = [{ status: 204 }]
  await send('/api/v1/sessions/me', { ...headers, cookie: COOKIE }, { method: 'DELETE' })
  expect(gatehouse.requests[0]?.headers).toMatchObject({
    ...headers,
    cookie: 'gatehouse=s%3Asession; gatehouse-device=device; __Host-gatehouse=other',
  })
})

test('a page that another site links to asks for groups without the headers of that navigation', async () => {
  const headers = { cookie: COOKIE, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  answers = [SIGNED_IN, { status: 200, body: '{"groups":[{"name":"<b>Auditors"}]}' }]
  const response = await fetch(portalUrl, { headers })
  expect(await response.text()).toMatch(/zoë@example\.test[\s\S]*&lt;b&gt;Auditors/)
  for (const { headers } of gatehouse.requests) {
    expect(headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1' })
    expect(headers['sec-fetch-site']).toBeUndefined()
  }
  expect(gatehouse.requests[1]?.headers['x-gatehouse-session']).toBe('session-1')
})

test('if groups cannot be read, the user stays signed in', async () => {
  answers = [SIGNED_IN, { status: 503 }]
  const response = await fetch(portalUrl, { headers: { cookie: COOKIE } })
  expect(response.status).toBe(200)
  expect(await response.text()).toContain('Your groups are not available now.')
})

test.each([
  { status: 403, shows: 'a form of another site' },
  { status: 409, shows: 'a form of an earlier session' },
  { status: 503, shows: 'a Gatehouse that does not answer' },
])('$shows does not sign out', async ({ status }) => {
  answers = [{ status }]
  const body = 'session=session-1'
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' }
  const response = await send('/sign-out', { ...headers, cookie: COOKIE }, { method: 'POST', body })
  expect(response.statusCode).toBe(status)
  expect(gatehouse.requests[0]).toMatchObject({ method: 'DELETE', url: '/api/v1/sessions/me' })
  expect(gatehouse.requests[0]?.headers).toMatchObject({
    'sec-fetch-site': 'cross-site',
    'x-gatehouse-session': 'session-1',
  })
})

test('with OKTA_SIGN_OUT, the form leads to the sign-out at Okta, also if the session has ended elsewhere', async () => {
  const okta = 'https://acme.okta.com/login/signout?fromURI=https%3A%2F%2Fportal.test%2Fsign-in'
  const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie: COOKIE }
  for (const status of [204, 404]) {
    answers = [{ status, headers: { 'x-gatehouse-sign-out': okta, 'set-cookie': 'gatehouse=' } }]
    const response = await send('/sign-out', headers, { method: 'POST', body: 'session=session-1' })
    expect([response.statusCode, response.headers.refresh]).toEqual([200, `0; url=${okta}`])
    expect(response.headers['set-cookie']).toEqual(['gatehouse='])
  }
})

test.each(['/forward-auth', '/api/v2/users', '//127.0.0.1:1/api/v1/authn'])(
  '%s is not passed on',
  async (path) => {
    expect((await send(path, {})).statusCode).toBe(404)
    expect(gatehouse.requests).toEqual([])
  },
)
