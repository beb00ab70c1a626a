import { describe, expect, test } from '@jest/globals'
import { askPort } from '../support/ask-port.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { AMELIA, PASSWORD, PRIYA, TOMAS, useHarness } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

const harness = useHarness()

/** Every error response is the Error object, and is not cacheable. */
function expectError(answer: PageAnswer, status: number, errorCode: string) {
  expect([answer.status, answer.json.errorCode]).toEqual([status, errorCode])
  expect(Object.keys(answer.json).join()).toBe('errorCode,errorSummary,errorLink,errorId,errorCauses')
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

describe('a step that was never offered', () => {
  test('is refused if its request target is no URL', async () => {
    const { port } = new URL(harness.gatehouse.url)
    const path = 'http://x:99999/api/v1/authn/cancel'
    const body = '{"stateToken":"unknown"}'
    const answer = await askPort(Number(port), {
      method: 'POST',
      path,
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(answer).toMatchObject({ status: 401, json: { errorCode: 'E0000011' } })
  })

  // shows, F-1.23, V1.3.6, V2.3.1
  test('is refused, and nothing is sent upstream', async () => {
    const { browser, stateToken } = await startVerification()
    const steps = [
      ['/api/v1/authn/skip', {}],
      ['/api/v1/authn/credentials/change_password', { oldPassword: 'a', newPassword: 'b' }],
      ['/api/v1/authn/factors/uftUnknown/verify', { passCode: '123456' }],
    ] as const
    for (const [path, fields] of steps) {
      expectError(await browser.post(path, { stateToken, ...fields }), 403, 'E0000079')
    }
    const ambiguous = '/api/v1/authn/factors/..%2F..%2F..%2Fusers/verify'
    expectError(await browser.post(ambiguous, { stateToken }), 400, 'E0000001')
    expect(harness.upstreamCalls()).toEqual([])
  })

  // shows: V6.6.2
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
  // shows, F-4.14, V4.1.3
  // sandbox shows
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

  // shows, F-6.1, F-6.2
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
