import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser, PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

const LIMIT = 20
const POLL_EVERY_MS = 1500

let harness: Harness
let other: Gatehouse
beforeEach(async () => {
  harness = await startHarness({
    env: { TRUST_PROXY: '127.0.0.1/32' },
    // a window of many years, so that it does not end during a test
    sandboxConfig: (config) => ({
      ...config,
      rateLimits: { ...config.rateLimits, windowSeconds: 4_000_000_000, trustedPerWindow: LIMIT },
    }),
    tunables: (tunables) => ({
      ...tunables,
      transaction: { ...tunables.transaction, pollEveryMs: POLL_EVERY_MS },
      // every step reads the shared limit, so that a replica sees what the other has learned
      authn: {
        ...tunables.authn,
        rateLimit: { ...tunables.authn.rateLimit, maxWaitMs: 0, refreshEveryMs: 0 },
      },
    }),
  })
  other = await harness.replica()
})
afterEach(() => harness.stop())

interface At {
  readonly broker?: Gatehouse
  readonly address?: string
}

/** Sends the browser's request to any replica, from any address. */
async function post(
  browser: Browser,
  path: string,
  body: object,
  { broker = harness.gatehouse, address = '198.51.100.1' }: At = {},
): Promise<PageAnswer> {
  const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
  const url = new URL(new URL(path, broker.url).pathname, broker.url)
  return browser.post(url.href, body, { headers: { cookie, 'x-forwarded-for': address } })
}
const signIn = (browser: Browser, username: string, at?: At) =>
  post(browser, '/api/v1/authn', { username, password: PASSWORD }, at)

function expectRateLimited(answer: PageAnswer, limit: string) {
  expect([answer.status, answer.json.errorCode]).toEqual([429, 'E0000047'])
  expect(answer.headers.get('x-rate-limit-limit')).toBe(limit)
  expect(answer.headers.get('x-rate-limit-remaining')).toBe('0')
  const retryAfterS = Number(answer.headers.get('retry-after'))
  expect(retryAfterS).toBeGreaterThan(60)
  const untilResetS = Number(answer.headers.get('x-rate-limit-reset')) - Date.now() / 1000
  expect(Math.abs(untilResetS - retryAfterS)).toBeLessThan(60)
}

test('the last calls of a window are reserved for started sign-ins on every replica; then no call is sent', async () => {
  const tomas = await harness.visit()
  const mfaRequired = await signIn(tomas, TOMAS)
  const amelia = await harness.visit()
  let last = await signIn(amelia, AMELIA)
  for (let n = 0; n < LIMIT && last.status === 200; n++) last = await signIn(amelia, AMELIA)
  expectRateLimited(last, String(LIMIT))
  const sent = harness.upstreamCalls().length
  expect(sent).toBe(LIMIT - 2) // a tenth is reserved

  for (const broker of [harness.gatehouse, other])
    expectRateLimited(await signIn(amelia, AMELIA, { broker }), '20')
  expect(harness.upstreamCalls().length).toBe(sent)
  const wrong = { stateToken: handleOf(mfaRequired), passCode: '000000' }
  const verify = verifyHref(mfaRequired, 'token:software:totp')
  expect((await post(tomas, verify, wrong, { broker: other })).json.errorCode).toBe('E0000068')
  const right = { ...wrong, passCode: harness.sandbox.totpCode(TOMAS) }
  expect((await post(tomas, verify, right, { broker: other })).json.status).toBe('SUCCESS')
  expect(harness.upstreamCalls().length).toBe(LIMIT)

  for (const broker of [harness.gatehouse, other])
    expectRateLimited(await signIn(amelia, AMELIA, { broker }), '20')
  expect(harness.upstreamCalls().length).toBe(LIMIT)
  expect(await harness.gatehouse.metrics()).toMatch(
    /gatehouse_rate_limit_holds_total\{upstream="authn",outcome="deferred"\} \d/,
  )
  expect(await other.metrics()).toContain('gatehouse_upstream_rate_limit_remaining{upstream="authn"} 0')
})

