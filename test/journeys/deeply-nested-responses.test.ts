import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { type StubHarness, startStubHarness } from '../support/harness.ts'

/**
 * Each function that walks through a response has its own maximum depth. Whichever is reached first, the response is a
 * 502.
 */
let harness: StubHarness
let depth = 0
beforeAll(async () => {
  harness = await startStubHarness({
    answer: (_req, res) =>
      res
        .setHeader('Content-Type', 'application/json')
        .end(`{"status":"MFA_REQUIRED","stateToken":"${'t'.repeat(40)}","_embedded":${nested(depth)}}`),
    constants: { upstream: { breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 1 } } },
  })
})
afterAll(() => harness.stop())

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

test('a response of any depth is either passed on or a 502', async () => {
  const browser = openBrowser(harness.gatehouse.url)
  browser.allowAnyTransaction()
  const statuses = new Set<number>()
  for (depth = 500; depth < 15_000; depth += 1000) {
    const username = `deep-${depth}@example.test`
    statuses.add((await browser.post('/api/v1/authn', { username, password: 'Plainly-Fake-1' })).status)
  }
  expect([...statuses].sort()).toEqual([200, 502])
  expect(harness.gatehouse.logText()).not.toContain('unexpected_error')
})
