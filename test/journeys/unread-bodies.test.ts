import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { rawExchange } from '../support/ask-port.ts'
import { type StubHarness, startStubHarness } from '../support/harness.ts'

/**
 * A request that announces a body. If nothing reads it, the next request on the connection would be
 * taken for it, so the response ends the connection.
 */

const APP_TOKEN = 'plainly-fake-token-of-the-portal'

let harness: StubHarness
beforeAll(async () => {
  harness = await startStubHarness({
    env: { APP_TOKENS: `portal:${APP_TOKEN}`, PAM_BASE_URL: 'http://localhost:1', ...PAM },
    // soon enough for a test that fails: then the server waits for the body
    listener: { requestTimeout: 2000, headersTimeout: 1000, connectionsCheckingInterval: 50 },
  })
})
afterAll(() => harness.stop())

const PAM = { PAM_TEAM: 'team', PAM_KEY_ID: 'plainly-fake-id', PAM_KEY_SECRET: 'plainly-fake-secret' }
const DOCUMENT = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as {
  readonly paths: Readonly<Record<string, object>>
}
const PATHS = Object.entries(DOCUMENT.paths).map(
  ([path, operations]) => [path.replace(/\{\w+\}/g, 'x'), Object.keys(operations)] as const,
)
const READ = PATHS.flatMap(([path, methods]) => (methods.includes('get') ? [path] : []))

async function responsesTo(url: string, request: string, ...lines: string[]) {
  const received = await rawExchange(
    Number(new URL(url).port),
    `${request} HTTP/1.1\r\n${['Host: localhost', ...lines].join('\r\n')}\r\n\r\n`,
  )
  return received.match(/^(?:HTTP\/1\.1 \d+|Connection: [\w-]+)/gim)
}

const closing = (status: unknown = expect.stringMatching(/^HTTP\/1\.1 [2345]/)) => [
  status,
  'Connection: close',
]
const ANNOUNCED = [['Content-Length: 77'], ['Transfer-Encoding: chunked']]

describe('a body that is announced and does not arrive', () => {
  test('there are GET routes', () => expect(READ.length).toBeGreaterThan(10))

  test.each(['/forward-auth', ...READ])('GET %s', async (path) => {
    for (const lines of ANNOUNCED)
      for (const method of ['GET', 'HEAD']) {
        const responses = await responsesTo(harness.gatehouse.url, `${method} ${path}`, ...lines)
        expect([method, lines, responses]).toEqual([method, lines, closing()])
      }
  })

  test.each<[request: string, status: number, ...lines: string[]]>([
    ['POST /forward-auth', 401],
    ['PUT /forward-auth?x', 400],
    ['POST /unknown', 404],
    ['GET /unknown', 404],
    ['POST /api/v1/sessions', 405],
    ['PUT /api/v1/authn', 405],
    ['POST /api/v1/authn%2f', 400],
    ['POST /api/v1/authn', 403, 'Origin: https://evil.example'],
    ['POST /hooks/org-events', 404],
    ['POST /app/v1/pam/groups', 405],
  ])('%s: %d', async (request, status, ...lines) => {
    for (const announced of ANNOUNCED) {
      const responses = await responsesTo(harness.gatehouse.url, request, ...lines, ...announced)
      expect(responses).toEqual(closing(`HTTP/1.1 ${status}`))
    }
  })

  test.each(['GET /livez', 'GET /readyz', 'GET /metrics', 'DELETE /admin/sessions', 'POST /x'])(
    'the operations listener: %s',
    async (request) => {
      for (const announced of ANNOUNCED)
        expect(await responsesTo(harness.gatehouse.opsUrl, request, ...announced)).toEqual(closing())
    },
  )
})

describe('the connection of a request stays open', () => {
  const twice = (request: string) =>
    rawExchange(
      Number(new URL(harness.gatehouse.url).port),
      `${request}GET /api/v1/sessions/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    )
  const post = (body: string, ...lines: string[]) =>
    `POST /api/v1/authn HTTP/1.1\r\n${['Host: localhost', 'Content-Type: application/json', ...lines].join('\r\n')}\r\n\r\n${body}`

  test.each([
    ['without a body', 'GET /forward-auth HTTP/1.1\r\nHost: localhost\r\n\r\n', 401],
    [
      'with an empty body',
      'POST /forward-auth HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n',
      401,
    ],
    ['whose body is read', post('{}', 'Content-Length: 2'), 400],
    ['whose body is read in chunks', post('2\r\n{}\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'), 400],
    ['whose body is not JSON', post('x', 'Content-Length: 1'), 400],
    ['whose body is too large', post('x'.repeat(70_000), 'Content-Length: 70000'), 413],
  ])('%s', async (_name, request, status) => {
    const received = await twice(request)
    expect(received.match(/HTTP\/1\.1 \d+|^Connection: [\w-]+/gim)).toEqual([
      `HTTP/1.1 ${status}`,
      'Connection: keep-alive',
      'HTTP/1.1 404',
      'Connection: close',
    ])
  })
})
