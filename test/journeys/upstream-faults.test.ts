import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { PageAnswer } from '../support/browser.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { AMELIA, type House, PASSWORD, startHouse, TOMAS } from '../support/house.ts'
import { handleOf } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** What an upstream in trouble does to what has not begun yet; a step that is under way: `trouble.test.ts`. */
const PATIENCE_MS = 1000

let house: House
beforeAll(async () => {
  house = await startHouse({
    tunables: (tunables) => ({
      ...generousLimits(tunables),
      upstream: {
        ...tunables.upstream,
        authn: {
          ...tunables.upstream.authn,
          totalTimeoutMs: PATIENCE_MS,
          connectTimeoutMs: PATIENCE_MS,
          breaker: { consecutiveFailures: 1_000_000, halfOpenAfterMs: 100 },
        },
      },
    }),
  })
})
afterAll(() => house.stop())
beforeEach(() => house.sandbox.reset())

const credentials = { username: AMELIA, password: PASSWORD }

function expectTrouble(answer: PageAnswer, status: number) {
  expect(answer.status).toBe(status)
  expect(answer.json).toMatchObject({ errorCode: 'E0000009', errorLink: 'E0000009', errorCauses: [] })
  expect(answer.text).not.toMatch(/127\.0\.0\.1|localhost|ECONN|undici|node_modules| at /i)
}

/** No place is taken, no lock held, no half a transaction kept. */
async function expectNothingLeft() {
  const redis = house.redis.client()
  await until(async () => /requests_under_way\{kind="sign_in"\} 0\n/.test(await house.gatehouse.metrics()))
  const locks = await redis.keys('gatehouse:lock:{*}')
  expect(await Promise.all(locks.map((key) => redis.pttl(key)))).not.toContain(-1)
  expect(locks.filter((key) => key.endsWith('}'))).toEqual([])
  expect(await redis.keys('gatehouse:txn:*')).toEqual([])
}

describe.each([
  ['answers 5 s late', { kind: 'delay', ms: 5000 }, 504],
  ['cuts connections', { kind: 'cut' }, 502],
  ['sends half an answer', { kind: 'half' }, 502],
  ['calls JSON something else', { kind: 'wrong-type' }, 502],
  ['sends 10 MB', { kind: 'huge', bytes: 10_000_000 }, 502],
  ['says a wrong Content-Length', { kind: 'wrong-length' }, 502],
  ['sends one byte a second', { kind: 'drip', everyMs: 1000 }, 504],
] as const)('an upstream that %s', (_name, fault, status) => {
  test('is the documented error for who signs in or recovers, and nothing is left of it', async () => {
    const browser = await house.visit()
    await house.redis.client().flushall()
    house.sandbox.faults.authn.set(fault)
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

    house.sandbox.faults.authn.clear()
    expect((await browser.post('/api/v1/authn', credentials)).json.status).toBe('SUCCESS')
  })
})

test('when three of ten calls fail, three of ten are 502, the others know nothing of it', async () => {
  const browsers = await Promise.all(Array.from({ length: 10 }, () => house.visit()))
  await house.redis.client().flushall()
  house.sandbox.faults.authn.set({ kind: 'error-rate', share: 0.3 })
  house.forget()
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
  expect(house.upstreamCalls()).toHaveLength(answers.length) // none was sent twice
  await expectNothingLeft()
})

test('a transaction outlives all of it', async () => {
  const browser = await house.visit()
  const asked = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
  for (const kind of ['cut', 'half', 'wrong-type'] as const) {
    house.sandbox.faults.authn.set({ kind })
    expectTrouble(await browser.post('/api/v1/authn', { stateToken: handleOf(asked) }), 502)
  }
  house.sandbox.faults.authn.clear()
  expect((await browser.post('/api/v1/authn', { stateToken: handleOf(asked) })).json.status).toBe(
    'MFA_REQUIRED',
  )
})
