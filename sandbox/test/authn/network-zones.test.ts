import { beforeEach, describe, expect, test } from '@jest/globals'
import { loadSandboxConfig, parseSandboxConfig, type SandboxConfig } from '../../src/sandbox-config.ts'
import { useSandbox } from './sandbox-client.ts'

/** The caller of the sandbox: the broker, or any other client. */
const CALLER = '127.0.0.1'
const OFFICE = '203.0.113.10'
const HOME = '198.51.100.7'
const PROXY = '192.0.2.20'

type Zones = SandboxConfig['zones']
type Rules = SandboxConfig['signOnPolicies'][string]['rules']

const zone = (name: string, gateways: string[], proxies: string[] = []): Zones[number] => ({
  name,
  gateways,
  proxies,
})
const OFFICE_ZONE = zone('Office', [OFFICE], [CALLER])

let config: SandboxConfig
const client = useSandbox((given) => {
  config = given
})
beforeEach(() => setRules([]))

/** The rules of the policy of `tomas.berg`, which else asks for a factor. */
function setRules(rules: Rules): void {
  config.signOnPolicies.always = { ...policyOf(loadSandboxConfig()), rules }
}

function policyOf({ signOnPolicies }: SandboxConfig) {
  const { always } = signOnPolicies
  if (always === undefined) throw new Error('there is no policy "always"')
  return always
}

/**
 * Signs in with the password. Resolves with the next status and the sandbox's record of the
 * sign-in.
 */
async function signInFrom(chain: string | undefined, zones: Zones, withToken = true) {
  config.zones = zones
  const headers = {
    ...(withToken ? { authorization: `SSWS ${client.sandbox.apiToken}` } : {}),
    ...(chain === undefined ? {} : { 'x-forwarded-for': chain }),
  }
  const answer = await client.signIn('tomas.berg', {}, headers)
  return { status: answer.body.status, ...client.sandbox.signIns.at(-1) }
}

/**
 * Okta's support article "Okta Evaluation of Client IP Addresses from an IP Chain";
 * docs/unproven.md R3.
 */
test.each<[string, string | undefined, Zones, string]>([
  // sandbox shows, F-6.3
  ['is used if the caller is a proxy of a zone', HOME, [OFFICE_ZONE], HOME],
  // sandbox shows
  ['is used if the caller is a gateway of a zone', HOME, [zone('Portal', [CALLER])], HOME],
  // sandbox shows, F-6.3
  ['is ignored if the caller is in no zone', HOME, [zone('Office', [OFFICE], [PROXY])], CALLER],
  ['is ignored if the org has no zone', HOME, [], CALLER],
  ['may be missing', undefined, [OFFICE_ZONE], CALLER],
  [
    'is read from the right, past the proxies of any zone',
    `192.0.2.99, ${HOME}, ${PROXY}`,
    [zone('Office', [OFFICE], [PROXY]), zone('Plant', [], [CALLER])],
    HOME,
  ],
  ['has the client first if all its addresses are in zones', OFFICE, [OFFICE_ZONE], OFFICE],
])('X-Forwarded-For %s', async (_, chain, zones, address) => {
  expect(await signInFrom(chain, zones)).toMatchObject({ address })
})

/** docs/unproven.md R3: guardian/gateway sends the header without a token. */
test.each([
  // sandbox shows
  ['with', true],
  // sandbox shows
  ['without', false],
])('X-Forwarded-For counts %s an API token', async (_, trusted) => {
  const seen = await signInFrom(HOME, [OFFICE_ZONE], trusted)
  expect(seen).toMatchObject({ trusted, address: HOME, ipChain: [HOME, CALLER] })
})

/** docs/unproven.md O1: the rules and the examples of Okta's help page "IP zones". */
test.each<[string, string | undefined, string[], string[], boolean]>([
  ['the caller is a gateway', undefined, [CALLER], [], true],
  ['the caller is a gateway, and another address a proxy', undefined, [CALLER], [PROXY], true],
  ['the caller is neither', undefined, [], [], false],
  ['the caller is a proxy, with nothing before it', undefined, [], [CALLER], false],
  ['the caller is a gateway, whatever it forwards', HOME, [CALLER], [], true],
  ['a proxy forwards a gateway', OFFICE, [OFFICE], [CALLER], true],
  ['a proxy forwards another address', HOME, [OFFICE], [CALLER], false],
  ['a caller that is neither forwards a gateway', OFFICE, [OFFICE], [], false],
  ['two proxies forward a gateway', `${OFFICE}, ${PROXY}`, [OFFICE], [CALLER, PROXY], true],
  ['one of two proxies is not listed', `${OFFICE}, ${PROXY}`, [OFFICE], [CALLER], false],
  ['the fifth hop is a gateway', OFFICE + `, ${PROXY}`.repeat(3), [OFFICE], [CALLER, PROXY], true],
  ['only the sixth hop is a gateway', OFFICE + `, ${PROXY}`.repeat(4), [OFFICE], [CALLER, PROXY], false],
])('inside a zone or not: %s', async (_, chain, gateways, proxies, isInside) => {
  const { zones } = await signInFrom(chain, [zone('Office', gateways, proxies)])
  expect(zones).toEqual(isInside ? ['Office'] : [])
})

