import { describe, expect, test } from '@jest/globals'
import { AMELIA, INES, OLGA, PASSWORD, TOMAS, useHarness, WALTER } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { causesOf, errorOf, hrefAt, valueAt } from '../support/transaction-view.ts'

const NEW_PASSWORD = 'Another-Password-2'
const WARN = { warnBeforePasswordExpired: true }

const harness = useHarness()

async function openExpiredPassword(login = OLGA): Promise<PortalPage> {
  const page = await openPage(harness)
  const answer = await page.signIn(login)
  expect(answer.json.status).toBe('PASSWORD_EXPIRED')
  return page
}

/** A new browser with a session of this user. */
async function openSession(login: string, fields: object = {}): Promise<PortalPage> {
  const page = await openPage(harness)
  expect((await page.signIn(login, fields)).json.status).toBe('SUCCESS')
  expect(await page.session()).toMatchObject({ login })
  return page
}

describe('an expired password', () => {
  // shows, F-2.3, V6.2.2
  // sandbox shows, F-2.3
  test.each<[name: string, fields: object, causes: string[], status?: number]>([
    ['a wrong old password', { oldPassword: 'Wrong-Password-9' }, ['Old password is not correct'], 400],
    [
      'a password that breaks every rule of the policy',
      { newPassword: '!' },
      [
        'Passwords must have at least 8 characters',
        'Passwords must have a lowercase letter',
        'Passwords must have an uppercase letter',
        'Passwords must have a number',
      ],
    ],
    ['the current password', { newPassword: PASSWORD }, ['Password cannot be your current password']],
  ])(
    '%s is refused with its causes, and the change can be tried again',
    async (_, fields, causes, status = 403) => {
      // each broken rule with a cause of its own; okta-errors.test.ts has the other forms
      harness.sandbox.settings.passwordRules = 'broken-rules'
      const page = await openExpiredPassword()
      const refused = await page.follow('_links.next', {
        oldPassword: PASSWORD,
        newPassword: NEW_PASSWORD,
        ...fields,
      })
      expect(errorOf(refused)).toEqual([status, 'E0000014'])
      expect(causesOf(refused)).toEqual(causes)
      expect(refused.setCookies).toEqual([])
      expect(await page.session()).toBeUndefined()
      await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: NEW_PASSWORD })
      expect(await page.session()).toMatchObject({ login: OLGA, amr: ['pwd'] })
    },
  )

  // shows, F-2.10, V2.3.1
  // sandbox shows, F-2.10
  test('is changed after the code; neither the code nor skip bypasses the change', async () => {
    const page = await openPage(harness)
    await page.signIn(INES)
    const verify = hrefAt(page.held, '_embedded.factors.0._links.verify')
    expect(
      errorOf(
        await page.send('/api/v1/authn/credentials/change_password', {
          oldPassword: PASSWORD,
          newPassword: NEW_PASSWORD,
        }),
      ),
    ).toEqual([403, 'E0000079'])
    await page.send(verify, { passCode: harness.sandbox.totpCode(INES) })
    expect(page.held.json.status).toBe('PASSWORD_EXPIRED')
    expect(errorOf(await page.send('/api/v1/authn/skip'))).toEqual([403, 'E0000079'])
    // offered before, so the broker sends it; Okta refuses it in this state
    expect(errorOf(await page.send(verify, { passCode: harness.sandbox.totpCode(INES) }))).toEqual([
      403,
      'E0000079',
    ])
    expect(await page.session()).toBeUndefined()
    await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: NEW_PASSWORD })
    expect(await page.session()).toMatchObject({ login: INES, amr: ['pwd', 'otp', 'mfa'] })
  })
})

describe('an expiring password', () => {
  // shows, F-2.20
  // sandbox shows, F-1.7, F-2.20
  test('causes a warning if the page requests it: with days and policy, and without a session', async () => {
    const page = await openPage(harness)
    const warned = await page.signIn(WALTER, { options: WARN })
    expect(warned.json.status).toBe('PASSWORD_WARN')
    expect(valueAt(warned.json, '_embedded.policy.expiration.passwordExpireDays')).toBe(5)
    expect(valueAt(warned.json, '_embedded.policy.complexity.minLength')).toBe(8)
    expect(await page.session()).toBeUndefined()

    const weak = await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: 'short' })
    expect(errorOf(weak)).toEqual([403, 'E0000014'])
    await page.follow('_links.skip')
    expect(page.held.json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: WALTER, amr: ['pwd'] })
  })
})

