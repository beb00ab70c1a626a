import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { FaultRule } from '../../src/sandbox/fault-rules.ts'
import type { PageAnswer } from '../support/browser.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** What an upstream in trouble does to a sign-in that has not begun yet; a step in progress: `dependency-failures.test.ts`. */

let harness: Harness

/** The broker gives an upstream up only after `totalTimeoutMs`: 504 has to mean that, also on a slow machine. */
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

function expectTrouble(answer: PageAnswer, status: number) {
  expect(answer.status).toBe(status)
  expect(answer.json).toMatchObject({ errorCode: 'E0000009', errorLink: 'E0000009', errorCauses: [] })
  expect(answer.text).not.toMatch(/127\.0\.0\.1|localhost|ECONN|undici|node_modules| at /i)
}

/** No place is taken, no lock held, no half a transaction kept. */
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
  for (const answer of answers) expectTrouble(answer, status)
  await expectNothingLeft()

  harness.sandbox.faults.authn.clear()
  await until(async () => (await browser.post('/api/v1/authn', credentials)).json.status === 'SUCCESS', {
    what: 'a sign-in that succeeds again',
  })
}

describe('an upstream that never finishes its answer', () => {
  withBroker(1000)

  test.each([
    ['answers far too late', { kind: 'delay', ms: 300_000 }],
    ['sends one byte a second', { kind: 'drip', everyMs: 1000 }],
  ] as const)('because it %s: 504, and nothing is left of the transaction', async (_name, fault) => {
    await expectDocumentedError(fault, 504)
  })
})

describe('an upstream that fails', () => {
  withBroker(120_000)

  test.each([
    ['cuts connections', { kind: 'cut' }],
    ['sends half an answer', { kind: 'half' }],
    ['calls JSON something else', { kind: 'wrong-type' }],
    ['sends 10 MB', { kind: 'huge', bytes: 10_000_000 }],
    ['says a wrong Content-Length', { kind: 'wrong-length' }],
  ] as const)('because it %s: 502, and nothing is left of the transaction', async (_name, fault) => {
    await expectDocumentedError(fault, 502)
  })

  test('when three of ten calls fail, three of ten are 502, the others know nothing of it', async () => {
    const browsers = await Promise.all(Array.from({ length: 10 }, () => harness.visit()))
    await harness.redis.client().flushall()
    harness.sandbox.faults.authn.set({ kind: 'error-rate', share: 0.3 })
    harness.forget()
    const answers = await Promise.all(
      browsers.flatMap((browser) =>
        Array.from({ length: 5 }, (_, n) =>
          browser.post('/api/v1/authn', { ...credentials, relayState: String(n) }),
        ),
      ),
    )
    const failed = answers.filter(({ status }) => status !== 200)
    for (const answer of failed) expectTrouble(answer, 502)
    expect(failed.length).toBeGreaterThan(2)
    expect(failed.length).toBeLessThan(answers.length / 2)
    expect(harness.upstreamCalls()).toHaveLength(answers.length) // none was sent twice
    await expectNothingLeft()
  })

  test('a transaction outlives all of it', async () => {
    const browser = await harness.visit()
    const asked = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    for (const kind of ['cut', 'half', 'wrong-type'] as const) {
      harness.sandbox.faults.authn.set({ kind })
      expectTrouble(await browser.post('/api/v1/authn', { stateToken: handleOf(asked) }), 502)
    }
    harness.sandbox.faults.authn.clear()
    expect((await browser.post('/api/v1/authn', { stateToken: handleOf(asked) })).json.status).toBe(
      'MFA_REQUIRED',
    )
  })
})
