import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { AMELIA, PASSWORD, PRIYA, useHarness, WALTER } from '../support/harness.ts'
import { delivery, orgEvent } from '../support/org-event.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * What the org's events about a user's password end here: those of the user's own recovery, of an
 * administrator's reset, and of breach protection. The sandbox sends them as Okta's log has them
 * (docs/sandbox.md#events).
 */

const SECRET = 'plainly-fake-hook-secret'
const ME = '/api/v1/sessions/me'
const NEW_PASSWORD = 'Plainly-Fake-Password-2'
const TOTP = 'token:software:totp'

const harness = useHarness({ env: { EVENT_HOOK_SECRET: SECRET } })
const hookUrl = () => `${harness.gatehouse.url}/hooks/org-events`
beforeEach(() => harness.sandbox.eventHook.register({ url: hookUrl(), secret: SECRET }))

/** The types of the events that the broker has taken. */
const delivered = () =>
  harness.sandbox.eventHook.calls
    .filter(({ answers }) => answers.includes(204))
    .flatMap(({ eventType }) => eventType ?? [])
const isDelivered = (eventType: string) =>
  until(() => delivered().includes(eventType), { what: `the delivery of ${eventType}` })

const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })
async function session(username: string): Promise<Browser> {
  const browser = await harness.visit()
  expect((await signIn(browser, username)).json.status).toBe('SUCCESS')
  return browser
}
const isOpen = async (browser: Browser) => (await browser.get(ME)).status === 200

