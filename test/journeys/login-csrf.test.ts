import { describe, expect, test } from '@jest/globals'
import type { PageAnswer } from '../support/browser.ts'
import { AMELIA, useHarness, WALTER } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { causesOf, errorOf } from '../support/transaction-view.ts'

/**
 * Login CSRF: an attacker makes a user open a link with an activation or recovery token of another
 * user. It must not replace the open session (docs/security.md#sessions).
 */
const ANNA = 'anna.activate@example.test'
const ARNO = 'arno.activate@example.test'
const AIDA = 'aida.nopassword@example.test'

const harness = useHarness()

const activate = (page: PortalPage, login: string) =>
  page.begin('/api/v1/authn', { token: harness.sandbox.activationToken(login) })
const recover = (page: PortalPage, login: string, type: 'PASSWORD' | 'UNLOCK' = 'PASSWORD') =>
  page.begin('/api/v1/authn/recovery/token', { recoveryToken: harness.sandbox.recoveryToken(login, type) })

/** A page whose browser has a session of this user. */
async function openSession(login: string): Promise<PortalPage> {
  const page = await openPage(harness)
  expect((await page.signIn(login)).json.status).toBe('SUCCESS')
  return page
}

const TOKENS: readonly [string, (page: PortalPage) => Promise<PageAnswer>][] = [
  ['an activation token that signs in at once', (page) => activate(page, ANNA)],
  ['an activation token whose user must enroll a factor', (page) => activate(page, ARNO)],
  ['an activation token whose user has no password', (page) => activate(page, AIDA)],
  ['a recovery token', (page) => recover(page, WALTER)],
]

describe('in the open session of another user', () => {
  test.each(TOKENS)('%s is refused, and the session stays', async (_what, useToken) => {
    const page = await openSession(AMELIA)
    const before = await page.session()
    const refused = await useToken(page)
    expect(errorOf(refused)).toEqual([403, 'E0000006'])
    expect(causesOf(refused)).toEqual([
      expect.stringMatching(/^(token|recoveryToken): .*a different user.*sign out first/),
    ])
    expect(refused.setCookies).toEqual([])
    expect(refused.json).not.toHaveProperty('stateToken')
    expect(refused.text).not.toMatch(/anna|arno|aida|walter/i)
    expect(await page.session()).toEqual(before)
    expect(await harness.gatehouse.metrics()).toMatch(
      /requests_refused_total\{reason="token_user_mismatch"\} [1-9]/,
    )
  })

  test('a session that another tab opened meanwhile stays too', async () => {
    const page = await openPage(harness)
    expect((await activate(page, AIDA)).json.status).toBe('PASSWORD_RESET')
    const tab = await openPage(harness, page.browser)
    await tab.signIn(AMELIA)
    const before = await page.session()
    const refused = await page.follow('_links.next', { newPassword: 'Chosen-By-Myself-7' })
    expect(errorOf(refused)).toEqual([403, 'E0000006'])
    expect(await page.session()).toEqual(before)
    // Okta has accepted the password anyway
    expect(harness.gatehouse.logText()).toContain('"event":"password_changed"')
  })

  test('the session stays when the browser sends its device cookie alone', async () => {
    const page = await openSession(AMELIA)
    const before = await page.session()
    const device = (await page.browser.jar.getCookies(harness.gatehouse.url)).find(
      ({ key }) => key === 'gatehouse-device',
    )
    const sameDevice = await openPage(harness)
    await sameDevice.browser.jar.setCookie(device?.toString() ?? '', harness.gatehouse.url)
    const refused = await activate(sameDevice, ANNA)
    expect(errorOf(refused)).toEqual([403, 'E0000006'])
    expect(refused.setCookies).toEqual([])
    expect(await sameDevice.session()).toBeUndefined()
    expect(await page.session()).toEqual(before)
    // the session still belongs to the device
    expect((await page.signIn(WALTER)).json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: WALTER })
  })
})