describe('after a 429', () => {
  const limited = () => harness.sandbox.faults.authn.set({ kind: 'rate-limited', retrySeconds: 250 })

  const from = (address: string, broker = harness.gatehouse) => ({ address, broker })

  test('its client is held back; after the 429 of a second client, only one probe at a time is sent', async () => {
    limited()
    const browser = await harness.visit()
    expect((await signIn(browser, AMELIA)).status).toBe(429)
    for (const broker of [harness.gatehouse, other])
      expectRateLimited(await signIn(browser, AMELIA, { broker }), '20')
    expect(harness.upstreamCalls().length).toBe(1)
    expect((await signIn(browser, TOMAS, from('203.0.113.7', other))).status).toBe(429)
    expect(harness.upstreamCalls().length).toBe(2)

    const started = performance.now()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        signIn(
          browser,
          `person-${n}@example.test`,
          from(`198.51.100.${100 + n}`, n % 2 === 0 ? other : harness.gatehouse),
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 429))
    const probes = 1 + Math.floor((performance.now() - started) / 5000)
    expect(harness.upstreamCalls().length).toBeGreaterThan(2)
    expect(harness.upstreamCalls().length).toBeLessThanOrEqual(2 + probes)
  })

  test('a success of another client reopens the gate for all but the limited client', async () => {
    limited()
    const [browser, elsewhere] = [await harness.visit(), await harness.visit()]
    expect((await signIn(browser, AMELIA)).status).toBe(429)
    expect((await signIn(browser, PRIYA, from('203.0.113.6'))).status).toBe(429)
    harness.sandbox.faults.authn.clear()
    expect((await signIn(elsewhere, TOMAS, from('203.0.113.7', other))).json.status).toBe('MFA_REQUIRED')
    expect((await signIn(elsewhere, PRIYA, from('203.0.113.8'))).status).toBe(200)
    for (const broker of [harness.gatehouse, other])
      expectRateLimited(await signIn(browser, AMELIA, { broker }), '20')
  })

  test('other users of the same address are not held back on any replica', async () => {
    limited()
    const shared = '198.51.100.77'
    const inside = await harness.visit()
    for (const name of ['made-up', 'made-up-too'])
      expect((await signIn(inside, name, from(shared))).status).toBe(429)
    harness.sandbox.faults.authn.clear()
    for (const broker of [harness.gatehouse, other])
      expect((await signIn(await harness.visit(), AMELIA, from(shared, broker))).json.status).toBe('SUCCESS')
    expectRateLimited(await signIn(inside, 'made-up', from(shared, other)), '20')
  })

  test('E0000109, which refuses a resend, closes no gate', async () => {
    const recently = {
      errorCode: 'E0000109',
      errorSummary: 'Sent',
      errorLink: 'E0000109',
      errorId: 'oae1',
      errorCauses: [],
    }
    harness.sandbox.faults.authn.set({ kind: 'status', status: 429, body: recently, times: 1 })
    const browser = await harness.visit()
    expect((await signIn(browser, AMELIA)).json.errorCode).toBe('E0000109')
    expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
  })
})

test('polls of a push on all replicas share upstream calls, which are paced', async () => {
  const browser = await harness.visit()
  const mfaRequired = await signIn(browser, PRIYA)
  const stateToken = handleOf(mfaRequired)
  const push = verifyHref(mfaRequired, 'push')
  const poll = (broker: Gatehouse) => post(browser, push, { stateToken }, { broker })
  expect((await poll(other)).json.factorResult).toBe('WAITING')
  harness.clearUpstreamCalls()

  const started = performance.now()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => poll(n % 2 === 0 ? other : harness.gatehouse)),
  )
  const probes = Math.ceil((performance.now() - started) / POLL_EVERY_MS)
  expect(answers.map(({ json }) => json.factorResult)).toEqual(answers.map(() => 'WAITING'))
  expect(harness.upstreamCalls().length).toBeGreaterThan(0)
  expect(harness.upstreamCalls().length).toBeLessThanOrEqual(probes)

  harness.sandbox.answerPush(PRIYA, 'approve')
  const done = await Promise.all([poll(other), poll(harness.gatehouse), poll(other)])
  expect(done.map(({ json }) => json.status)).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS'])
  expect(
    new Set(done.map(({ setCookies }) => setCookies.find((cookie) => cookie.startsWith('gatehouse=')))).size,
  ).toBe(1)
})
