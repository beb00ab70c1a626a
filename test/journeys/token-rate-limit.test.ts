import { afterEach, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { errorOf, handleOf, verifyHref } from '../support/transaction-view.ts'

/** An API token may use half of the org's rate limit by default (https://developer.okta.com/docs/reference/rl2-token-oauth). */
const ORG_LIMIT = 40
const TOKEN_LIMIT = ORG_LIMIT / 2

let harness: Harness
afterEach(() => harness.stop())

async function start(inHeaders: boolean): Promise<void> {
  harness = await startHarness({
    // a window of many years, so that it does not end during a test
    sandboxConfig: (config) => ({
      ...config,
      rateLimits: {
        ...config.rateLimits,
        windowSeconds: 4_000_000_000,
        trustedPerWindow: ORG_LIMIT,
        tokenShare: { share: 0.5, inHeaders },
      },
    }),
    tunables: (tunables) => ({
      ...tunables,
      authn: { ...tunables.authn, rateLimit: { ...tunables.authn.rateLimit, maxWaitMs: 0 } },
    }),
  })
}

const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })

async function signInUntilRefused(): Promise<void> {
  const browser = await harness.visit()
  for (let n = 0; n < ORG_LIMIT; n++) if ((await signIn(browser, AMELIA)).status !== 200) return
  throw new Error('no sign-in was refused')
}

test('Okta’s headers show the token’s share: its last tenth is reserved for started sign-ins, and Okta refuses nothing', async () => {
  await start(true)
  const tomas = await harness.visit()
  const started = await signIn(tomas, TOMAS)
  await signInUntilRefused()
  expect(harness.upstreamCalls()).toHaveLength(TOKEN_LIMIT * 0.9)
  expect(await harness.gatehouse.metrics()).toContain(
    'gatehouse_upstream_rate_limit_remaining{upstream="authn"} 2',
  )

  const code = { stateToken: handleOf(started), passCode: harness.sandbox.totpCode(TOMAS) }
  expect((await tomas.post(verifyHref(started, 'token:software:totp'), code)).json.status).toBe('SUCCESS')
})

test('Okta’s headers show only the limit of the org: a 429 holds its user, and that of a second one holds all', async () => {
  await start(false)
  await signInUntilRefused()
  expect(harness.upstreamCalls()).toHaveLength(TOKEN_LIMIT + 1) // the last was answered 429

  const elsewhere = await harness.visit()
  const refused = await signIn(elsewhere, AMELIA)
  expect(errorOf(refused)).toEqual([429, 'E0000047'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
  expect(harness.upstreamCalls()).toHaveLength(TOKEN_LIMIT + 1)

  const before = performance.now()
  for (const username of [TOMAS, PRIYA, TOMAS, PRIYA])
    expect(errorOf(await signIn(elsewhere, username))).toEqual([429, 'E0000047'])
  const probes = 1 + Math.floor((performance.now() - before) / 5000)
  expect(harness.upstreamCalls().length).toBeLessThanOrEqual(TOKEN_LIMIT + 2 + probes)
})