const noFactorInside = (zones: Rules[number]['zones']): Rules[number] => ({
  network: 'inside',
  zones,
  mfa: 'never',
  deny: false,
})
const deniedOutside = (zones: Rules[number]['zones']): Rules[number] => ({
  network: 'outside',
  zones,
  mfa: 'never',
  deny: true,
})

describe('a rule of a sign-on policy', () => {
  test.each<[string, Rules, string, string]>([
    ['for inside a zone applies there', [noFactorInside(['Office'])], OFFICE, 'SUCCESS'],
    ['for inside a zone does not apply elsewhere', [noFactorInside(['Office'])], HOME, 'MFA_REQUIRED'],
    ['for outside a zone applies elsewhere', [deniedOutside(['Office'])], HOME, 'denied'],
    ['for outside a zone does not apply there', [deniedOutside(['Office'])], OFFICE, 'MFA_REQUIRED'],
    ['for inside all zones applies in each', [noFactorInside('all')], OFFICE, 'SUCCESS'],
    ['for outside all zones applies elsewhere', [deniedOutside('all')], HOME, 'denied'],
    ['that comes first applies', [deniedOutside(['Plant']), noFactorInside(['Office'])], OFFICE, 'denied'],
  ])('%s', async (_, rules, address, outcome) => {
    setRules(rules)
    const zones = [OFFICE_ZONE, zone('Plant', ['192.0.2.50'], [CALLER])]
    expect(await signInFrom(address, zones)).toMatchObject({ address, outcome })
  })

  test('may only refer to zones that are defined', () => {
    setRules([noFactorInside(['Ofice'])])
    config.zones = [OFFICE_ZONE]
    expect(() => parseSandboxConfig(config)).toThrow(
      'the policy always has the zone Ofice, which is not defined',
    )
  })
})

/** docs/unproven.md O1. In each case, the System Log shows the right address of the client. */
describe('a zone that is set up wrongly', () => {
  test('users in the office count as outside if the caller is a proxy of another zone only', async () => {
    const zones = [zone('Office', [OFFICE]), zone('Plant', ['192.0.2.50'], [CALLER])]
    setRules([deniedOutside(['Office'])])
    expect(await signInFrom(OFFICE, zones)).toMatchObject({ address: OFFICE, zones: [], outcome: 'denied' })
  })

  test.each<[string, Zones, Rules[number]['zones']]>([
    ['the zone of the rule', [zone('Office', [OFFICE, CALLER])], ['Office']],
    ['any zone, for a rule for all zones', [OFFICE_ZONE, zone('Token', [CALLER])], 'all'],
  ])('all users count as inside if the caller is a gateway of %s', async (_, zones, ruleZones) => {
    setRules([noFactorInside(ruleZones)])
    expect(await signInFrom(HOME, zones)).toMatchObject({ address: HOME, status: 'SUCCESS' })
  })
})

test('the System Log has the client, the IP chain and the zone of a sign-in', async () => {
  await signInFrom(HOME, [OFFICE_ZONE])
  expect(await loggedEvent()).toMatchObject({
    client: { ipAddress: HOME, zone: 'null' },
    request: {
      ipChain: [
        { ip: HOME, version: 'V4' },
        { ip: CALLER, version: 'V4' },
      ],
    },
  })
  await signInFrom(OFFICE, [OFFICE_ZONE])
  expect(await loggedEvent()).toMatchObject({ client: { ipAddress: OFFICE, zone: 'Office' } })
})

async function loggedEvent(): Promise<unknown> {
  const filter = `transaction.id eq "${client.sandbox.signIns.at(-1)?.requestId}"`
  const authorization = `SSWS ${client.sandbox.apiToken}`
  const response = await client.get(`/api/v1/logs?${new URLSearchParams({ filter })}`, { authorization })
  const events: unknown = await response.json()
  return Array.isArray(events) ? events[0] : events
}
