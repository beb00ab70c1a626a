import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { FaultRule } from '../../src/sandbox/fault-rules.ts'
import type { PageAnswer } from '../support/browser.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Upstream faults at the first step of a sign-in. Steps in progress: `dependency-failures.test.ts`. */

let harness: Harness

/** `totalTimeoutMs` is long unless a test expects 504, so that a slow machine causes none. */
function withBroker(totalTimeoutMs: number) {
  beforeAll(async () => {
    harness = await startHarness({
      tunables: (tunables) => ({
        ...generousLimits(tunables),
        upstream: {
          ...tunables.upstream,
          authn: {
            ...tunables.upstream.authn,
            connectTimeoutMs: 60_000,
            totalTimeoutMs,
            breaker: { consecutiveFailures: 1_000_000, halfOpenAfterMs: 100 },
          },
        },
      }),
    })
  })
  afterAll(() => harness.stop())
  beforeEach(() => harness.sandbox.reset())
}

const credentials = { username: AMELIA, password: PASSWORD }

function expectUpstreamError(answer: PageAnswer, status: number) {
  expect(answer.status).toBe(status)
  expect(answer.json).toMatchObject({ errorCode: 'E0000009', errorLink: 'E0000009', errorCauses: [] })
  expect(answer.text).not.toMatch(/127\.0\.0\.1|localhost|ECONN|undici|node_modules| at /i)
}

/** No request in flight, no lock and no transaction remain. */
async function expectNothingLeft() {
  const redis = harness.redis.client()
  await until(async () =>
    /http_requests_in_flight\{kind="sign_in"\} 0\n/.test(await harness.gatehouse.metrics()),
  )
  const locks = await redis.keys('gatehouse:lock:{*}')
  expect(await Promise.all(locks.map((key) => redis.pttl(key)))).not.toContain(-1)
  expect(locks.filter((key) => key.endsWith('}'))).toEqual([])
  expect(await redis.keys('gatehouse:txn:*')).toEqual([])
}

/** Starts every kind of transaction while the upstream has this fault; then signs in without the fault. */
async function expectDocumentedError(fault: FaultRule, status: number) {
  const browser = await harness.visit()
  await harness.redis.client().flushall()
  harness.sandbox.faults.authn.set(fault)
  const answers = await Promise.all([
    ...Array.from({ length: 5 }, (_, n) =>
      browser.post('/api/v1/authn', { ...credentials, relayState: String(n) }),
    ),
    browser.post('/api/v1/authn', { token: 'activation' }),
    browser.post('/api/v1/authn/recovery/token', { recoveryToken: 'recovery' }),
    browser.post('/api/v1/authn/recovery/password', { username: TOMAS, factorType: 'SMS' }),
  ])
  for (const answer of answers) expectUpstreamError(answer, status)
  await expectNothingLeft()

  harness.sandbox.faults.authn.clear()
  await until(async () => (await browser.post('/api/v1/authn', credentials)).json.status === 'SUCCESS', {
    what: 'a sign-in that succeeds again',
  })
}

describe('an upstream that does not complete its response', () => {
  withBroker(1000)

  test.each([
    ['responds far too late', { kind: 'delay', ms: 300_000 }],
    ['sends one byte a second', { kind: 'drip', everyMs: 1000 }],
  ] as const)('because it %s: 504, and no transaction remains', async (_name, fault) => {
    await expectDocumentedError(fault, 504)
  })
})

describe('an upstream that fails', () => {
  withBroker(120_000)

  test.each([
    ['cuts connections', { kind: 'cut' }],
    ['sends half a response', { kind: 'half' }],
    ['sends JSON with another content type', { kind: 'wrong-type' }],
    ['sends 10 MB', { kind: 'huge', bytes: 10_000_000 }],
    ['sends a wrong Content-Length', { kind: 'wrong-length' }],
  ] as const)('because it %s: 502, and no transaction remains', async (_name, fault) => {
    await expectDocumentedError(fault, 502)
  })

  test('if three of ten calls fail, three of ten sign-ins are 502 and the others succeed', async () => {
    const browsers = await Promise.all(Array.from({ length: 10 }, () => harness.visit()))
    await harness.redis.client().flushall()
    harness.sandbox.faults.authn.set({ kind: 'error-rate', share: 0.3 })
    harness.clearUpstreamCalls()
    const answers = await Promise.all(
      browsers.flatMap((browser) =>
        Array.from({ length: 5 }, (_, n) =>
          browser.post('/api/v1/authn', { ...credentials, relayState: String(n) }),
        ),
      ),
    )
    const failed = answers.filter(({ status }) => status !== 200)
    for (const answer of failed) expectUpstreamError(answer, 502)
    expect(failed.length).toBeGreaterThan(2)
    expect(failed.length).toBeLessThan(answers.length / 2)
    expect(harness.upstreamCalls()).toHaveLength(answers.length) // none was sent twice
    await expectNothingLeft()
  })

  test('does not end a transaction', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    for (const kind of ['cut', 'half', 'wrong-type'] as const) {
      harness.sandbox.faults.authn.set({ kind })
      expectUpstreamError(await browser.post('/api/v1/authn', { stateToken: handleOf(mfaRequired) }), 502)
    }
    harness.sandbox.faults.authn.clear()
    expect((await browser.post('/api/v1/authn', { stateToken: handleOf(mfaRequired) })).json.status).toBe(
      'MFA_REQUIRED',
    )
  })
})
