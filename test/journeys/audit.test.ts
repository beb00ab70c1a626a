import { beforeEach, expect, test } from '@jest/globals'
import { AUDIT_EVENTS, type AuditEvent } from '../../src/observability/audit-events.ts'
import { createBrowserKey } from '../session/browser-key.ts'
import { openBoundVisitor } from '../support/bound-visitor.ts'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, OLGA, PASSWORD, PRIYA, TOMAS, useHarness, WALTER } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { delivery, orgEvent } from '../support/org-event.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { openSiteBrowser } from '../support/site-browser.ts'
import { factorAt, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * These journeys cause every audit event. The harness checks each line against its schema when it
 * stops.
 */

const OPS_TOKEN = 'plainly-fake-ops-token'
const HOOK_SECRET = 'plainly-fake-hook-secret'
const APP_TOKEN = 'plainly-fake-token-of-the-portal'
const TARGET = 'http://localhost:3000/home'

const harness = useHarness({
  env: {
    OPS_TOKEN,
    LOG_LEVEL: 'error',
    LOGIN_DOMAINS: 'example.test',
    SSO_REDIRECTS: TARGET,
    EVENT_HOOK_SECRET: HOOK_SECRET,
    APP_TOKENS: `portal:${APP_TOKEN}`,
  },
  tunables: (shipped) => ({ ...shipped, recovery: { ...shipped.recovery, recoveryAnswerMs: 20 } }),
})

let before = 0
beforeEach(() => {
  harness.sandbox.reset()
  before = harness.gatehouse.logLines().length
})

const AUTHN = '/api/v1/authn'
const TOTP = 'token:software:totp'
const credentials = (username: string) => ({ username, password: PASSWORD })

/** The log lines of this test. */
const logged = () => harness.gatehouse.logLines().slice(before)
const lines = (event: AuditEvent) => logged().filter((line) => line.event === event)
const last = (event: AuditEvent) => lines(event).at(-1)
async function me(page: PortalPage) {
  return (await page.session()) ?? {}
}

async function signInWithCode() {
  const page = await openPage(harness)
  await page.signIn(TOMAS, { password: 'Not-The-Password-1' })
  expect(last('sign_in_failed')).toMatchObject({ operation: 'primary', upstreamErrorCode: 'E0000004' })

  const { headers } = await page.signIn(TOMAS)
  const started = last('sign_in_started')
  expect(started).toMatchObject({
    audit: true,
    requestId: headers.get('x-request-id'),
    address: '127.0.0.1',
    operation: 'primary',
    userAgent: 'TestBrowser/1.0',
  })
  await page.verify(TOTP, { passCode: '000000' })
  const factor = { factorType: TOTP, upstreamErrorCode: 'E0000068', userId: expect.any(String) }
  expect(last('factor_failed')).toMatchObject(factor)
  await page.verify(TOTP, { passCode: harness.sandbox.totpCode(TOMAS) })
  const { id, userId } = await me(page)
  expect(last('sign_in_succeeded')).toMatchObject({ userId, sessionId: id, methods: 'pwd otp mfa' })

  await page.browser.delete('/api/v1/sessions/me')
  expect(last('signed_out')).toMatchObject({ userId, sessionId: id })
  for (const event of ['sign_in_failed', 'factor_failed', 'sign_in_succeeded', 'signed_out'] as const) {
    const { loginHash, deviceHash } = last(event) ?? {}
    expect([event, loginHash, deviceHash]).toEqual([event, started?.loginHash, started?.deviceHash])
  }
}

async function rejectPush() {
  const page = await openPage(harness)
  await page.signIn(PRIYA)
  await page.verify('push')
  for (const _poll of [1, 2]) await page.follow('_links.next')
  const challenged = { factorType: 'push', transactionStatus: 'MFA_CHALLENGE' }
  expect(lines('factor_challenged')).toEqual([expect.objectContaining(challenged)])
  harness.sandbox.answerPush(PRIYA, 'reject')
  await page.follow('_links.next')
  expect(last('factor_failed')).toMatchObject({ factorType: 'push', reason: 'REJECTED' })
}

async function changePassword() {
  const page = await openPage(harness)
  await page.signIn(OLGA)
  const fields = { oldPassword: PASSWORD, newPassword: 'Another-Password-2', revokeSessions: true }
  await page.follow('_links.next', fields)
  const { userId } = await me(page)
  const changed = { userId, operation: 'change_password', transactionStatus: 'SUCCESS' }
  expect(last('password_changed')).toMatchObject(changed)
  expect(last('sessions_revoked')).toMatchObject({ userId, reason: 'password_change', count: 0 })
}

async function recoverUnknownUser() {
  const page = await openPage(harness)
  const username = 'no.such.person@example.test'
  await page.begin(`${AUTHN}/recovery/unlock`, { username, factorType: 'EMAIL' })
  expect(last('recovery_started')).toMatchObject({ operation: 'unlock', factorType: 'EMAIL' })
  const forgotten = { username, factorType: 'SMS' }
  await page.begin(`${AUTHN}/recovery/password`, forgotten)
  expect(last('recovery_started')).toMatchObject({ operation: 'password', factorType: 'SMS' })
  await page.browser.post(`${AUTHN}/recovery/password`, { ...forgotten, relayState: 'again' })
  expect(last('limit_hit')).toMatchObject({
    limit: 'recovery_sent',
    operation: 'password',
    factorType: 'SMS',
    retryAfterSeconds: expect.any(Number),
    loginHash: last('recovery_started')?.loginHash,
  })
  await page.follow('_links.next', { passCode: '000000' })
  expect(last('factor_failed')).toMatchObject({ operation: 'recovery_verify', factorType: 'SMS' })
}

async function lookUpAndRevoke() {
  const [one, other] = [await openPage(harness), await openPage(harness)]
  for (const page of [one, other]) await page.signIn(AMELIA)
  const { id, userId } = await me(one)
  await one.browser.get('/api/v1/pam/me')
  expect(last('group_lookup')).toMatchObject({ userId, sessionId: id, operation: 'me', status: 200 })
  await one.browser.delete('/api/v1/sessions')
  expect(last('sessions_revoked')).toMatchObject({ userId, sessionId: id, reason: 'by_user', count: 1 })

  const admin = (method: string, path: string, token = OPS_TOKEN, body?: object) =>
    fetch(`${harness.gatehouse.opsUrl}/admin/users/${userId}/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  expect((await admin('DELETE', 'sessions', 'a-wrong-plainly-fake-token')).status).toBe(401)
  expect(last('admin_call')).toMatchObject({ operation: 'none', status: 401 })
  expect(await (await admin('GET', 'sessions')).json()).toMatchObject({ sessions: [{ id }] })
  const ended = await admin('DELETE', 'sessions')
  expect(await ended.json()).toEqual({ ended: 1 })
  const requestId = ended.headers.get('x-request-id')
  const call = { requestId, operation: 'end_sessions', userId, status: 200, count: 1 }
  expect(last('admin_call')).toMatchObject(call)
  expect(last('sessions_revoked')).toMatchObject({ userId, reason: 'by_admin', count: 1 })
  expect(await one.session()).toBeUndefined()

  const loginHash = last('sign_in_succeeded')?.loginHash
  await admin('DELETE', 'limits', OPS_TOKEN, { login: 'AMELIA.stone' })
  expect(lines('limits_ended')).toMatchObject([{ userId }, { userId, loginHash }])
  expect(last('admin_call')).toMatchObject({ operation: 'end_limits', userId, status: 200 })
}

async function lookUpFromBackend() {
  const browser = await harness.visit()
  await browser.post(AUTHN, credentials(WALTER))
  const { loginHash } = last('sign_in_succeeded') ?? {}
  const path = `/app/v1/pam/users/${encodeURIComponent(WALTER)}`
  const answer = await browser.get(path, { headers: { authorization: `Bearer ${APP_TOKEN}` } })
  const requestId = answer.headers.get('x-request-id')
  expect(last('app_lookup')).toMatchObject({
    app: 'portal',
    operation: 'me',
    status: 200,
    loginHash,
    requestId,
  })
}

async function useHandleOfOtherDevice() {
  const [owner, other] = [await openPage(harness), await harness.visit()]
  const mfaRequired = await owner.signIn(TOMAS)
  const { deviceHash, loginHash } = last('sign_in_started') ?? {}
  const { stateToken } = owner
  const step = { stateToken, passCode: '000000' }
  expect((await other.post(verifyHref(mfaRequired, TOTP), step)).status).toBe(401)
  const refused = { userId: harness.sandbox.user(TOMAS).id, loginHash, boundDeviceHash: deviceHash }
  expect(last('handle_refused')).toMatchObject({
    ...refused,
    audit: true,
    address: '127.0.0.1',
    reason: 'other_device',
  })
  expect(last('handle_refused')?.deviceHash).not.toBe(deviceHash)

  await openBrowser(harness.gatehouse.url).post(AUTHN, { stateToken })
  expect(last('handle_refused')).toMatchObject({ ...refused, reason: 'no_device_cookie' })
  const redirect = `${harness.gatehouse.url}/login/token/redirect?stateToken=${stateToken}`
  expect((await navigate(other, redirect)).status).toBe(401)
  expect(lines('handle_refused')).toHaveLength(3)
  // an unknown handle identifies no user
  await other.post(AUTHN, { stateToken: `00${'x'.repeat(43)}` })
  expect(lines('handle_refused')).toHaveLength(3)
}

async function refuseOldPassword() {
  const page = await openPage(harness)
  await page.signIn(OLGA)
  const newPassword = 'Another-Password-2'
  await page.follow('_links.next', { oldPassword: 'Not-The-Password-1', newPassword })
  expect(lines('old_password_refused')).toMatchObject([
    {
      operation: 'change_password',
      userId: harness.sandbox.user(OLGA).id,
      upstreamErrorCode: 'E0000014',
      loginHash: last('sign_in_started')?.loginHash,
    },
  ])
  // refused by the policy
  await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: '!' })
  expect(lines('old_password_refused')).toHaveLength(1)
}

async function useWrongTokens() {
  const browser = await harness.visit()
  await browser.post(`${AUTHN}/recovery/token`, { recoveryToken: 'wrong-recovery' })
  expect(last('recovery_started')).toMatchObject({ operation: 'token' })
  const { deviceHash } = last('recovery_started') ?? {}
  expect(last('recovery_token_refused')).toMatchObject({
    operation: 'recovery_token',
    address: '127.0.0.1',
    deviceHash,
    upstreamErrorCode: 'E0000011',
  })
  await browser.post(AUTHN, { token: 'wrong-activation' })
  const failed = { operation: 'primary', reason: 'activation_token', deviceHash }
  expect(last('sign_in_failed')).toMatchObject(failed)
}

async function requestCrossSite() {
  const browser = await harness.visit()
  const postFrom = (origin?: string) =>
    browser.post(AUTHN, credentials(TOMAS), {
      headers: { 'sec-fetch-site': 'cross-site', ...(origin === undefined ? {} : { origin }) },
    })
  for (const _again of [1, 2, 3]) await postFrom('https://evil.example')
  expect(lines('cross_site_refused')).toMatchObject([
    { address: '127.0.0.1', method: 'POST', origin: 'https://evil.example', reason: 'origin_not_allowed' },
  ])
  await postFrom(`https://${'x'.repeat(500)}.example`)
  expect(String(last('cross_site_refused')?.origin)).toHaveLength(100)
  await postFrom()
  expect(last('cross_site_refused')).toMatchObject({ reason: 'origin_missing' })
  for (let n = 0; n < 100; n++) await postFrom(`https://evil-${n}.example`)
  expect(lines('cross_site_refused').length).toBeLessThanOrEqual(60)
  expect(await harness.gatehouse.metrics()).toContain(
    'gatehouse_requests_refused_total{reason="cross_site"} 105',
  )
}

async function enrollAndChangePhone() {
  const page = await openPage(harness)
  await page.signIn('erin.enroll@example.test', { options: { multiOptionalFactorEnroll: true } })
  const enroll = (factorType: string, phoneNumber: string, query = '') =>
    page.follow(
      `${factorAt(page.held, factorType)}._links.enroll`,
      { factorType, provider: 'OKTA', profile: { phoneNumber } },
      { query },
    )
  const activate = () =>
    page.follow('_links.next', {
      passCode: harness.sandbox.outbox.latest('erin.enroll@example.test')?.code ?? 'none',
    })
  await enroll('sms', '+15550107777')
  await activate()
  const userId = harness.sandbox.user('erin.enroll@example.test').id
  const { loginHash, deviceHash } = last('sign_in_started') ?? {}
  const common = { userId, loginHash, deviceHash, address: '127.0.0.1' }
  const sms = { ...common, operation: 'activate', factorType: 'sms', provider: 'OKTA' }
  expect(lines('factor_enrolled')).toMatchObject([sms])
  expect(lines('factor_changed')).toEqual([])
  await enroll('call', '+15550108888', '?updatePhone=true')
  expect(lines('factor_changed')).toEqual([]) // nothing changes before the right code
  await activate()
  const call = { ...common, operation: 'activate', factorType: 'call', provider: 'OKTA' }
  expect(lines('factor_enrolled')).toMatchObject([sms, call])
  expect(lines('factor_changed')).toMatchObject([{ ...call, reason: 'phone_updated' }])
  expect(harness.gatehouse.logText()).not.toContain('0108888')
}

async function redeemSsoTokenAndCopySession() {
  const page = await openPage(harness)
  const { json } = await page.signIn(AMELIA)
  const { id, userId } = await me(page)
  const query = new URLSearchParams({ token: String(json.sessionToken), redirectUrl: TARGET })
  const ssoRedirect = `${harness.gatehouse.url}/login/sessionCookieRedirect?${query}`
  expect((await navigate(page.browser, ssoRedirect)).status).toBe(302)
  const { deviceHash, loginHash } = last('sign_in_succeeded') ?? {}
  expect(last('sso_token_redeemed')).toMatchObject({ userId, sessionId: id, deviceHash, loginHash })

  const thief = await harness.visit()
  for (const { key, value } of await page.browser.jar.getCookies(harness.gatehouse.url))
    if (key === 'gatehouse') await thief.jar.setCookie(`${key}=${value}`, harness.gatehouse.url)
  expect((await thief.get('/api/v1/sessions/me')).status).toBe(404)
  await page.browser.delete('/api/v1/sessions/me')
  const mismatch = last('session_device_mismatch')
  expect(mismatch).toMatchObject({ userId, sessionId: id, loginHash, deviceHash: expect.any(String) })
  expect(mismatch?.deviceHash).not.toBe(deviceHash)
}

async function handOver() {
  const [portal, wiki] = ['https://portal.example.test', 'https://wiki.example.test']
  const broker = await harness.replica({
    PUBLIC_URL: portal,
    RETURN_TO: `${wiki}/`,
    TRUST_PROXY: '127.0.0.1',
  })
  const [browser, other] = [openSiteBrowser([broker]), openSiteBrowser([broker])]
  await browser.fetch(`${portal}/api/v1/sessions/me`)
  await browser.fetch(`${portal}${AUTHN}`, { method: 'POST', body: credentials(AMELIA) })
  const callback = async () => {
    const start = await browser.open(`${wiki}/forward-auth/start?returnTo=/`)
    return String((await browser.open(String(start.headers.location))).headers.location)
  }
  await browser.open(await callback())
  await other.open(await callback())
  const events = broker.logLines().filter(({ audit }) => audit === true)
  const [signedIn, completed, refused] = events.slice(-3)
  const { userId, loginHash, deviceHash, sessionId } = signedIn ?? {}
  const session = {
    userId,
    loginHash,
    deviceHash,
    sessionId,
    host: 'wiki.example.test',
    address: '192.0.2.7',
  }
  expect(completed).toMatchObject({ event: 'hand_over_completed', ...session })
  expect(refused).toMatchObject({ event: 'hand_over_refused', ...session, reason: 'state_missing' })
  for (const { event } of events) seen.add(event)
  await browser.fetch(`${portal}/api/v1/sessions/me`, { method: 'DELETE' })
}

async function receiveOrgEvent() {
  const deliver = (authorization: string, event: object) =>
    fetch(`${harness.gatehouse.url}/hooks/org-events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify(delivery(event)),
    })
  await deliver('wrong', orgEvent('00uPlainlyFake'))
  expect(last('event_hook_refused')).toMatchObject({ status: 401, errorCode: 'E0000011' })
  const event = orgEvent('00uPlainlyFake')
  await deliver(HOOK_SECRET, event)
  await until(() => last('sessions_revoked') !== undefined)
  expect(last('sessions_revoked')).toMatchObject({
    eventId: event.uuid,
    operation: event.eventType,
    count: 0,
  })
}

/** A thief has the cookies of a bound session, but not its key. */
async function bindAndStealSession() {
  const origin = 'https://portal.example.test'
  const broker = await harness.replica({ PUBLIC_URL: origin, DEVICE_BOUND_SESSIONS: 'on' })
  const { bind, renew, ask, cookies } = openBoundVisitor(origin)
  const sessionStatus = async () => (await ask(broker.url, 'GET', '/api/v1/sessions/me')).status
  const audited = (event: AuditEvent) => broker.logLines().findLast((line) => line.event === event)

  const bound = await bind(broker.url, credentials(AMELIA))
  expect(bound.status).toBe(200)
  expect(audited('session_bound')).toMatchObject({ userId: expect.any(String) })

  expect(await sessionStatus()).toBe(200)
  const own = cookies.get('__Host-gatehouse-bound') ?? ''
  cookies.set('__Host-gatehouse-bound', 'made-up')
  expect(await sessionStatus()).toBe(404)
  expect(audited('bound_session_refused')).toMatchObject({ reason: expect.any(String) })

  cookies.set('__Host-gatehouse-bound', own)
  await renew(broker.url, bound, createBrowserKey())
  expect(audited('session_key_mismatch')).toMatchObject({ userId: expect.any(String) })
  expect(await sessionStatus()).toBe(404)
  for (const { event } of broker.logLines()) seen.add(event)
}

/** The events that the journeys of this file have caused. */
const seen = new Set<unknown>()

test.each([
  ['a sign-in with a code: start, failures, success and sign-out', signInWithCode],
  ['a push: one challenge for any number of polls, and the rejection', rejectPush],
  ["a changed password, and the revocation of the user's other sessions", changePassword],
  ['a recovery for an unknown user, and a second message too soon', recoverUnknownUser],
  [
    'a handle of another device, in a step and at a redirect: its user and both devices',
    useHandleOfOtherDevice,
  ],
  ['a wrong old password, but not a new password that the policy refuses', refuseOldPassword],
  ['a wrong recovery token and a wrong activation token', useWrongTokens],
  ['cross-site requests: once for each address and origin, with an upper bound', requestCrossSite],
  ['an enrolled factor, and a phone number that an enrollment changed', enrollAndChangePhone],
  ['a redeemed SSO token, and a session cookie copied to another device', redeemSsoTokenAndCopySession],
  ['a hand-over to an application’s host, and one in another browser', handOver],
  ['an event of the org, and one with a wrong secret', receiveOrgEvent],
  ['a session that is bound, used without its cookie, and refreshed with another key', bindAndStealSession],
  ['a look-up of a backend, with the same hash of the login', lookUpFromBackend],
  ['a group look-up, sessions and limits ended by the user and by an administrator', lookUpAndRevoke],
])('%s', async (_name, journey) => {
  await journey()
  // LOG_LEVEL is error, so all other lines are audit lines
  for (const { event } of logged()) seen.add(event)
})

// shows: V16.3.1, V16.3.3
test('the journeys cover every audit event', () => {
  expect([...seen].toSorted()).toEqual(Object.keys(AUDIT_EVENTS).toSorted())
})
