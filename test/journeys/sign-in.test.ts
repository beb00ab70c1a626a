import { describe, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, PASSWORD, PRIYA, TOMAS, useHarness } from '../support/harness.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

const harness = useHarness()

const credentials = (username: string) => ({ username, password: PASSWORD })
const HANDLE = /^00[\w-]{43}$/

describe('signing in', () => {
  // shows, F-2.1
  // sandbox shows
  test('with a password alone opens a session', async () => {
    const browser = await harness.visit()
    const answer = await browser.post('/api/v1/authn', credentials(AMELIA))
    expect(answer.status).toBe(200)
    expect(answer.json.status).toBe('SUCCESS')
    expect(answer.json.sessionToken).toBeUndefined()

    const session = await browser.get('/api/v1/sessions/me')
    expect(session.status).toBe(200)
    expect(session.json).toMatchObject({ login: AMELIA, status: 'ACTIVE', amr: ['pwd'] })
    expect(session.json.userId).toBe(harness.sandbox.user(AMELIA).id)
  })

  // shows
  test('with a wrong password returns the refusal of Okta and sets no session cookie', async () => {
    const browser = await harness.visit()
    const answer = await browser.post('/api/v1/authn', { username: AMELIA, password: 'not-the-password' })
    expect(answer.status).toBe(401)
    expect(answer.json).toMatchObject({ errorCode: 'E0000004', errorLink: 'E0000004', errorCauses: [] })
    expect(answer.setCookies).toEqual([])
  })

  // shows, F-4.4
  // sandbox shows: F-4.4
  test('with a code: the handle stays the same in all responses, and a wrong code can be tried again', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    expect(mfaRequired.json.status).toBe('MFA_REQUIRED')
    const stateToken = handleOf(mfaRequired)
    expect(stateToken).toMatch(HANDLE)
    const verify = verifyHref(mfaRequired, 'token:software:totp')
    expect(verify.startsWith(`${harness.gatehouse.url}/api/v1/authn/factors/`)).toBe(true)

    const wrong = await browser.post(verify, { stateToken, passCode: '000000' })
    expect(wrong.status).toBe(403)
    expect(wrong.json.errorCode).toBe('E0000068')
    const stateNow = await browser.post('/api/v1/authn', { stateToken })
    expect(stateNow.json).toMatchObject({ status: 'MFA_REQUIRED', stateToken })
    const introspected = await browser.post('/api/v1/authn/introspect', { stateToken })
    expect(introspected.json).toMatchObject({ status: 'MFA_REQUIRED', stateToken })

    const right = await browser.post(verify, { stateToken, passCode: harness.sandbox.totpCode(TOMAS) })
    expect(right.json.status).toBe('SUCCESS')
    const session = await browser.get('/api/v1/sessions/me')
    expect(session.json).toMatchObject({ login: TOMAS, amr: ['pwd', 'otp', 'mfa'] })

    const ended = await browser.post('/api/v1/authn', { stateToken })
    expect(ended.status).toBe(401)
    expect(ended.json.errorCode).toBe('E0000011')
  })
})

describe('push', () => {
  // shows: F-6.4
  test('started at one replica continues at another one with the same Redis', async () => {
    const other = await harness.replica()
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(PRIYA))
    const stateToken = handleOf(mfaRequired)
    const waiting = await browser.post(verifyHref(mfaRequired, 'push'), { stateToken })
    harness.sandbox.answerPush(PRIYA, 'approve')

    const path = new URL(hrefAt(waiting, '_links.next')).pathname
    const elsewhere = openBrowser(other.url)
    for (const cookie of await browser.jar.getCookies(harness.gatehouse.url)) {
      await elsewhere.jar.setCookie(cookie.cookieString(), other.url)
    }
    const done = await elsewhere.post(path, { stateToken })
    expect(done.json.status).toBe('SUCCESS')
    expect((await elsewhere.get('/api/v1/sessions/me')).json.login).toBe(PRIYA)
  })
})

describe('the end of a sign-in or session', () => {
  // shows, F-2.1, F-2.20
  // sandbox shows, F-2.20
  test('cancel ends the transaction and returns relayState', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', {
      ...credentials(TOMAS),
      relayState: '/deep/link',
    })
    const stateToken = handleOf(mfaRequired)
    const cancelled = await browser.post(hrefAt(mfaRequired, '_links.cancel'), { stateToken })
    expect(cancelled.json).toEqual({ relayState: '/deep/link' })
    harness.clearUpstreamCalls()
    const after = await browser.post('/api/v1/authn', { stateToken })
    expect(after.json.errorCode).toBe('E0000011')
    expect(harness.upstreamCalls()).toEqual([])
  })
})
