import { describe, expect, test } from '@jest/globals'
import type { FaultRule } from 'gatehouse-sandbox/fault-rules'
import type { PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, TOMAS, useHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { until } from '../support/until.ts'

const TOTP = 'token:software:totp'

function expectUnavailable(answer: PageAnswer, status: number) {
  expect(answer.status).toBe(status)
  expect(answer.json).toMatchObject({ errorCode: 'E0000009', errorLink: 'E0000009', errorCauses: [] })
  expect(answer.text).not.toMatch(/127\.0\.0\.1|localhost|ECONN|undici|redis|node_modules| at /i)
  expect(answer.setCookies.join()).not.toContain('gatehouse=')
}

/** A page that is asked for a code, which is then verified after the failure. */
async function openVerification(harness: Harness) {
  const page = await openPage(harness)
  await page.signIn(TOMAS)
  return {
    page,
    async expectContinues() {
      await page.verify(TOTP, { passCode: harness.sandbox.totpCode(TOMAS) })
      expect(page.held.json.status).toBe('SUCCESS')
    },
  }
}

describe('an upstream that', () => {
  const harness = useHarness({
    tunables: ({ upstream, ...tunables }) => ({
      ...tunables,
      upstream: { ...upstream, authn: { ...upstream.authn, totalTimeoutMs: 3000 } },
    }),
    constants: { upstream: { breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 100 } } },
  })

  test.each<[string, number, FaultRule]>([
    ['sends HTML', 502, { kind: 'html', status: 500 }],
    ['cuts the connection', 502, { kind: 'cut' }],
    ['is too slow', 504, { kind: 'delay', ms: 300_000 }],
  ])('%s: %i, and the transaction continues afterwards', async (_, status, fault) => {
    const { page, expectContinues } = await openVerification(harness)
    harness.sandbox.faults.authn.set(fault)
    expectUnavailable(await page.verify(TOTP, { passCode: '000000' }), status)
    harness.sandbox.faults.authn.clear()
    await expectContinues()
  })

  test('sends its 429 as a page: the page gets 429 and its Retry-After, and the transaction continues', async () => {
    const { page, expectContinues } = await openVerification(harness)
    harness.sandbox.faults.authn.set({
      kind: 'status',
      status: 429,
      headers: { 'Content-Type': 'text/html', 'Retry-After': '17', 'X-Rate-Limit-Reset': '' },
      body: '<html><body>gateway-7.internal.example.test</body></html>',
    })
    const answer = await page.verify(TOTP, { passCode: '000000' })
    expect([answer.status, answer.json.errorCode]).toEqual([429, 'E0000047'])
    expect(answer.headers.get('retry-after')).toBe('17')
    expect(answer.text).not.toContain('gateway')
    harness.sandbox.faults.authn.clear()
    await expectContinues()
  })

  // shows
  test('refuses the SSWS token: 503 and an alarm, and transactions are kept', async () => {
    const { page, expectContinues } = await openVerification(harness)
    const token = harness.sandbox.apiToken
    harness.sandbox.apiTokens.delete(token)
    expectUnavailable(await (await openPage(harness)).signIn(AMELIA), 503)
    expectUnavailable(await page.send('/api/v1/authn'), 503)
    expect(harness.gatehouse.logText()).toContain('"event":"upstream_token_refused"')
    expect(await harness.gatehouse.metrics()).toContain('gatehouse_upstream_token_refused 1')

    harness.sandbox.apiTokens.add(token)
    expect((await (await openPage(harness)).signIn(AMELIA)).json.status).toBe('SUCCESS')
    await expectContinues()
  })
})

