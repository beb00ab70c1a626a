import { describe, expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { useHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { causesOf, errorOf, factorAt, valueAt } from '../support/transaction-view.ts'

const ERIN = 'erin.enroll@example.test'
const PHONE = '+15550107777'

/** How far the sandbox's clock is ahead of the broker's. */
let aheadMs = 0
const harness = useHarness({ sandboxNow: () => Date.now() + aheadMs, tunables: generousLimits })

interface FactorToEnroll {
  readonly factorType: string
  readonly provider?: string
  readonly [field: string]: unknown
}

async function openEnrollment(login: string, options: object = {}): Promise<PortalPage> {
  const page = await openPage(harness)
  const answer = await page.signIn(login, { options })
  expect(answer.json.status).toBe('MFA_ENROLL')
  return page
}

/** Follows the enroll link of this factor. */
function enroll(page: PortalPage, { factorType, provider = 'OKTA', ...fields }: FactorToEnroll, query = '') {
  const link = `${factorAt(page.held, factorType, provider)}._links.enroll`
  return page.follow(link, { factorType, provider, ...fields }, { query })
}

/** A factor enrolled in this sign-in is no proof of identity: `amr` contains the password alone. */
async function expectSession(page: PortalPage, login: string) {
  expect(page.held.json.status).toBe('SUCCESS')
  expect(await page.session()).toMatchObject({ login, amr: ['pwd'] })
}

async function expectAskedNextTime(login: string, factorType: string): Promise<PortalPage> {
  const page = await openPage(harness)
  expect((await page.signIn(login)).json.status).toBe('MFA_REQUIRED')
  factorAt(page.held, factorType)
  return page
}

describe('a factor that is enrolled in one step', () => {
  const token = (serial: string) => () => ({
    profile: { credentialId: serial },
    passCode: harness.sandbox.tokenCode(serial),
  })
  // shows, F-2.5
  // sandbox shows, F-2.5
  test.each([
    [
      'token',
      'RSA',
      { profile: { credentialId: 'RSA-77' }, passCode: '000000' },
      token('RSA-77'),
      [403, 'E0000068'],
    ],
    ['token', 'SYMANTEC', { profile: {}, passCode: '000000' }, token('VIP-77'), [400, 'E0000001']],
    ['token:hardware', 'YUBICO', { profile: { credentialId: 'HW-77' } }, token('HW-77'), [400, 'E0000001']],
  ] as const)(
    '%s of %s: wrong data is refused with a reason, then it is enrolled and required at the next sign-in',
    async (...row) => {
      const [factorType, provider, wrong, right, error] = row
      const page = await openEnrollment(ERIN)
      const refused = await enroll(page, { factorType, provider, ...wrong })
      expect(errorOf(refused)).toEqual(error)
      expect(causesOf(refused)).not.toEqual([])
      expect(await page.session()).toBeUndefined()
      await enroll(page, { factorType, provider, ...right() })
      await expectSession(page, ERIN)
      await expectAskedNextTime(ERIN, factorType)
    },
  )
})

describe('a factor that is activated with a code', () => {
  const sentCode = () => harness.sandbox.outbox.latest(ERIN, 'factor-activation')?.code ?? 'none was sent'
  // shows, F-1.4, F-2.5
  // sandbox shows, F-2.5
  test.each([
    ['sms', { profile: { phoneNumber: PHONE } }, PHONE],
    ['call', { profile: { phoneNumber: '+1 (555) 010-7777' } }, PHONE],
    ['email', {}, ERIN],
  ])('%s: a wrong code is refused, the right one completes the sign-in', async (factorType, fields, to) => {
    const page = await openEnrollment(ERIN)
    const started = await enroll(page, { factorType, ...fields })
    expect(started.json.status).toBe('MFA_ENROLL_ACTIVATE')
    expect(harness.sandbox.outbox.messages).toMatchObject([{ to, purpose: 'factor-activation' }])
    expect(started.text).not.toContain(sentCode())
    expect(errorOf(await page.follow('_links.next', {}))).toEqual([400, 'E0000001'])
    expect(errorOf(await page.follow('_links.next', { passCode: 'wrong' }))).toEqual([403, 'E0000068'])
    expect(await page.session()).toBeUndefined()
    await page.follow('_links.next', { passCode: sentCode() })
    await expectSession(page, ERIN)
    await expectAskedNextTime(ERIN, factorType)
  })

  // shows: F-2.9
  // sandbox shows: F-2.9
  test.each([
    ['sms', 'E0000109'],
    ['call', 'E0000133'],
  ])('%s can be resent after 30 seconds, also to another number', async (factorType, errorCode) => {
    const page = await openEnrollment(ERIN)
    await enroll(page, { factorType, profile: { phoneNumber: PHONE } })
    const first = sentCode()
    const tooSoon = await page.follow('_links.resend.0', { factorType, provider: 'OKTA' })
    expect(errorOf(tooSoon)).toEqual([429, errorCode])
    expect(tooSoon.headers.get('retry-after')).toBe('30')

    aheadMs += 31_000
    const profile = { phoneNumber: '+15550108888' }
    const resent = await page.follow(
      '_links.resend.0',
      { factorType, provider: 'OKTA', profile },
      { query: '?updatePhone=true' },
    )
    expect(resent.json.status).toBe('MFA_ENROLL_ACTIVATE')
    expect(harness.upstreamCalls().at(-1)?.query).toEqual({ updatePhone: 'true' })
    expect(harness.sandbox.outbox.latest(ERIN)?.to).toBe('+15550108888')
    expect(errorOf(await page.follow('_links.next', { passCode: first }))).toEqual([403, 'E0000068'])
    await page.follow('_links.next', { passCode: sentCode() })
    await expectSession(page, ERIN)
  })
})

describe('a security key', () => {
  const key = () => harness.sandbox.authenticator(ERIN)
  const nonceAt = (page: PortalPage, member: string) =>
    String(valueAt(page.held.json, `_embedded.factor._embedded.${member}`))

  // shows: F-2.6
  // sandbox shows: F-2.6
  test.each(['webauthn', 'u2f'])(
    '%s: a response to another challenge is refused; then the key is enrolled and signs in',
    async (factorType) => {
      const isU2f = factorType === 'u2f'
      const register = (nonce: string) => key()[isU2f ? 'registerU2f' : 'registerWebauthn'](nonce, origin)
      const origin = harness.gatehouse.url
      const page = await openEnrollment(ERIN)
      await enroll(page, { factorType, provider: 'FIDO' })
      expect(errorOf(await page.follow('_links.next', register('another')))).toEqual([403, 'E0000068'])
      await page.follow('_links.next', register(nonceAt(page, `activation.${isU2f ? 'nonce' : 'challenge'}`)))
      await expectSession(page, ERIN)

      const next = await expectAskedNextTime(ERIN, factorType)
      await next.verify(factorType)
      const nonce = nonceAt(next, `challenge.${isU2f ? 'nonce' : 'challenge'}`)
      await next.follow('_links.next', key()[isU2f ? 'signU2f' : 'signWebauthn'](nonce, origin))
      expect(await next.session()).toMatchObject({ login: ERIN, amr: ['pwd', 'hwk', 'mfa'] })
    },
  )
})

/**
 * As the widget's EnrollWebauthnController.js posts them: null, if the browser tells none (S12).
 */
test.each([
  [{ transports: '["nfc","usb"]', clientExtensions: '{"credProps":{"rk":true}}' }],
  [{ transports: null, clientExtensions: null }],
])('the activation of a security key passes on %j', async (told) => {
  const page = await openEnrollment(ERIN)
  await enroll(page, { factorType: 'webauthn', provider: 'FIDO' })
  const nonce = String(valueAt(page.held.json, '_embedded.factor._embedded.activation.challenge'))
  const proof = harness.sandbox.authenticator(ERIN).registerWebauthn(nonce, harness.gatehouse.url)
  harness.clearUpstreamCalls()
  await page.follow('_links.next', { ...proof, ...told })
  await expectSession(page, ERIN)
  const given = told.transports === null ? {} : told
  expect(harness.upstreamCalls()[0]?.body).toEqual({ stateToken: expect.any(String), ...proof, ...given })
})

describe('several factors', () => {
  const question = { factorType: 'question', profile: { question: 'favorite_toy', answer: 'a top' } }

  // shows
  // sandbox shows
  test('with multiOptionalFactorEnroll, more factors can be enrolled or skipped', async () => {
    const page = await openEnrollment(ERIN, { multiOptionalFactorEnroll: true })
    await enroll(page, question)
    expect(page.held.json.status).toBe('MFA_ENROLL')
    expect(valueAt(page.held.json, `${factorAt(page.held, 'question')}.status`)).toBe('ACTIVE')
    expect(await page.session()).toBeUndefined()
    await enroll(page, { factorType: 'email' })
    await page.follow('_links.next', { passCode: harness.sandbox.outbox.latest(ERIN)?.code ?? '' })
    expect(page.held.json.status).toBe('MFA_ENROLL')
    await page.follow('_links.skip')
    await expectSession(page, ERIN)
    const next = await expectAskedNextTime(ERIN, 'question')
    factorAt(next.held, 'email')
  })

  // shows: F-2.21
  // sandbox shows: F-2.21
  test('another phone number requires updatePhone, which is sent upstream', async () => {
    const page = await openEnrollment(ERIN, { multiOptionalFactorEnroll: true })
    await enroll(page, { factorType: 'sms', profile: { phoneNumber: PHONE } })
    await page.follow('_links.next', { passCode: harness.sandbox.outbox.latest(ERIN)?.code ?? '' })
    const call = { factorType: 'call', profile: { phoneNumber: '+15550108888' } }
    for (const query of ['', '?updatePhone=false']) {
      const refused = await enroll(page, call, query)
      expect(causesOf(refused)).toEqual(['There is an existing verified phone number.'])
    }
    expect(errorOf(await enroll(page, call, '?updatePhone=1'))).toEqual([400, 'E0000001'])
    harness.clearUpstreamCalls()
    await enroll(page, call, '?updatePhone=true&rememberDevice=true')
    expect(harness.upstreamCalls().at(-1)?.query).toEqual({ updatePhone: 'true' })
    expect(page.held.json.status).toBe('MFA_ENROLL_ACTIVATE')
  })
})
