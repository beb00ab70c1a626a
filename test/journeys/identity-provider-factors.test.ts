import { describe, expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { useHarness } from '../support/harness.ts'
import { answerAtProvider } from '../support/identity-provider.ts'
import { navigate } from '../support/navigate.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf, factorAt, hrefAt, valueAt } from '../support/transaction-view.ts'

/**
 * Factors that another identity provider verifies, and other third-party factors, as a portal's
 * page uses them.
 */

const CLEO = 'cleo.claims@example.test'
const IRIS = 'iris.provider@example.test'
const KIM = 'kim.twokeys@example.test'

const harness = useHarness({
  env: { STEP_UP: 'on' },
  tunables: generousLimits,
  sandboxConfig: (config) => ({ ...config, signInPage: 'https://portal.example.test/back' }),
})

async function openVerification(login: string): Promise<PortalPage> {
  const page = await openPage(harness)
  await page.signIn(login)
  expect(page.held.json.status).toBe('MFA_REQUIRED')
  return page
}

/** A page that was redirected to another identity provider. */
async function startIdpRedirect(login: string): Promise<PortalPage> {
  const page = await openVerification(login)
  await page.follow('_embedded.factors.0._links.verify')
  expect(page.held.json).toMatchObject({ status: 'MFA_CHALLENGE', _links: { next: { name: 'redirect' } } })
  return page
}

async function answerAtIdp(page: PortalPage, answer: 'approve' | 'reject'): Promise<void> {
  const back = await answerAtProvider(harness, page.browser, hrefAt(page.held, '_links.next'), answer)
  expect(back).toBe('https://portal.example.test/back')
}

const requestState = (page: PortalPage) => page.send('/api/v1/authn')

describe('a factor that another identity provider verifies', () => {
  // shows: V6.8
  test('claims_provider: the link is at PUBLIC_URL and redirects to the link of the org; the real token appears nowhere else', async () => {
    const page = await startIdpRedirect(CLEO)
    const path = '/sso/idps/0oasandboxidp000001'
    const link = hrefAt(page.held, '_links.next')
    expect(link).toBe(`${harness.gatehouse.url}${path}?stateToken=${page.stateToken}`)
    const [, real = ''] =
      /stateToken":"([^"]+)/.exec(JSON.stringify(harness.upstreamCalls().at(-1)?.body)) ?? []
    expect(page.held.text).not.toContain(real)
    const sent = await navigate(page.browser, link)
    expect([sent.status, sent.location]).toEqual([302, `${harness.authnUrl}${path}?stateToken=${real}`])
  })

  test('refused there: FAILED with its message, audited once, and no session; it can be tried again', async () => {
    const before = harness.gatehouse.logLines().length
    const refusals = () =>
      harness.gatehouse
        .logLines()
        .slice(before)
        .flatMap(({ event, factorType, reason }) => (event === 'factor_failed' ? [[factorType, reason]] : []))
    const page = await startIdpRedirect(CLEO)
    // the user has not answered yet
    expect((await requestState(page)).json.status).toBe('MFA_CHALLENGE')
    expect(await page.session()).toBeUndefined()
    await answerAtIdp(page, 'reject')
    const failed = await requestState(page)
    await requestState(page)
    expect(refusals()).toEqual([['claims_provider', 'FAILED']])
    expect(failed.json).toMatchObject({
      status: 'MFA_CHALLENGE',
      factorResult: 'FAILED',
      factorResultMessage: 'The identity provider did not verify you.',
    })
    expect(await page.session()).toBeUndefined()
    for (const answer of ['reject', 'approve'] as const) {
      await page.follow('_links.prev')
      await page.follow('_embedded.factors.0._links.verify')
      await answerAtIdp(page, answer)
      await requestState(page)
    }
    expect(refusals()).toHaveLength(2)
    expect(await page.session()).toMatchObject({ login: CLEO, amr: ['pwd', 'mfa'] })
  })

  test.each([
    ['claims_provider', 'CUSTOM', '/sso/idps/0oasandboxidp000001?stateToken='],
    ['assertion:saml2', 'GENERIC_SAML', undefined],
    ['assertion:oidc', 'GENERIC_OIDC', undefined],
  ])('%s: is enrolled by the same redirect, opens a session and is audited once', async (...row) => {
    const [factorType, provider, path] = row
    const before = harness.gatehouse.logLines().length
    const page = await openPage(harness)
    await page.signIn(IRIS)
    const enroll = `${factorAt(page.held, factorType)}._links.enroll`
    const activating = await page.follow(enroll, { factorType, provider })
    expect(valueAt(activating.json, '_links.next')).toMatchObject({
      name: 'activate',
      hints: { allow: ['GET'] },
      ...(path === undefined ? {} : { href: harness.gatehouse.url + path + page.stateToken }),
    })
    await requestState(page)
    expect(await page.session()).toBeUndefined()
    await answerAtIdp(page, 'approve')
    await requestState(page)
    expect(await page.session()).toMatchObject({ login: IRIS })
    const enrolled = harness.gatehouse
      .logLines()
      .slice(before)
      .filter(({ event }) => event === 'factor_enrolled')
    expect(enrolled).toEqual([expect.objectContaining({ factorType, provider })])
  })
})

describe('Duo, as it is today', () => {
  const DENNIS = 'dennis.duo@example.test'

  test('if Okta completes the sign-in itself (F5): no session here, and the next sign-in needs no factor', async () => {
    const page = await openVerification(DENNIS)
    await page.follow('_embedded.factors.0._links.verify', {}, { query: '?rememberDevice=true' })
    const link = hrefAt(page.held, '_links.next')
    expect(await answerAtProvider(harness, page.browser, link, 'approve')).toBeNull()
    expect(errorOf(await requestState(page))).toEqual([401, 'E0000011'])
    expect(await page.session()).toBeUndefined()
    const again = await openPage(harness, page.browser)
    expect((await again.signIn(DENNIS)).json.status).toBe('SUCCESS')
    expect(await again.session()).toMatchObject({ login: DENNIS, amr: ['pwd'] })
  })

  test('after a refusal, the sign-in here shows it and can be tried again', async () => {
    const page = await openVerification(DENNIS)
    await page.follow('_embedded.factors.0._links.verify')
    await answerAtProvider(harness, page.browser, hrefAt(page.held, '_links.next'), 'reject')
    expect((await requestState(page)).json).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'FAILED' })
  })
})

describe('two security keys', () => {
  test('are challenged together by factor type at PUBLIC_URL, and either opens a session', async () => {
    const ids = harness.sandbox.user(KIM).factors.map(({ profile }) => String(profile?.credentialId))
    expect(ids).toHaveLength(2)
    for (const id of ids) {
      const page = await openVerification(KIM)
      const link = '_embedded.factorTypes.0._links.next'
      expect(hrefAt(page.held, link)).toBe(`${harness.gatehouse.url}/api/v1/authn/factors/webauthn/verify`)
      const asked = await page.follow(link)
      expect(asked.json).toMatchObject({ challengeType: 'FACTOR_TYPE', factorType: 'webauthn' })
      const { challenge } = (asked.json._embedded as { challenge: { challenge: string } }).challenge
      const key = harness.sandbox.authenticator(KIM, id)
      const foreign = key.signWebauthn(challenge, 'https://portal.example.test.evil.test')
      expect(errorOf(await page.follow('_links.next', foreign))).toEqual([403, 'E0000068'])
      await page.follow('_links.next', key.signWebauthn(challenge, harness.gatehouse.url))
      expect(await page.session()).toMatchObject({ login: KIM, amr: ['pwd', 'hwk', 'mfa'] })
    }
  })
})
