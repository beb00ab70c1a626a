import { expect, test } from '@jest/globals'
import { judgeSeenClient, readSeenClient } from '../../src/doctor/okta-client-address.ts'

const FORWARDED = '192.0.2.1'
const BROKER = '198.51.100.10'

/** An event, with the fields that Okta's examples have. */
const event = (more: object) => ({ version: '0', eventType: 'user.session.start', ...more })
const client = (ipAddress: unknown, zone?: unknown) => ({ client: { ipAddress, zone } })
const chain = (...addresses: unknown[]) => ({ request: { ipChain: addresses.map((ip) => ({ ip })) } })
const CHAIN = chain(FORWARDED, BROKER)

const judge = (...events: object[]) => {
  const { status, detail } = judgeSeenClient(readSeenClient(events.map(event)), FORWARDED)
  return `${status}: ${detail}`
}

const USED = 'Okta uses the address in X-Forwarded-For'
const IGNORED = `Okta ignores X-Forwarded-For, and takes ${BROKER} for the client’s address`
const COUNTED = `warn: ${USED}, but counts ${FORWARDED}, which nobody has, into a zone`

test.each<[string, object[], string]>([
  [
    'the forwarded address, in no zone: the text null, as in Okta’s examples',
    [{ ...client(FORWARDED, 'null'), ...CHAIN }],
    `ok: ${USED}, in no zone (IP chain: ${FORWARDED}, ${BROKER})`,
  ],
  ['the forwarded address, in no zone: null', [client(FORWARDED, null)], `ok: ${USED}, in no zone`],
  ['no zones', [client(FORWARDED)], `ok: ${USED}; the System Log shows no zones`],
  [
    'the forwarded address, in a zone',
    [{ ...client(FORWARDED, 'Office'), ...CHAIN }],
    `${COUNTED} (IP chain: ${FORWARDED}, ${BROKER}; zone: Office)`,
  ],
  [
    'a zone in the second event only',
    [client(FORWARDED, 'null'), client(FORWARDED, 'Office'), client(FORWARDED, 'Office')],
    `${COUNTED} (zone: Office)`,
  ],
  [
    'two zones',
    [client(FORWARDED, 'Office'), client(FORWARDED, 'LegacyIpZone')],
    `${COUNTED} (zone: Office, LegacyIpZone)`,
  ],
  [
    'the broker’s address and the forwarded one in the IP chain',
    [{ ...client(BROKER, 'null'), ...CHAIN }],
    `fail: ${IGNORED} (IP chain: ${FORWARDED}, ${BROKER})`,
  ],
  [
    'the broker’s address alone, in a zone, with its network',
    [
      {
        ...client(BROKER, 'Office'),
        ...chain(BROKER),
        securityContext: { asOrg: 'Example Hosting', isProxy: true },
      },
    ],
    `fail: ${IGNORED} (IP chain: ${BROKER}; zone: Office; network: Example Hosting; an anonymizing proxy for Okta)`,
  ],
  ['no IP chain', [client(BROKER)], `fail: ${IGNORED}`],
  ['no address', [client(null, 'Office')], 'skipped: the System Log shows no address'],
  ['a text that is no address', [client('unknown')], 'skipped: the System Log shows no address'],
])('the System Log shows %s', (_, events, result) => {
  expect(judge(...events)).toBe(result)
})

test('what is no address is left out of the IP chain, and names are printed without control characters', () => {
  const seen = readSeenClient([
    event({
      ...client(FORWARDED, 'a\u001b[31m zone'),
      ...chain('<script>', FORWARDED),
      securityContext: { asOrg: 'x'.repeat(101) },
    }),
  ])
  expect(seen).toEqual({
    address: FORWARDED,
    ipChain: [FORWARDED],
    zones: ['a?[31m zone'],
    network: 'x'.repeat(100),
    isProxy: false,
  })
})

test.each([
  ['in the IP chain', CHAIN, false],
  ['not in the IP chain', chain(BROKER), true],
])('the fix names an egress proxy only if the forwarded address is %s', (_, shown, namesEgress) => {
  const { fix } = judgeSeenClient(readSeenClient([event({ ...client(BROKER), ...shown })]), FORWARDED)
  expect(fix).toContain(
    `If ${BROKER} is an address of the broker, add it to the trusted proxies of every zone`,
  )
  expect(fix?.includes('egress proxy')).toBe(namesEgress)
})
