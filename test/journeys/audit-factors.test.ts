import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { factorAt, hrefAt, valueAt } from '../support/transaction-view.ts'

/** An active factor is audited exactly once, whatever its type. */
const ERIN = 'erin.enroll@example.test'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ env: { LOG_LEVEL: 'error' }, tunables: generousLimits })
})
afterAll(() => harness.stop())

let before = 0
beforeEach(() => {
  harness.sandbox.reset()
  before = harness.gatehouse.logLines().length
})

const lines = (...events: string[]) =>
  harness.gatehouse
    .logLines()
    .slice(before)
    .filter(({ event }) => events.includes(String(event)))
const enrolled = () => lines('factor_enrolled', 'factor_changed')

async function openEnrollment(): Promise<PortalPage> {
  const page = await openPage(harness)
  const answer = await page.signIn(ERIN, { options: { multiOptionalFactorEnroll: true } })
  expect(answer.json.status).toBe('MFA_ENROLL')
  return page
}

const enroll = (page: PortalPage, factorType: string, provider: string, fields: object = {}) =>
  page.follow(`${factorAt(page.held, factorType, provider)}._links.enroll`, {
    factorType,
    provider,
    ...fields,
  })

const nonceAt = (page: PortalPage, member: string) =>
  String(valueAt(page.held.json, `_embedded.factor._embedded.activation.${member}`))
const sentCode = () => harness.sandbox.outbox.latest(ERIN, 'factor-activation')?.code ?? 'none was sent'
const token = (serial: string) => () => ({
  profile: { credentialId: serial },
  passCode: harness.sandbox.tokenCode(serial),
})
const PHONE = () => ({ profile: { phoneNumber: '+15550107777' } })
const KEY = () => harness.sandbox.authenticator(ERIN)

/** Factor type, provider, enrollment fields, activation fields (undefined: active without activation). */
const FACTORS: readonly (readonly [
  string,
  string,
  () => object,
  ((page: PortalPage) => object) | undefined,
])[] = [
  [
    'question',
    'OKTA',
    () => ({ profile: { question: 'favorite_toy', answer: 'a spinning top' } }),
    undefined,
  ],
  ['token', 'RSA', token('RSA-77'), undefined],
  ['token', 'SYMANTEC', token('VIP-77'), undefined],
  ['token:hardware', 'YUBICO', token('HW-77'), undefined],
  ['sms', 'OKTA', PHONE, () => ({ passCode: sentCode() })],
  ['call', 'OKTA', PHONE, () => ({ passCode: sentCode() })],
  ['email', 'OKTA', () => ({}), () => ({ passCode: sentCode() })],
  ['token:software:totp', 'GOOGLE', () => ({}), () => ({ passCode: harness.sandbox.totpCode(ERIN) })],
  [
    'webauthn',
    'FIDO',
    () => ({}),
    (page) => KEY().registerWebauthn(nonceAt(page, 'challenge'), harness.gatehouse.url),
  ],
  ['u2f', 'FIDO', () => ({}), (page) => KEY().registerU2f(nonceAt(page, 'nonce'), harness.gatehouse.url)],
]

test.each(FACTORS)(
  '%s of %s is audited once, when it becomes active',
  async (factorType, provider, fields, activation) => {
    const page = await openEnrollment()
    await enroll(page, factorType, provider, fields())
    if (activation !== undefined) {
      expect(page.held.json.status).toBe('MFA_ENROLL_ACTIVATE')
      const wrong = {
        passCode: '000000',
        clientData: 'd3Jvbmc',
        attestation: 'd3Jvbmc',
        registrationData: 'd3Jvbmc',
      }
      expect((await page.follow('_links.next', wrong)).status).toBe(403)
      expect(enrolled()).toEqual([])
      await page.follow('_links.next', activation(page))
    }
    expect(page.held.json.status).toMatch(/^(MFA_ENROLL|SUCCESS)$/)
    const [started] = lines('sign_in_started')
    expect(enrolled()).toEqual([
      expect.objectContaining({
        event: 'factor_enrolled',
        audit: true,
        userId: harness.sandbox.user(ERIN).id,
        loginHash: started?.loginHash,
        deviceHash: started?.deviceHash,
        address: '127.0.0.1',
        operation: activation === undefined ? 'enroll' : 'activate',
        factorType,
        provider,
      }),
    ])
  },
)