describe('a Redis that', () => {
  const harness = useHarness({
    redis: { persist: true },
    tunables: (tunables) => ({ ...tunables, store: { connectTimeoutMs: 3000, commandTimeoutMs: 3000 } }),
    // each use of a session is written
    constants: { health: { checkEveryMs: 500 }, sessions: { extendEveryMs: 0 } },
  })

  /**
   * A service that loses every replica at once helps nobody, so the state of Redis is only shown.
   */
  async function readyz(): Promise<[status: number, store: string]> {
    const answer = await fetch(`${harness.gatehouse.opsUrl}/readyz`)
    return [answer.status, ((await answer.json()) as { checks: { store: string } }).checks.store]
  }

  test('is full: 503, replicas stay ready, and each failure increases the metric of the alert', async () => {
    const failures = async () =>
      Number(/^gatehouse_store_failures_total (\d+)$/m.exec(await harness.gatehouse.metrics())?.[1])
    const page = await openPage(harness)
    const before = await failures()
    const outside = harness.redis.client()
    await outside.call('CONFIG', 'SET', 'maxmemory', '1')
    await until(async () => (await failures()) > before + 1, { what: 'the failures of the regular check' })
    expect(await readyz()).toEqual([200, 'failing'])
    expectUnavailable(await page.signIn(AMELIA), 503)
    await outside.call('CONFIG', 'SET', 'maxmemory', '0')
    expect((await page.signIn(AMELIA)).status).toBe(200)
    await until(async () => (await readyz())[1] === 'ok')
  })

  test('is full: an open session opens applications and reads groups until its stored end; a sign-out works', async () => {
    const page = await openPage(harness)
    await page.signIn(AMELIA)
    const { browser } = page
    const opens = async (path: string) => [path, (await browser.get(path)).status]
    const used = ['/forward-auth', '/forward-auth?headers=groups', '/api/v1/pam/me']
    for (const path of used) expect(await opens(path)).toEqual([path, 200])
    const idleExpiresAt = async () => (await browser.get('/api/v1/sessions/me')).json.idleExpiresAt
    const before = await idleExpiresAt()
    const outside = harness.redis.client()
    await outside.call('CONFIG', 'SET', 'maxmemory', '1')
    for (const path of used) expect(await opens(path)).toEqual([path, 200])
    const refreshed = await browser.post('/api/v1/sessions/me/lifecycle/refresh')
    expectUnavailable(refreshed, 503)
    expect(refreshed.headers.get('retry-after')).toBe('2')
    expect(await idleExpiresAt()).toBe(before)
    expect((await browser.delete('/api/v1/sessions/me')).status).toBe(204)
    expect((await browser.get('/forward-auth')).status).toBe(401)
    await outside.call('CONFIG', 'SET', 'maxmemory', '0')
  })

  // shows: V16.5.2
  test('is down: 503, never a sign-out; when it is back, sessions and transactions continue', async () => {
    const page = await openPage(harness)
    await page.signIn(AMELIA)
    const { browser } = page
    const { expectContinues } = await openVerification(harness)
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)

    await harness.redis.kill()
    const unavailable = await browser.get('/api/v1/sessions/me')
    expectUnavailable(unavailable, 503)
    expect(unavailable.headers.get('retry-after')).toMatch(/^\d+$/)
    expectUnavailable(await browser.delete('/api/v1/sessions/me'), 503)
    harness.clearUpstreamCalls()
    expectUnavailable(await page.signIn(AMELIA), 503)
    expect(harness.upstreamCalls()).toEqual([])
    expect(harness.gatehouse.logLines()).toContainEqual(
      expect.objectContaining({
        event: 'dependency_failed',
        dependency: 'store',
        outcome: 'unreachable',
        code: expect.stringMatching(/^[A-Za-z ]+$/),
      }),
    )
    await until(async () => (await readyz())[1] === 'failing')
    expect((await readyz())[0]).toBe(200)
    expect((await fetch(`${harness.gatehouse.opsUrl}/livez`)).status).toBe(200)
    expect(await harness.gatehouse.metrics()).toContain('gatehouse_ready 1')

    await harness.redis.restart()
    await until(async () => (await readyz())[1] === 'ok')
    expect(await page.session()).toMatchObject({ login: AMELIA })
    await expectContinues()
  })
})
