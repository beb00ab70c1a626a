import { afterEach, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

const USERS = Array.from({ length: 40 }, (_, n) => `user-${n}@example.test`)
const ALLOWED = 10

let harness: Harness
afterEach(() => harness.stop())

/** A sign-in waits for a connection for half of `totalTimeoutMs`. */
async function start(totalTimeoutMs: number): Promise<void> {
  harness = await startHarness({
    tunables: (tunables) => ({
      ...tunables,
      transaction: { ...tunables.transaction, stepLockMs: totalTimeoutMs * 2 },
      upstream: { ...tunables.upstream, authn: { ...tunables.upstream.authn, totalTimeoutMs } },
    }),
    sandboxConfig: (config) => ({
      ...config,
      rateLimits: { ...config.rateLimits, concurrent: ALLOWED },
      users: [
        ...config.users,
        ...config.users
          .filter(({ login }) => login === AMELIA)
          .flatMap((amelia) => USERS.map((login) => ({ ...amelia, login }))),
      ],
    }),
  })
}

const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })

const concurrencyLimit = async (broker: Gatehouse) =>
  Number(/gatehouse_upstream_concurrency_limit\{upstream="authn"\} (\d+)/.exec(await broker.metrics())?.[1])

const lowered = () =>
  harness.gatehouse.logLines().filter(({ event }) => event === 'upstream_concurrency_lowered')

test('40 sign-ins at once, of which the org allows 10: none is refused, and each password is checked once', async () => {
  await start(120_000)
  expect(await concurrencyLimit(harness.gatehouse)).toBe(20)
  const browsers = await Promise.all(USERS.map(() => harness.visit()))
  const release = harness.sandbox.faults.authn.hold()
  const answers = Promise.all(
    USERS.map((username, n) => {
      const browser = browsers[n]
      if (browser === undefined) throw new Error('one browser for each user')
      return signIn(browser, username)
    }),
  )
  await until(() => lowered().length > 0, { what: 'a lower limit' })
  release()

  expect((await answers).map(({ status, json }) => [status, json.status])).toEqual(
    USERS.map(() => [200, 'SUCCESS']),
  )
  const checked = harness.sandbox.signIns.map(({ login }) => login)
  expect(checked.toSorted()).toEqual(USERS.toSorted())
  expect(harness.upstreamCalls().length).toBeGreaterThan(USERS.length) // some were refused, and sent again
  expect(lowered()[0]).toMatchObject({ level: 'warn', upstream: 'authn' })
  expect(lowered()[0]?.count).toBeLessThanOrEqual(ALLOWED)
})

test('while other applications use the whole org, a sign-in is answered 503 without Okta’s headers, and nothing is held', async () => {
  await start(4000)
  const release = harness.sandbox.faults.authn.hold({ path: '/others' })
  const others = Array.from({ length: ALLOWED }, () => fetch(`${harness.authnUrl}/others`))
  await until(() => harness.upstreamCalls().length === ALLOWED, { what: 'all requests of others in flight' })
  const browser = await harness.visit()
  const refused = await signIn(browser, AMELIA)
  expect(refused.status).toBe(503)
  expect(Number(refused.headers.get('retry-after'))).toBeLessThan(5)
  expect(refused.headers.get('x-rate-limit-reset')).toBeNull()
  expect(harness.sandbox.signIns).toEqual([])
  expect(await concurrencyLimit(harness.gatehouse)).toBe(1)

  release()
  await Promise.all(others)
  expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
  expect(await harness.gatehouse.metrics()).not.toMatch(/rate_limit_holds_total\{upstream="authn",outcome/)
})