test('a push factor is audited when the phone has confirmed it, not while the enrollment waits', async () => {
  const page = await openEnrollment()
  await enroll(page, 'push', 'OKTA')
  await page.follow('_links.next')
  await page.follow('_links.next')
  expect(enrolled()).toEqual([])
  harness.sandbox.answerPush(ERIN, 'approve')
  await page.follow('_links.next')
  expect(page.held.json.status).toMatch(/^(MFA_ENROLL|SUCCESS)$/)
  expect(enrolled()).toMatchObject([{ event: 'factor_enrolled', factorType: 'push', provider: 'OKTA' }])
})

test.each([
  ['a step back', (page: PortalPage) => page.follow('_links.prev'), 'previous', 'MFA_ENROLL'],
  ['a state request', (page: PortalPage) => page.send('/api/v1/authn', {}), 'state', 'SUCCESS'],
])(
  'a push factor that the phone has activated is audited by %s, without a poll',
  async (_how, send, operation, status) => {
    const page = await openEnrollment()
    await enroll(page, 'push', 'OKTA')
    const { json } = page.held
    const user = valueAt(json, '_embedded.user')
    const factors = [{ factorType: 'push', provider: 'OKTA', vendorName: 'OKTA', status: 'ACTIVE' }]
    const body = { status, expiresAt: json.expiresAt, _embedded: { user, factors } }
    page.browser.allowAnyTransaction()
    harness.sandbox.faults.authn.set({ kind: 'status', status: 200, body, times: 1 })
    await send(page)
    expect(enrolled()).toMatchObject([
      { event: 'factor_enrolled', operation, factorType: 'push', provider: 'OKTA' },
    ])
    await page.send('/api/v1/authn', {})
    expect(enrolled()).toHaveLength(1)
  },
)

test('an abandoned enrollment is not audited, whichever step abandons it', async () => {
  const page = await openEnrollment()
  await enroll(page, 'sms', 'OKTA', PHONE())
  await page.follow('_links.prev')
  await enroll(page, 'email', 'OKTA')
  await page.send('/api/v1/authn', {})
  await page.send('/api/v1/authn/cancel')
  expect(enrolled()).toEqual([])
})

test('two factors enrolled in one sign-in are audited with their own types', async () => {
  const page = await openEnrollment()
  await enroll(page, 'sms', 'OKTA', PHONE())
  await page.follow('_links.prev')
  await enroll(page, 'question', 'OKTA', { profile: { question: 'favorite_toy', answer: 'a top' } })
  await enroll(page, 'email', 'OKTA')
  await page.follow('_links.next', { passCode: sentCode() })
  expect(enrolled().map(({ event, factorType }) => [event, factorType])).toEqual([
    ['factor_enrolled', 'question'],
    ['factor_enrolled', 'email'],
  ])
})

test.each([
  ['sms', 'OKTA', 'factor_changed', 'enrolled_again'],
  ['webauthn', 'FIDO', 'factor_enrolled', undefined],
])('a second %s of %s is audited as %s', async (factorType, provider, event, reason) => {
  const page = await openEnrollment()
  const href = hrefAt(page.held, `${factorAt(page.held, factorType, provider)}._links.enroll`)
  const { json } = page.held
  const link = { href: `${harness.authnUrl}/api/v1/authn/factors`, hints: { allow: ['POST'] } }
  const active = { factorType, provider, vendorName: provider, status: 'ACTIVE', _links: { enroll: link } }
  const listed = {
    stateToken: await realToken(),
    status: 'MFA_ENROLL',
    expiresAt: json.expiresAt,
    _embedded: { user: valueAt(json, '_embedded.user'), factors: [active] },
  }
  page.browser.allowAnyTransaction()
  const answer = async (body: object, send: () => Promise<unknown>) => {
    harness.sandbox.faults.authn.set({ kind: 'status', status: 200, body, times: 1 })
    await send()
  }
  await answer(listed, () => page.send('/api/v1/authn', {}))
  await answer({ ...listed, status: 'SUCCESS' }, () => page.send(href, { factorType, provider }))
  expect(enrolled()).toMatchObject([
    { event, factorType, provider, ...(reason === undefined ? {} : { reason }) },
  ])

  /** The state token that the broker sent last. */
  async function realToken() {
    await page.send('/api/v1/authn', {})
    const { body } = harness.upstreamCalls().at(-1) ?? {}
    return typeof body === 'object' && body !== null && 'stateToken' in body ? body.stateToken : undefined
  }
})