/** Anyone can do this on Okta's own sign-in page. */
async function atOkta(path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${harness.authnUrl}/api/v1/authn${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Record<string, unknown>
}
const startRecovery = () => atOkta('/recovery/password', { username: AMELIA, factorType: 'EMAIL' })
async function completeRecovery(): Promise<void> {
  const { token: recoveryToken } = harness.sandbox.outbox.latest(AMELIA, 'recovery') ?? {}
  const { stateToken } = await atOkta('/recovery/token', { recoveryToken })
  await atOkta('/recovery/answer', { stateToken, answer: 'gatehouse' })
  await atOkta('/credentials/reset_password', { stateToken, newPassword: NEW_PASSWORD })
}

describe('a user’s own recovery (A4)', () => {
  test('ends nothing at its start, which any stranger can cause', async () => {
    const browser = await session(AMELIA)
    await startRecovery()
    await isDelivered('user.account.reset_password')
    expect(await isOpen(browser)).toBe(true)
    const pageOfVictim = await harness.visit()
    expect((await signIn(pageOfVictim, AMELIA)).json.status).toBe('SUCCESS')
  })

  test('that is started here ends nothing either', async () => {
    const browser = await session(AMELIA)
    const stranger = await harness.visit()
    const fields = { username: AMELIA, factorType: 'EMAIL' }
    const started = await stranger.post('/api/v1/authn/recovery/password', fields)
    expect(started.json.status).toBe('RECOVERY_CHALLENGE')
    await isDelivered('user.account.reset_password')
    expect(await isOpen(browser)).toBe(true)
  })

  test.each(['start', 'completion'] as const)(
    'that is completed here ends the other sessions, and its own stays (logged at its %s)',
    async (recoveryLoggedAt) => {
      harness.sandbox.settings.recoveryLoggedAt = recoveryLoggedAt
      const older = await session(AMELIA)
      const browser = await harness.visit()
      const fields = { username: AMELIA, factorType: 'EMAIL' }
      await browser.post('/api/v1/authn/recovery/password', fields)
      await until(() => harness.sandbox.outbox.latest(AMELIA, 'recovery') !== undefined)
      const { token: recoveryToken } = harness.sandbox.outbox.latest(AMELIA, 'recovery') ?? {}
      const asked = await browser.post('/api/v1/authn/recovery/token', { recoveryToken })
      const stateToken = handleOf(asked)
      const answer = 'gatehouse'
      const answered = await browser.post('/api/v1/authn/recovery/answer', { stateToken, answer })
      expect(answered.json.status).toBe('PASSWORD_RESET')
      const newPassword = NEW_PASSWORD
      const reset = '/api/v1/authn/credentials/reset_password'
      const done = await browser.post(reset, { stateToken, newPassword })
      expect(done.json.status).toBe('SUCCESS')
      expect(await isOpen(older)).toBe(false)
      await isDelivered('user.account.reset_password')
      await isDelivered('user.account.update_password')
      expect(await isOpen(browser)).toBe(true)
    },
  )

  test.each(['start', 'completion'] as const)(
    'ends the sessions when the password has changed, also if it is logged at its %s',
    async (recoveryLoggedAt) => {
      harness.sandbox.settings.recoveryLoggedAt = recoveryLoggedAt
      const browser = await session(AMELIA)
      const other = await session(WALTER)
      await startRecovery()
      await completeRecovery()
      await isDelivered('user.account.update_password')
      expect(await isOpen(browser)).toBe(false)
      expect(await isOpen(other)).toBe(true)
    },
  )
})

test('an administrator’s reset ends the sessions', async () => {
  const browser = await session(AMELIA)
  await harness.sandbox.changeLifecycle(AMELIA, 'reset_password')
  expect(delivered()).toEqual(['user.account.reset_password'])
  expect(await isOpen(browser)).toBe(false)
})

describe('breach protection during a sign-in (A5)', () => {
  const CLEARED = 'user.session.clear'
  const audited = () =>
    harness.gatehouse
      .logLines()
      .filter(({ event, operation }) => event === 'sessions_revoked' && operation === CLEARED)
  let before: number
  beforeEach(() => {
    before = audited().length
  })
  /** The broker has ended everything that the event ends. */
  const isCleared = () => until(() => audited().length > before)
  const change = (browser: Browser, expired: PageAnswer) =>
    browser.post(new URL(hrefAt(expired, '_links.next')).pathname, {
      stateToken: handleOf(expired),
      oldPassword: PASSWORD,
      newPassword: NEW_PASSWORD,
    })

  test('ends the older sessions, and the sign-in that caused it goes on to a new password', async () => {
    const older = await session(AMELIA)
    harness.sandbox.user(AMELIA).passwordBreached = true
    const browser = await harness.visit()
    const expired = await signIn(browser, AMELIA)
    expect(expired.json.status).toBe('PASSWORD_EXPIRED')
    await isCleared()
    expect(await isOpen(older)).toBe(false)
    expect((await change(browser, expired)).json.status).toBe('SUCCESS')
    expect(await isOpen(browser)).toBe(true)
  })

  test('the session of a sign-in that Okta lets go on stays open', async () => {
    const older = await session(AMELIA)
    harness.sandbox.settings.breachedSignIn = 'continued'
    harness.sandbox.user(AMELIA).passwordBreached = true
    const browser = await session(AMELIA)
    await isCleared()
    expect([await isOpen(older), await isOpen(browser)]).toEqual([false, true])
  })

  test('a refused sign-in ends the older sessions too', async () => {
    const older = await session(AMELIA)
    harness.sandbox.settings.breachedSignIn = 'refused'
    harness.sandbox.user(AMELIA).passwordBreached = true
    const { status, json } = await signIn(await harness.visit(), AMELIA)
    expect([status, json.errorCode]).toEqual([403, 'E0000259'])
    await isDelivered(CLEARED)
    expect(await isOpen(older)).toBe(false)
  })

  test('the event may arrive before the answer to the password', async () => {
    const browser = await harness.visit()
    const { id } = harness.sandbox.user(PRIYA)
    const release = harness.sandbox.faults.authn.hold()
    harness.clearUpstreamCalls()
    const signingIn = signIn(browser, PRIYA)
    await until(() => harness.upstreamCalls().length === 1)
    const event = orgEvent(id, { eventType: CLEARED })
    const headers = { 'content-type': 'application/json', authorization: SECRET }
    await fetch(hookUrl(), { method: 'POST', headers, body: JSON.stringify(delivery(event)) })
    await isCleared()
    release()
    const asked = await signingIn
    expect(asked.json.status).toBe('MFA_REQUIRED')
    const passCode = harness.sandbox.totpCode(PRIYA)
    const verify = new URL(verifyHref(asked, TOTP)).pathname
    const done = await browser.post(verify, { stateToken: handleOf(asked), passCode })
    expect(done.json.status).toBe('SUCCESS')
    expect(await isOpen(browser)).toBe(true)
  })
})
