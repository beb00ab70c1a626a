import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf, handleOf, hrefAt } from '../support/transaction-view.ts'

/** Whatever one address sends: Okta gets no more than this many calls that it answers with a 4xx. */
const LIMIT = 20
const TOKEN_LIMIT = 10
const LIMITED = [429, 'E0000047']

let harness: Harness
let aheadMs = 0
beforeAll(async () => {
  harness = await startHarness({
    env: { TRUST_PROXY: '127.0.0.1' },
    sandboxNow: () => Date.now() + aheadMs,
    tunables: onlyLimits({
      call: { perAddress: atMost(LIMIT), perKnownDevice: atMost(LIMIT) },
      token: { perAddress: atMost(TOKEN_LIMIT) },
    }),
  })
})
afterAll(() => harness.stop())

let sequence = 0
let address = ''
beforeEach(() => {
  aheadMs += 120_000 // the org's own limit begins anew
  harness.sandbox.reset()
  sequence += 1
  address = `198.51.100.${sequence}`
})

/** A browser behind this address. */
const browserAt = (from = address) => openBrowser(harness.gatehouse.url, { 'x-forwarded-for': from })
const signIn = (browser: Browser, username: string, more: object = {}) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD, ...more })
const withUnknownAudience = () => signIn(browserAt(), `anyone-${++sequence}@example.test`, { audience: 'x' })

/** How many of the calls reach Okta, each answered with a 4xx, before the answer is 429. */
async function callsUntilLimited(tries: number, call: () => Promise<PageAnswer>): Promise<number> {
  harness.clearUpstreamCalls()
  const answers: PageAnswer[] = []
  for (let n = 0; n < tries; n++) answers.push(await call())
  const reached = harness.upstreamCalls().length
  expect(answers.at(0)?.status).toBeGreaterThanOrEqual(400)
  expect(errorOf(answers.at(0) as PageAnswer)).not.toEqual(LIMITED)
  expect(errorOf(answers.at(-1) as PageAnswer)).toEqual(LIMITED)
  return reached
}

test('60 anonymous calls with an unknown audience are stopped after the limit of their address, on all replicas', async () => {
  const other = await harness.replica()
  harness.clearUpstreamCalls()
  const answers: PageAnswer[] = []
  for (let n = 0; n < 6; n++) {
    const tenAtOnce = Array.from({ length: 10 }, (_, m) => {
      const credentials = { username: `anyone-${n}-${m}@example.test`, password: 'x', audience: 'unknown' }
      return browserAt().post(m % 2 ? '/api/v1/authn' : `${other.url}/api/v1/authn`, credentials)
    })
    answers.push(...(await Promise.all(tenAtOnce)))
  }
  const refused = answers.filter((answer) => errorOf(answer)[0] === 429)
  expect(harness.upstreamCalls()).toHaveLength(LIMIT)
  expect(refused).toHaveLength(60 - LIMIT)
  expect(refused.map(errorOf)).toEqual(Array(60 - LIMIT).fill(LIMITED))
  expect(await harness.gatehouse.metrics()).toContain('gatehouse_limit_hits_total{limit="call_address"}')
})

describe('behind an address that has used up its limit', () => {
  test('a user on a known device still signs in, with factor, polls and state requests', async () => {
    const known = await openPage(harness, browserAt('203.0.113.1'))
    await known.signIn(TOMAS)
    const totp = () => ({ passCode: harness.sandbox.totpCode(TOMAS) })
    expect((await known.verify('token:software:totp', totp())).json.status).toBe('SUCCESS')
    await callsUntilLimited(LIMIT + 5, withUnknownAudience)

    harness.sandbox.reset()
    const here = { headers: { 'x-forwarded-for': address } }
    const begun = await known.browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD }, here)
    expect(begun.json.status).toBe('MFA_REQUIRED')
    const state = { stateToken: handleOf(begun) }
    expect((await known.browser.post('/api/v1/authn', state, here)).json.status).toBe('MFA_REQUIRED')
    const verify = hrefAt(begun, '_embedded.factors.0._links.verify')
    expect(errorOf(await known.browser.post(verify, state, here))[0]).not.toBe(429)
  })

  test('a new device is refused; behind another address it signs in', async () => {
    await callsUntilLimited(LIMIT + 5, withUnknownAudience)
    expect(errorOf(await signIn(browserAt(), AMELIA))).toEqual(LIMITED)
    expect((await signIn(browserAt('203.0.113.2'), AMELIA)).json.status).toBe('SUCCESS')
  })
})

test('activation and recovery tokens that Okta does not know are limited together', async () => {
  const guess = () => {
    const token = `unknown-token-${++sequence}`
    return sequence % 2 === 0
      ? browserAt().post('/api/v1/authn', { token })
      : browserAt().post('/api/v1/authn/recovery/token', { recoveryToken: token })
  }
  expect(await callsUntilLimited(TOKEN_LIMIT + 5, guess)).toBe(TOKEN_LIMIT)
})
