import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { FaultRule } from '../../src/sandbox/fault-rules.ts'
import type { PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

let harness: Harness
const CHECKED_OFTEN = { health: { checkEveryMs: 500 } }
/** The upstream time limit is a parameter: long where failures must be detected without it. */
const withTimeout = (totalTimeoutMs: number) =>
  startHarness({
    tunables: (tunables) => ({
      ...tunables,
      upstream: {
        ...tunables.upstream,
        authn: { ...tunables.upstream.authn, totalTimeoutMs },
      },
    }),
    constants: {
      ...CHECKED_OFTEN,
      upstream: { breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 100 } },
    },
  })
beforeEach(async () => {
  harness = await withTimeout(120_000)
})
afterEach(() => harness.stop())

function expectUnavailable(answer: PageAnswer, status: number) {
  expect(answer.status).toBe(status)
  expect(answer.json).toMatchObject({ errorCode: 'E0000009', errorLink: 'E0000009', errorCauses: [] })
  expect(answer.text).not.toMatch(/127\.0\.0\.1|localhost|ECONN|undici|redis|node_modules| at /i)
  expect(answer.setCookies.join()).not.toContain('gatehouse=')
}

describe('an upstream that', () => {
  async function expectRecovery(fault: FaultRule, status: number) {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    const stateToken = handleOf(mfaRequired)
    const verify = verifyHref(mfaRequired, 'token:software:totp')

    harness.sandbox.faults.authn.set(fault)
    expectUnavailable(await browser.post(verify, { stateToken, passCode: '000000' }), status)
    harness.sandbox.faults.authn.clear()

    const done = await browser.post(verify, { stateToken, passCode: harness.sandbox.totpCode(TOMAS) })
    expect(done.json.status).toBe('SUCCESS')
  }

  test.each([
    ['sends HTML', { kind: 'html', status: 500 }],
    ['cuts the connection', { kind: 'cut' }],
  ] as const)('%s: 502, and the transaction continues afterwards', async (_, fault) => {
    await expectRecovery(fault, 502)
  })

  test('is too slow: 504 in time, and the transaction continues afterwards', async () => {
    await harness.stop()
    harness = await withTimeout(3000)
    await expectRecovery({ kind: 'delay', ms: 300_000 }, 504)
  })

  test('is down: 502, and sign-in works when it is back', async () => {
    const down = await harness.replica({ AUTHN_BASE_URL: 'http://127.0.0.1:1' })
    const browser = await harness.visit()
    const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
    const answer = await browser.post(
      `${down.url}/api/v1/authn`,
      { username: AMELIA, password: PASSWORD },
      { headers: { cookie } },
    )
    expectUnavailable(answer, 502)
    expect(down.logLines()).toContainEqual(
      expect.objectContaining({
        event: 'dependency_failed',
        dependency: 'authn',
        outcome: 'unreachable',
        code: 'ECONNREFUSED',
      }),
    )
    const back = await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    expect(back.json.status).toBe('SUCCESS')
  })

  test('refuses the SSWS token: 503 and an alarm, and transactions are kept', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    const token = harness.sandbox.apiToken
    harness.sandbox.apiTokens.delete(token)
    expectUnavailable(await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD }), 503)
    expectUnavailable(await browser.post('/api/v1/authn', { stateToken: handleOf(mfaRequired) }), 503)
    expect(harness.gatehouse.logText()).toContain('"event":"upstream_token_refused"')
    expect(await harness.gatehouse.metrics()).toContain('gatehouse_upstream_token_refused 1')

    harness.sandbox.apiTokens.add(token)
    expect((await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })).json.status).toBe(
      'SUCCESS',
    )
    const done = await browser.post(verifyHref(mfaRequired, 'token:software:totp'), {
      stateToken: handleOf(mfaRequired),
      passCode: harness.sandbox.totpCode(TOMAS),
    })
    expect(done.json.status).toBe('SUCCESS')
  })
})

describe('a Redis that', () => {
  /** A service that loses every replica at once helps nobody, so the state of Redis is only shown. */
  async function readyz({ gatehouse }: Harness): Promise<[status: number, store: string]> {
    const answer = await fetch(`${gatehouse.opsUrl}/readyz`)
    return [answer.status, ((await answer.json()) as { checks: { store: string } }).checks.store]
  }

  test('is full: 503, replicas stay ready, and each failure increases the metric of the alert', async () => {
    const failures = async () =>
      Number(/^gatehouse_store_failures_total (\d+)$/m.exec(await harness.gatehouse.metrics())?.[1])
    const browser = await harness.visit()
    expect([await readyz(harness), await failures()]).toEqual([[200, 'ok'], 0])
    const outside = harness.redis.client()
    await outside.call('CONFIG', 'SET', 'maxmemory', '1')
    await until(async () => (await failures()) > 1, { what: 'the failures of the regular check' })
    expect(await readyz(harness)).toEqual([200, 'failing'])
    expectUnavailable(await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD }), 503)
    await outside.call('CONFIG', 'SET', 'maxmemory', '0')
    expect((await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })).status).toBe(200)
    await until(async () => (await readyz(harness))[1] === 'ok')
  })

  test('is down: 503, never a sign-out; when it is back, sessions and transactions continue', async () => {
    const persistent = await startHarness({
      redis: { persist: true },
      tunables: (tunables) => ({
        ...tunables,
        store: { connectTimeoutMs: 3000, commandTimeoutMs: 3000 },
      }),
      constants: CHECKED_OFTEN,
    })
    try {
      const browser = await persistent.visit()
      await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
      const tab = await persistent.visit()
      const mfaRequired = await tab.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
      expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)

      await persistent.redis.kill()
      const unavailable = await browser.get('/api/v1/sessions/me')
      expectUnavailable(unavailable, 503)
      expect(unavailable.headers.get('retry-after')).toMatch(/^\d+$/)
      expectUnavailable(await browser.delete('/api/v1/sessions/me'), 503)
      persistent.clearUpstreamCalls()
      expectUnavailable(await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD }), 503)
      expect(persistent.upstreamCalls()).toEqual([])
      expect(persistent.gatehouse.logLines()).toContainEqual(
        expect.objectContaining({
          event: 'dependency_failed',
          dependency: 'store',
          outcome: 'unreachable',
          code: expect.stringMatching(/^[A-Za-z ]+$/),
        }),
      )
      await until(async () => (await readyz(persistent))[1] === 'failing')
      expect((await readyz(persistent))[0]).toBe(200)
      expect((await fetch(`${persistent.gatehouse.opsUrl}/livez`)).status).toBe(200)
      expect(await persistent.gatehouse.metrics()).toContain('gatehouse_ready 1')

      await persistent.redis.restart()
      await until(async () => (await readyz(persistent))[1] === 'ok')
      expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(AMELIA)
      const done = await tab.post(verifyHref(mfaRequired, 'token:software:totp'), {
        stateToken: handleOf(mfaRequired),
        passCode: persistent.sandbox.totpCode(TOMAS),
      })
      expect(done.json.status).toBe('SUCCESS')
    } finally {
      await persistent.stop()
    }
  })
})
