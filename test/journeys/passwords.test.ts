import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  AMELIA,
  type Harness,
  INES,
  OLGA,
  PASSWORD,
  startHarness,
  TOMAS,
  WALTER,
} from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { causesOf, errorOf, hrefAt, valueAt } from '../support/transaction-view.ts'

const NEW_PASSWORD = 'Another-Password-2'
const WARN = { warnBeforePasswordExpired: true }

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

async function expired(login = OLGA): Promise<PortalPage> {
  const page = await openPage(harness)
  const answer = await page.signIn(login)
  expect(answer.json.status).toBe('PASSWORD_EXPIRED')
  return page
}

/** Signed in by a second browser, as far as a session. */
async function signedIn(login: string, fields: object = {}): Promise<PortalPage> {
  const page = await openPage(harness)
  expect((await page.signIn(login, fields)).json.status).toBe('SUCCESS')
  expect(await page.session()).toMatchObject({ login })
  return page
}

describe('an expired password', () => {
  test.each([
    [
      'a wrong old one',
      { oldPassword: 'Wrong-Password-9' },
      ['oldPassword: The credentials provided were incorrect.'],
    ],
    [
      'nothing that the policy asks for',
      { newPassword: '!' },
      [
        'Passwords must have at least 8 characters',
        'Passwords must have a lowercase letter',
        'Passwords must have an uppercase letter',
        'Passwords must have a number',
      ],
    ],
    ['too few characters', { newPassword: 'Abc1!' }, ['Passwords must have at least 8 characters']],
    ['no small letter', { newPassword: 'ANOTHER-PASSWORD-2' }, ['Passwords must have a lowercase letter']],
    ['no capital', { newPassword: 'another-password-2' }, ['Passwords must have an uppercase letter']],
    ['no number', { newPassword: 'Another-Password' }, ['Passwords must have a number']],
    [
      'a part of the name',
      { newPassword: 'Expired-Password-2' },
      ['Passwords must have no parts of your username'],
    ],
    ['the old one again', { newPassword: PASSWORD }, ['Password cannot be your current password']],
  ])('%s is refused with its causes, and the change can be tried again', async (_, fields, causes) => {
    const page = await expired()
    const refused = await page.follow('_links.next', {
      oldPassword: PASSWORD,
      newPassword: NEW_PASSWORD,
      ...fields,
    })
    expect(errorOf(refused)).toEqual([403, 'E0000014'])
    expect(causesOf(refused)).toEqual(causes)
    expect(refused.setCookies).toEqual([])
    expect(await page.session()).toBeUndefined()
    await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: NEW_PASSWORD })
    expect(await page.session()).toMatchObject({ login: OLGA, amr: ['pwd'] })
  })

  test.each([
    ['without the old one', { newPassword: NEW_PASSWORD }, 'oldPassword: must be a string'],
    ['without a new one', { oldPassword: PASSWORD }, 'newPassword: must be a string'],
    ['empty', { oldPassword: PASSWORD, newPassword: '' }, 'newPassword: must not be empty'],
    [
      'too long',
      { oldPassword: PASSWORD, newPassword: 'x'.repeat(1025) },
      'newPassword: must have at most 1024 characters',
    ],
    [
      'with a flag that is none',
      { oldPassword: PASSWORD, newPassword: NEW_PASSWORD, revokeSessions: 'yes' },
      'revokeSessions: must be true or false',
    ],
  ])('a change %s is 400, names the field, and nothing is sent upstream', async (_, fields, cause) => {
    const page = await expired()
    harness.forget()
    const refused = await page.follow('_links.next', fields)
    expect(errorOf(refused)).toEqual([400, 'E0000001'])
    expect(causesOf(refused)).toEqual([cause])
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('comes after the code; neither the code nor skip gets around it', async () => {
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
    // offered before, so it may be asked for; the upstream says that its time is over
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
  test.each([
    ['not asked', {}],
    ['false', { options: { warnBeforePasswordExpired: false } }],
    ['null', { options: { warnBeforePasswordExpired: null } }],
    ['no options', { options: null }],
  ])('is not warned of when the page says %s', async (_, fields) => {
    const page = await openPage(harness)
    expect((await page.signIn(WALTER, fields)).json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: WALTER })
  })

  test('is warned of when asked for: days and policy are told, no session is open yet', async () => {
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

  test('is changed instead; the old one signs nobody in any more', async () => {
    const page = await openPage(harness)
    await page.signIn(WALTER, { options: WARN })
    await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: NEW_PASSWORD })
    expect(await page.session()).toMatchObject({ login: WALTER })
    const again = await openPage(harness)
    expect(errorOf(await again.signIn(WALTER))).toEqual([401, 'E0000004'])
    const renewed = await again.signIn(WALTER, { password: NEW_PASSWORD, options: WARN })
    expect(renewed.json.status).toBe('SUCCESS')
  })
})

describe('a password to be reset', () => {
  test.each(['resetPassword', 'password'] as const)(
    'by the link named %s; a session opens with it',
    async (name) => {
      harness.sandbox.settings.resetPasswordName = name
      const page = await openPage(harness)
      await page.begin('/api/v1/authn/recovery/token', {
        recoveryToken: harness.sandbox.recoveryToken(AMELIA),
      })
      expect(page.held.json.status).toBe('RECOVERY')
      await page.follow('_links.next', { answer: 'gatehouse' })
      expect(page.held.json.status).toBe('PASSWORD_RESET')
      expect(valueAt(page.held.json, '_links.next.name')).toBe(name)
      expect(errorOf(await page.follow('_links.next', { newPassword: 'short' }))).toEqual([403, 'E0000014'])
      expect(
        errorOf(await page.follow('_links.next', { newPassword: NEW_PASSWORD, answer: 'wrong' })),
      ).toEqual([403, 'E0000087'])
      expect(await page.session()).toBeUndefined()
      await page.follow('_links.next', { newPassword: NEW_PASSWORD })
      expect(await page.session()).toMatchObject({ login: AMELIA, amr: ['pwd'] })
    },
  )

  test('of who has a factor: the code is asked for after it, and a session opens only then', async () => {
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

  test("true ends every other session of that person here, on every replica, and nobody else's", async () => {
    const before = harness.gatehouse.logLines().length
    const other = await harness.replica()
    const elsewhere = await signedIn(WALTER)
    const second = await signedIn(WALTER)
    const amelia = await signedIn(AMELIA)
    const page = await openPage(harness)
    await page.signIn(WALTER, { options: WARN })
    harness.forget()
    await change(page, { revokeSessions: true })
    expect(harness.upstreamCalls()[0]?.body).toMatchObject({ revokeSessions: true })
    expect(harness.sandbox.user(WALTER).sessionsRevoked).toBe(1)

    expect(await page.session()).toMatchObject({ login: WALTER })
    expect(await statusOf(amelia)).toBe(200)
    for (const ended of [elsewhere, second]) expect(await statusOf(ended)).toBe(404)
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
    ['absent', {}],
  ])('%s leaves the other sessions alone', async (_, fields) => {
    const elsewhere = await signedIn(WALTER)
    const page = await openPage(harness)
    await page.signIn(WALTER, { options: WARN })
    await change(page, fields)
    expect(await page.session()).toMatchObject({ login: WALTER })
    expect(await statusOf(elsewhere)).toBe(200)
  })

  test('with a change that is refused ends nothing', async () => {
    const elsewhere = await signedIn(WALTER)
    const page = await openPage(harness)
    await page.signIn(WALTER, { options: WARN })
    await change(page, { revokeSessions: true, newPassword: 'short' })
    await change(page, { revokeSessions: true, oldPassword: 'wrong' })
    harness.sandbox.faults.authn.set({ kind: 'html', times: 1 })
    await change(page, { revokeSessions: true })
    expect(await statusOf(elsewhere)).toBe(200)
  })

  test('with a reset ends them at once, though a code is still to come', async () => {
    const elsewhere = await openPage(harness)
    await elsewhere.signIn(TOMAS)
    await elsewhere.verify('token:software:totp', { passCode: harness.sandbox.totpCode(TOMAS) })
    expect(await statusOf(elsewhere)).toBe(200)
    const page = await openPage(harness)
    await page.begin('/api/v1/authn/recovery/token', { recoveryToken: harness.sandbox.recoveryToken(TOMAS) })
    await page.follow('_links.next', { answer: 'gatehouse' })
    await page.follow('_links.next', { newPassword: NEW_PASSWORD, revokeSessions: true })
    expect(page.held.json.status).toBe('MFA_REQUIRED')
    expect(await statusOf(elsewhere)).toBe(404)
  })

  test('ends the session that the same browser had before in any case: it is another one now', async () => {
    const page = await signedIn(WALTER)
    const before = await page.browser.jar.getCookieString(harness.gatehouse.url)
    await page.signIn(WALTER, { options: WARN })
    await change(page, { revokeSessions: true })
    expect(await statusOf(page)).toBe(200)
    expect((await page.browser.get('/api/v1/sessions/me', { headers: { cookie: before } })).status).toBe(404)
  })
})

describe('a password passes byte for byte', () => {
  test.each([
    ['with letters of the world', 'Pässwörd-ŁЖ漢字-1'],
    ['with an emoji and a combining accent', 'Cafe\u0301-🔑-Aa1'],
    ['with spaces at both ends', '  Spaces-Around-1  '],
    ['with quotes, backslashes and braces', `Aa1"'\\\\{}<>&%00$\``],
    ['with NUL and other control characters', 'A1\u0000b\u0007c\r\nd\u001be\u007f'],
    ['with separators that break scripts', 'A1 b\u2028c\u2029d'],
    ['with half a surrogate pair', 'Broken-\ud83d-Aa1'],
    ['of 1024 characters', `Aa1${'x'.repeat(1021)}`],
  ])('%s: set, and used to sign in', async (_, newPassword) => {
    const page = await expired()
    await page.follow('_links.next', { oldPassword: PASSWORD, newPassword })
    expect(page.held.json.status).toBe('SUCCESS')
    expect(harness.sandbox.user(OLGA).password).toBe(newPassword)
    const again = await openPage(harness)
    expect((await again.signIn(OLGA, { password: newPassword })).json.status).toBe('SUCCESS')
    if (newPassword.trim() !== newPassword)
      expect(errorOf(await again.signIn(OLGA, { password: newPassword.trim() }))).toEqual([401, 'E0000004'])
  })
})
