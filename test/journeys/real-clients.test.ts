import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  AMELIA,
  type Harness,
  PASSWORD,
  PRIYA,
  type StubHarness,
  startHarness,
  startStubHarness,
} from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf, hrefAt } from '../support/transaction-view.ts'

/** Behaviour of real clients and recorded responses (docs/conformance.md, F) that no other journey tests. */

describe('recorded responses', () => {
  const TOKEN = '00stateToken_of-the-upstream_0123456789abc'
  let harness: StubHarness
  beforeAll(async () => {
    harness = await startStubHarness()
  })
  afterAll(() => harness.stop())

  test.each([
    ['password', { username: 'wilma@example.test', factorType: 'SMS', relayState: '/back' }],
    ['unlock', { username: 'wilma@example.test', factorType: 'EMAIL', relayState: '/back' }],
    ['token', { recoveryToken: 'recovery-token-0123456789', options: { multiOptionalFactorEnroll: true } }],
  ])('recovery/%s sends all its fields upstream, and nothing else', async (kind, fields) => {
    const path = `/api/v1/authn/recovery/${kind}`
    harness.stub.reset()
    harness.stub.answers({ stateToken: TOKEN, status: 'RECOVERY_CHALLENGE' })
    await (await harness.visit()).post(path, { ...fields, more: 'left out' })
    expect(harness.stub.requests.map(({ path, body }) => ({ path, body }))).toEqual([{ path, body: fields }])
  })
})

describe('with the sandbox', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness({ env: { SSO_REDIRECTS: 'http://localhost:3000/home' } })
  })
  afterAll(() => harness.stop())

  test('an SSO token expires after 5 minutes', async () => {
    const redis = harness.redis.client()
    try {
      const page = await openPage(harness)
      const beforeMs = Date.now()
      const { json } = await page.begin('/api/v1/authn', { username: AMELIA, password: PASSWORD })
      const afterMs = Date.now()
      expect(json.sessionToken).toEqual(expect.any(String))
      const keys = await redis.keys('gatehouse:sso:*')
      expect(keys).toHaveLength(1)
      const askedMs = Date.now()
      const leftMs = await redis.pttl(keys[0] ?? '')
      expect(Date.now() + leftMs).toBeGreaterThanOrEqual(beforeMs + 300_000)
      expect(askedMs + leftMs).toBeLessThanOrEqual(afterMs + 300_000)
    } finally {
      redis.disconnect()
    }
  })

  test('a push continues after a poll that got the org’s 429', async () => {
    const page = await openPage(harness)
    await page.signIn(PRIYA)
    await page.verify('push')
    const polled = new URL(hrefAt(page.held, '_links.next')).pathname
    harness.sandbox.faults.authn.set({ kind: 'rate-limited', path: polled, times: 1 })
    expect(errorOf(await page.follow('_links.next'))).toEqual([429, 'E0000047'])
    expect((await page.follow('_links.next')).json.factorResult).toBe('WAITING')
    harness.sandbox.answerPush(PRIYA, 'approve')
    expect((await page.follow('_links.next')).json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: PRIYA })
  })
})