test('a link to the site that manages the password is passed on, and the password is not changed here', async () => {
  const page = await openExpiredPassword('edith.elsewhere@example.test')
  expect(valueAt(page.held.json, '_links.next')).toEqual({
    name: 'changePassword',
    title: 'Company passwords',
    href: 'https://passwords.example.test/change',
    hints: { allow: ['GET'] },
  })
  harness.clearUpstreamCalls()
  const fields = { oldPassword: PASSWORD, newPassword: NEW_PASSWORD }
  const refused = await page.send('/api/v1/authn/credentials/change_password', fields)
  expect(errorOf(refused)).toEqual([403, 'E0000079'])
  expect(harness.upstreamCalls()).toEqual([])
})

describe('a password to be reset', () => {
  // shows: F-2.4, V6.4.3
  // sandbox shows: F-2.4
  test('requires the user’s factor after the reset; the session opens after the code', async () => {
    const page = await openPage(harness)
    await page.begin('/api/v1/authn/recovery/token', { recoveryToken: harness.sandbox.recoveryToken(TOMAS) })
    await page.follow('_links.next', { answer: 'gatehouse' })
    await page.follow('_links.next', { newPassword: NEW_PASSWORD })
    expect(page.held.json.status).toBe('MFA_REQUIRED')
    expect(await page.session()).toBeUndefined()
    await page.verify('token:software:totp', { passCode: harness.sandbox.totpCode(TOMAS) })
    expect(await page.session()).toMatchObject({ login: TOMAS, amr: ['pwd', 'otp', 'mfa'] })
  })
})

describe('revokeSessions', () => {
  const change = (page: PortalPage, fields: object) =>
    page.follow('_links.next', { oldPassword: PASSWORD, newPassword: NEW_PASSWORD, ...fields })
  const statusOf = async (page: PortalPage) => (await page.browser.get('/api/v1/sessions/me')).status

  // shows, F-2.3, V7.4.3
  // sandbox shows: F-2.3
  test('true ends every other session of the user on every replica, and no other user’s', async () => {
    const before = harness.gatehouse.logLines().length
    const other = await harness.replica()
    const otherPage = await openSession(WALTER)
    const second = await openSession(WALTER)
    const amelia = await openSession(AMELIA)
    const page = await openPage(harness)
    await page.signIn(WALTER, { options: WARN })
    harness.clearUpstreamCalls()
    await change(page, { revokeSessions: true })
    expect(harness.upstreamCalls()[0]?.body).toMatchObject({ revokeSessions: true })
    expect(harness.sandbox.user(WALTER).sessionsRevoked).toBe(1)

    expect(await page.session()).toMatchObject({ login: WALTER })
    expect(await statusOf(amelia)).toBe(200)
    for (const ended of [otherPage, second]) expect(await statusOf(ended)).toBe(404)
    const cookie = await second.browser.jar.getCookieString(harness.gatehouse.url)
    expect(
      (await second.browser.get(`${other.url}/api/v1/sessions/me`, { headers: { cookie } })).status,
    ).toBe(404)
    expect(
      harness.gatehouse
        .logLines()
        .slice(before)
        .filter(({ event }) => event === 'sessions_revoked')
        .map(({ audit, userId, count }) => ({ audit, userId, count })),
    ).toEqual([{ audit: true, userId: harness.sandbox.user(WALTER).id, count: expect.any(Number) }])
  })

  test.each([
    ['false', { revokeSessions: false }],
    // shows
    // sandbox shows
    ['absent', {}],
  ])('%s leaves the other sessions alone', async (_, fields) => {
    const otherPage = await openSession(WALTER)
    const page = await openPage(harness)
    await page.signIn(WALTER, { options: WARN })
    await change(page, fields)
    expect(await page.session()).toMatchObject({ login: WALTER })
    expect(await statusOf(otherPage)).toBe(200)
  })

  // shows: F-2.4
  // sandbox shows: F-2.4
  test('ends the sessions at a reset, before the code is verified', async () => {
    const otherPage = await openPage(harness)
    await otherPage.signIn(TOMAS)
    await otherPage.verify('token:software:totp', { passCode: harness.sandbox.totpCode(TOMAS) })
    expect(await statusOf(otherPage)).toBe(200)
    const page = await openPage(harness)
    await page.begin('/api/v1/authn/recovery/token', { recoveryToken: harness.sandbox.recoveryToken(TOMAS) })
    await page.follow('_links.next', { answer: 'gatehouse' })
    await page.follow('_links.next', { newPassword: NEW_PASSWORD, revokeSessions: true })
    expect(page.held.json.status).toBe('MFA_REQUIRED')
    expect(await statusOf(otherPage)).toBe(404)
  })
})
