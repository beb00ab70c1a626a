import { beforeEach, expect, test } from '@jest/globals'
import type { SandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import { PASSWORD, TOMAS, useHarness } from '../support/harness.ts'

/**
 * The two mistakes of docs/connect-your-okta-org.md, step 3, as users of the portal see them
 * (docs/unproven.md O1). The policy asks for a second factor, except in the office.
 */

const GATEHOUSE = '127.0.0.1'
const OFFICE = '203.0.113.10'
const HOME = '198.51.100.7'

let config: SandboxConfig
const harness = useHarness({
  env: { TRUST_PROXY: '127.0.0.1/32' },
  sandboxConfig: (given) => {
    config = given
    return config
  },
})
beforeEach(() => setRuleFor(['Office']))

function setRuleFor(zones: 'all' | string[]): void {
  const rules = [{ network: 'inside' as const, zones, mfa: 'never' as const, deny: false }]
  config.signOnPolicies = Object.fromEntries(
    Object.entries(config.signOnPolicies).map(([name, policy]) => [
      name,
      name === 'always' ? { ...policy, rules } : policy,
    ]),
  )
}

const zone = (name: string, gateways: string[], proxies: string[] = []) => ({ name, gateways, proxies })

async function statusFrom(address: string, zones: SandboxConfig['zones']): Promise<unknown> {
  config.zones = zones
  const browser = await harness.visit()
  const body = { username: TOMAS, password: PASSWORD }
  const { json } = await browser.post('/api/v1/authn', body, { headers: { 'x-forwarded-for': address } })
  expect(harness.sandbox.signIns.at(-1)).toMatchObject({ address })
  return json.status
}

test('with Gatehouse as a proxy of the zone, only users in the office need no second factor', async () => {
  const zones = [zone('Office', [OFFICE], [GATEHOUSE])]
  expect(await statusFrom(OFFICE, zones)).toBe('SUCCESS')
  expect(await statusFrom(HOME, zones)).toBe('MFA_REQUIRED')
})

test('with Gatehouse as a proxy of another zone only, users in the office need one too', async () => {
  const zones = [zone('Office', [OFFICE]), zone('Portal', [], [GATEHOUSE])]
  expect(await statusFrom(OFFICE, zones)).toBe('MFA_REQUIRED')
})

test('with Gatehouse as a gateway of the zone, nobody needs one', async () => {
  expect(await statusFrom(HOME, [zone('Office', [OFFICE, GATEHOUSE])])).toBe('SUCCESS')
})

test('with Gatehouse as a gateway of any zone, nobody needs one under a rule for all zones', async () => {
  const zones = [zone('Office', [OFFICE], [GATEHOUSE]), zone('Token', [GATEHOUSE])]
  expect(await statusFrom(HOME, zones)).toBe('MFA_REQUIRED')
  setRuleFor('all')
  expect(await statusFrom(HOME, zones)).toBe('SUCCESS')
})
