import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/** The expiry of the PAM key, from the sandbox to the metric and the log. */

const NOW = Date.parse('2030-03-01T12:00:00Z')
const now = () => NOW

let harness: Harness
beforeEach(async () => {
  harness = await startHarness({ now, sandboxNow: now })
})
afterEach(() => harness.stop())

/** Less than the 30 seconds between two checks. */
const SOON = { timeoutMs: 20_000 }

const expiry = async (gatehouse: Gatehouse) =>
  /^gatehouse_pam_key_expiry_timestamp_seconds (\S+)/m.exec(await gatehouse.metrics())?.[1]

async function lookUpGroups(): Promise<void> {
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect((await browser.get('/api/v1/pam/me')).status).toBe(200)
}

test('the first look-up makes the expiry of the key known, without a wait for a check', async () => {
  const { gatehouse, sandbox } = harness
  sandbox.pamControl.expireKey('sandbox-key-1', '2030-03-05T00:00:00Z')
  gatehouse.watchUpstreams()
  expect(await expiry(gatehouse)).toBe('0')
  await lookUpGroups()
  await until(async () => (await expiry(gatehouse)) === `${Date.UTC(2030, 2, 5) / 1000}`, SOON)
  expect(gatehouse.logLines()).toContainEqual(
    expect.objectContaining({ level: 'warn', event: 'pam_key_expires_soon', count: 4, reason: 'days left' }),
  )
})

test('if PAM refuses to show the key, a warning says so, and look-ups continue', async () => {
  const { gatehouse, sandbox } = harness
  const path = '/v1/teams/example-team/service_users'
  sandbox.pamControl.failNext({ error: 'forbidden_error', path, times: 'always' })
  gatehouse.watchUpstreams()
  await lookUpGroups()
  const unknown = { level: 'warn', event: 'pam_key_expiry_unknown', name: 'forbidden_error' }
  await until(() => gatehouse.logLines().some(({ event }) => event === unknown.event), SOON)
  expect(gatehouse.logLines()).toContainEqual(expect.objectContaining(unknown))
  await lookUpGroups()
})
