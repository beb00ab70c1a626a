import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

/** Every error response is the Error object, and is not cacheable. */
function expectError(answer: PageAnswer, status: number, errorCode: string) {
  expect([answer.status, answer.json.errorCode]).toEqual([status, errorCode])
  expect(Object.keys(answer.json)).toEqual([
    'errorCode',
    'errorSummary',
    'errorLink',
    'errorId',
    'errorCauses',
  ])
  expect(answer.json.errorLink).toBe(errorCode)
  expect(answer.json.errorId).toBe(answer.headers.get('x-request-id'))
  expect(answer.headers.get('cache-control')).toBe('no-store')
}

async function startVerification(): Promise<{ browser: Browser; stateToken: string; verify: string }> {
  const browser = await harness.visit()
  const mfaRequired = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
  harness.clearUpstreamCalls()
  return {
    browser,
    stateToken: handleOf(mfaRequired),
    verify: verifyHref(mfaRequired, 'token:software:totp'),
  }
}

describe('a handle', () => {
  test('of another browser is refused like an unknown one, and nothing is sent upstream', async () => {
    const { stateToken, verify } = await startVerification()
    const other = await harness.visit()
    const passCode = harness.sandbox.totpCode(TOMAS)
    const foreign = await other.post(verify, { stateToken, passCode })
    expectError(foreign, 401, 'E0000011')
    expect(foreign.json.errorCauses).toEqual([])
    for (const path of ['/api/v1/authn', '/api/v1/authn/introspect', '/api/v1/authn/cancel']) {
      expectError(await other.post(path, { stateToken }), 401, 'E0000011')
    }
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('without the device cookie is refused, with that reason', async () => {
    const { stateToken } = await startVerification()
    const answer = await openBrowser(harness.gatehouse.url).post('/api/v1/authn', { stateToken })
    expectError(answer, 401, 'E0000011')
    expect(answer.json.errorCauses).toEqual([{ errorSummary: 'device cookie not returned' }])
    expect(harness.upstreamCalls()).toEqual([])
  })

  test.each([
    ['that is unknown', `00${'A'.repeat(43)}`],
    ['that begins like a token of Okta’s other engine', `01${'A'.repeat(43)}`],
    ['that is empty', ''],
    ['that is a real state token', 'upstream'],
  ])('%s is refused, and nothing is sent upstream', async (_, given) => {
    const { browser } = await startVerification()
    const real = harness.sandbox.tokensIssued().at(-1) ?? ''
    const stateToken = given === 'upstream' ? real : given
    expectError(await browser.post('/api/v1/authn', { stateToken }), 401, 'E0000011')
    expect(harness.upstreamCalls()).toEqual([])
  })
})

describe('a step that was never offered', () => {
  test('is refused, and nothing is sent upstream', async () => {
    const { browser, stateToken } = await startVerification()
    const steps = [
      ['/api/v1/authn/skip', {}],
      ['/api/v1/authn/credentials/change_password', { oldPassword: 'a', newPassword: 'b' }],
      ['/api/v1/authn/factors/uftUnknown/verify', { passCode: '123456' }],
      ['/api/v1/authn/factors/..%2F..%2F..%2Fusers/verify', {}],
    ] as const
    for (const [path, fields] of steps) {
      expectError(await browser.post(path, { stateToken, ...fields }), 403, 'E0000079')
    }
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('is refused even if another transaction of the same browser offers it', async () => {
    const browser = await harness.visit()
    const tomas = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    const priya = await browser.post('/api/v1/authn', { username: PRIYA, password: PASSWORD })
    harness.clearUpstreamCalls()
    const refused = await browser.post(verifyHref(priya, 'push'), { stateToken: handleOf(tomas) })
    expectError(refused, 403, 'E0000079')
    expect(harness.upstreamCalls()).toEqual([])
  })
})

describe('what a browser sends about itself', () => {
  test('does not reach Okta: device token, cookies, forwarded address, authorization', async () => {
    const browser = await harness.visit()
    const [own] = (await browser.jar.getCookies(harness.gatehouse.url)).map(
      ({ value }) => value.split('.')[0],
    )
    await browser.post(
      '/api/v1/authn',
      { username: TOMAS, password: PASSWORD, context: { deviceToken: 'f'.repeat(32) }, extra: 'left out' },
      {
        headers: {
          'x-forwarded-for': '203.0.113.9',
          authorization: 'SSWS the-browsers-own',
          'x-device-fingerprint': 'visible-ascii',
          'user-agent': 'Page/2.0',
          'accept-language': 'de',
          cookie: `${await browser.jar.getCookieString(harness.gatehouse.url)}; extra=1`,
        },
      },
    )
    const [call] = harness.upstreamCalls()
    expect(call?.body).toEqual({ username: TOMAS, password: PASSWORD, context: { deviceToken: own } })
    expect(call?.headers).toMatchObject({
      authorization: `SSWS ${harness.sandbox.apiToken}`,
      'x-forwarded-for': '127.0.0.1',
      'x-device-fingerprint': 'visible-ascii',
      'user-agent': 'Page/2.0',
      'accept-language': 'de',
      accept: 'application/json',
      'content-type': 'application/json',
    })
    expect(call?.headers.cookie).toBeUndefined()
  })

  test('a forged device cookie is replaced and never sent upstream', async () => {
    const forged = `${'a'.repeat(32)}.abc.${'b'.repeat(43)}`
    const browser = openBrowser(harness.gatehouse.url)
    const answer = await browser.post(
      '/api/v1/authn',
      { username: TOMAS, password: PASSWORD },
      { headers: { cookie: `gatehouse-device=${forged}` } },
    )
    expect(answer.setCookies.join()).toMatch(/^gatehouse-device=[0-9a-f]{32}\./)
    expect(JSON.stringify(harness.upstreamCalls())).not.toContain('a'.repeat(32))
  })

  test('the same device token is sent with every form of primary authentication, also after sign-out', async () => {
    const { browser, stateToken } = await startVerification()
    await browser.post('/api/v1/authn', { stateToken })
    await browser.post('/api/v1/authn/introspect', { stateToken })
    await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    await browser.delete('/api/v1/sessions/me')
    await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    const devices = harness.upstreamCalls().map(({ body }) => (body as { context: object }).context)
    expect(devices).toHaveLength(4)
    expect(new Set(devices.map((context) => JSON.stringify(context))).size).toBe(1)
  })
})

describe('bad input', () => {
  const tenKilobytes = 'x'.repeat(10_240)
  test.each([
    ['a username without a password', { username: AMELIA }, 'password: is required with username'],
    ['a password without a username', { password: PASSWORD }, 'username: is required with password'],
    ['nothing', {}, 'username: username and password, token, or stateToken is required'],
    ['a number for a username', { username: 7, password: PASSWORD }, 'username: must be a string'],
    [
      'a 10 kB username',
      { username: tenKilobytes, password: PASSWORD },
      'username: must have at most 320 characters',
    ],
    [
      'a null byte',
      { username: 'a\u0000b', password: PASSWORD },
      'username: must not contain control characters',
    ],
    [
      'options that are not an object',
      { username: AMELIA, password: PASSWORD, options: 'x' },
      'options: must be an object or null',
    ],
    [
      'an option that is not a boolean',
      { username: AMELIA, password: PASSWORD, options: { warnBeforePasswordExpired: 'yes' } },
      'options.warnBeforePasswordExpired: must be true or false',
    ],
    [
      'a token together with a password',
      { username: AMELIA, password: PASSWORD, token: 't' },
      'token: cannot be combined with username or password',
    ],
  ])('%s is 400, names the field, and nothing is sent upstream', async (_, body, cause) => {
    const browser = await harness.visit()
    const answer = await browser.post('/api/v1/authn', body)
    expectError(answer, 400, 'E0000001')
    expect(answer.json.errorCauses).toContainEqual({ errorSummary: cause })
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('invalid JSON, too large a body, a wrong content type, an unknown path and a wrong method have their own 4xx', async () => {
    const browser = await harness.visit()
    const json = { headers: { 'content-type': 'application/json' } }
    const post = (raw: string, headers = json.headers) =>
      browser.post('/api/v1/authn', undefined, { raw, headers })
    expectError(await post('{"username":'), 400, 'E0000003')
    expectError(await post('"text"'), 400, 'E0000003')
    expectError(await post('[]'), 400, 'E0000003')
    expectError(await post('{"a":"\u0000"}'), 400, 'E0000003')
    expectError(await post(`{"username":"${'x'.repeat(70_000)}"}`), 413, 'E0000001')
    expectError(await post('{}', { 'content-type': 'text/plain' }), 415, 'E0000021')
    expectError(await browser.get('/no/such/path'), 404, 'E0000007')
    expectError(await browser.get('/%00'), 404, 'E0000007')
    const wrong = await browser.get('/api/v1/authn')
    expectError(wrong, 405, 'E0000022')
    expect(wrong.headers.get('allow')).toBe('POST')
    expect(harness.upstreamCalls()).toEqual([])
  })
})

describe('cross-site requests', () => {
  const body = { username: AMELIA, password: PASSWORD }
  test.each([
    ['a foreign origin', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['a sibling origin', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' }],
    ['an opaque origin', { 'sec-fetch-site': 'cross-site', origin: 'null' }],
    ['a foreign origin without fetch metadata', { origin: 'https://evil.example' }],
    ['a cross-site request without an origin', { 'sec-fetch-site': 'cross-site' }],
  ])('%s cannot sign a user in', async (_, headers) => {
    const browser = openBrowser(harness.gatehouse.url)
    const answer = await fetch(`${harness.gatehouse.url}/api/v1/authn`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({ errorCode: 'E0000006' })
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(harness.upstreamCalls()).toEqual([])
    expect(browser.received).toEqual([])
  })

  test('a request with a session cookie but without Origin and Sec-Fetch-Site is refused', async () => {
    const browser = await harness.visit()
    await browser.post('/api/v1/authn', body)
    const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
    const answer = await fetch(`${harness.gatehouse.url}/api/v1/sessions/me`, {
      method: 'DELETE',
      headers: { cookie },
    })
    expect(answer.status).toBe(403)
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)
  })
})
