import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { sendConcurrently } from '../support/coalesced-requests.ts'
import {
  AMELIA,
  type Harness,
  INES,
  OLGA,
  PASSWORD,
  PRIYA,
  startHarness,
  TOMAS,
  WALTER,
} from '../support/harness.ts'
import { handleOf, hrefAt, valueAt, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

const credentials = (username: string) => ({ username, password: PASSWORD })
const HANDLE = /^00[\w-]{43}$/

describe('signing in', () => {
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

  test('with a wrong password returns the refusal of Okta and sets no session cookie', async () => {
    const browser = await harness.visit()
    const answer = await browser.post('/api/v1/authn', { username: AMELIA, password: 'not-the-password' })
    expect(answer.status).toBe(401)
    expect(answer.json).toMatchObject({ errorCode: 'E0000004', errorLink: 'E0000004', errorCauses: [] })
    expect(answer.setCookies).toEqual([])
  })

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

  test('rememberDevice is sent upstream as a query parameter; a value other than true or false is refused', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    const verify = verifyHref(mfaRequired, 'token:software:totp')
    const body = { stateToken: handleOf(mfaRequired), passCode: harness.sandbox.totpCode(TOMAS) }
    const refused = await browser.post(`${verify}?rememberDevice=maybe`, body)
    expect(refused.status).toBe(400)
    expect(refused.json.errorCauses).toEqual([
      { errorSummary: 'rememberDevice: must be true or false, once' },
    ])
    const answer = await browser.post(`${verify}?rememberDevice=true&unknown=1`, body)
    expect(answer.json.status).toBe('SUCCESS')
    expect(harness.upstreamCalls().at(-1)?.query).toEqual({ rememberDevice: 'true' })
  })
})

describe('push', () => {
  test('is polled while WAITING, resent after a rejection, and opens a session when it is approved', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(PRIYA))
    const stateToken = handleOf(mfaRequired)
    const waiting = await browser.post(verifyHref(mfaRequired, 'push'), { stateToken })
    expect(waiting.json).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'WAITING', stateToken })

    const poll = hrefAt(waiting, '_links.next')
    const again = await browser.post(poll, { stateToken })
    expect(again.json).toMatchObject({ factorResult: 'WAITING', stateToken })
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)

    harness.sandbox.answerPush(PRIYA, 'reject')
    const rejected = await browser.post(poll, { stateToken })
    expect(rejected.json).toMatchObject({ factorResult: 'REJECTED', stateToken })
    const resent = await browser.post(hrefAt(rejected, '_links.resend.0'), { stateToken })
    expect(resent.json).toMatchObject({ factorResult: 'WAITING', stateToken })

    harness.sandbox.answerPush(PRIYA, 'approve')
    const done = await browser.post(hrefAt(resent, '_links.next'), { stateToken })
    expect(done.json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json).toMatchObject({ amr: ['pwd', 'swk', 'mfa'] })
  })

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

  test('previous returns to the choice of factors', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(PRIYA))
    const stateToken = handleOf(mfaRequired)
    await browser.post(verifyHref(mfaRequired, 'push'), { stateToken })
    const back = await browser.post('/api/v1/authn/previous', { stateToken })
    expect(back.json).toMatchObject({ status: 'MFA_REQUIRED', stateToken })
  })
})

describe('passwords', () => {
  test('an expired password is changed; a weak new password is refused with one cause per rule', async () => {
    const browser = await harness.visit()
    const expired = await browser.post('/api/v1/authn', credentials(OLGA))
    expect(expired.json.status).toBe('PASSWORD_EXPIRED')
    const stateToken = handleOf(expired)
    const change = hrefAt(expired, '_links.next')

    const weak = await browser.post(change, { stateToken, oldPassword: PASSWORD, newPassword: 'short' })
    expect(weak.status).toBe(403)
    expect(weak.json.errorCode).toBe('E0000014')
    expect(weak.json.errorCauses).not.toEqual([])
    const wrong = await browser.post(change, {
      stateToken,
      oldPassword: 'nope',
      newPassword: 'Another-Password-2',
    })
    expect(wrong.json.errorCode).toBe('E0000014')

    const changed = await browser.post(change, {
      stateToken,
      oldPassword: PASSWORD,
      newPassword: 'Another-Password-2',
    })
    expect(changed.json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(OLGA)
  })

  test('an expiring password causes a warning if requested, which can be skipped or followed', async () => {
    const silent = await harness.visit()
    expect((await silent.post('/api/v1/authn', credentials(WALTER))).json.status).toBe('SUCCESS')

    const options = { warnBeforePasswordExpired: true, multiOptionalFactorEnroll: null }
    const browser = await harness.visit()
    const warned = await browser.post('/api/v1/authn', { ...credentials(WALTER), options, context: null })
    expect(warned.json.status).toBe('PASSWORD_WARN')
    const skipped = await browser.post(hrefAt(warned, '_links.skip'), { stateToken: handleOf(warned) })
    expect(skipped.json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)

    const warnedAgain = await browser.post('/api/v1/authn', { ...credentials(WALTER), options })
    const changed = await browser.post(hrefAt(warnedAgain, '_links.next'), {
      stateToken: handleOf(warnedAgain),
      oldPassword: PASSWORD,
      newPassword: 'Another-Password-2',
    })
    expect(changed.json.status).toBe('SUCCESS')
  })

  test('with an active factor the code comes first, then the expired password', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(INES))
    const stateToken = handleOf(mfaRequired)
    const expired = await browser.post(verifyHref(mfaRequired, 'token:software:totp'), {
      stateToken,
      passCode: harness.sandbox.totpCode(INES),
    })
    expect(expired.json).toMatchObject({ status: 'PASSWORD_EXPIRED', stateToken })
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
    const changed = await browser.post(hrefAt(expired, '_links.next'), {
      stateToken,
      oldPassword: PASSWORD,
      newPassword: 'Another-Password-2',
    })
    expect(changed.json.status).toBe('SUCCESS')
  })
})

describe('the end of a sign-in or session', () => {
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

  test('sign-out ends the session on the server: a replayed cookie is no session', async () => {
    const browser = await harness.visit()
    await browser.post('/api/v1/authn', credentials(AMELIA))
    const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
    const out = await browser.delete('/api/v1/sessions/me')
    expect(out.status).toBe(204)
    expect(out.setCookies.join()).toMatch(/^gatehouse=; Max-Age=0/)
    const replayed = await browser.get('/api/v1/sessions/me', { headers: { cookie } })
    expect(replayed.status).toBe(404)
  })

  test('a second sign-in opens a new session under a new id and ends the first', async () => {
    const browser = await harness.visit()
    await browser.post('/api/v1/authn', credentials(AMELIA))
    const first = await browser.jar.getCookieString(harness.gatehouse.url)
    const before = await browser.get('/api/v1/sessions/me')
    await browser.post('/api/v1/authn', credentials(AMELIA))
    const after = await browser.get('/api/v1/sessions/me')
    expect(after.json.id).not.toBe(before.json.id)
    expect((await browser.get('/api/v1/sessions/me', { headers: { cookie: first } })).status).toBe(404)
  })
})

describe('one step at a time', () => {
  test('a double click is one upstream call, on one replica and over two', async () => {
    const other = await harness.replica()
    for (const secondOrigin of [harness.gatehouse.url, other.url]) {
      harness.sandbox.reset()
      const browser = await harness.visit()
      const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
      const verify = verifyHref(mfaRequired, 'token:software:totp')
      const body = { stateToken: handleOf(mfaRequired), passCode: harness.sandbox.totpCode(TOMAS) }
      const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
      harness.clearUpstreamCalls()
      const answers = await sendConcurrently(
        { ...harness, brokers: [harness.gatehouse, other] },
        [verify, secondOrigin + new URL(verify).pathname].map(
          (url) => () => openBrowser(harness.gatehouse.url).post(url, body, { headers: { cookie } }),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(answers[0]?.text).toBe(answers[1]?.text)
      expect(answers[0]?.setCookies).toEqual(answers[1]?.setCookies)
      expect(answers[0]?.setCookies.join()).toContain('gatehouse=')
      expect(harness.upstreamCalls()).toHaveLength(1)
    }
  })

  test('a double click on the sign-in button is one upstream call', async () => {
    const browser = await harness.visit()
    harness.clearUpstreamCalls()
    const click = () => browser.post('/api/v1/authn', credentials(TOMAS))
    const answers = await sendConcurrently({ ...harness, brokers: [harness.gatehouse] }, [click, click])
    expect(harness.upstreamCalls()).toHaveLength(1)
    expect(answers[0]?.text).toBe(answers[1]?.text)
  })

  test('a later identical step is a new attempt', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    const verify = verifyHref(mfaRequired, 'token:software:totp')
    const body = { stateToken: handleOf(mfaRequired), passCode: '000000' }
    harness.clearUpstreamCalls()
    await browser.post(verify, body)
    await browser.post(verify, body)
    expect(harness.upstreamCalls()).toHaveLength(2)
  })

  test('different steps of one transaction run one after the other', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    const stateToken = handleOf(mfaRequired)
    const verify = verifyHref(mfaRequired, 'token:software:totp')
    const release = harness.sandbox.faults.authn.hold({ times: 1 })
    harness.clearUpstreamCalls()
    const slow = browser.post(verify, { stateToken, passCode: '000000' })
    await until(() => harness.upstreamCalls().length === 1)
    const quick = browser.post('/api/v1/authn', { stateToken })
    await until(async () =>
      (await harness.gatehouse.metrics()).includes('gatehouse_http_requests_in_flight{kind="sign_in"} 2\n'),
    )
    // another user's later request was served meanwhile, so this step waits for the lock
    await (await harness.visit()).post('/api/v1/authn', credentials(AMELIA))
    expect(harness.upstreamCalls()).toHaveLength(2)
    release()
    const [wrong, state] = await Promise.all([slow, quick])
    expect(harness.upstreamCalls()).toHaveLength(3)
    expect(wrong.json.errorCode).toBe('E0000068')
    expect(state.json.status).toBe('MFA_REQUIRED')
  })

  test('two tabs sign in at the same time, each in its own transaction', async () => {
    const browser = await harness.visit()
    const one = await browser.post('/api/v1/authn', credentials(TOMAS))
    const two = await browser.post('/api/v1/authn', credentials(PRIYA))
    expect(handleOf(one)).not.toBe(handleOf(two))
    const done = await browser.post(verifyHref(one, 'token:software:totp'), {
      stateToken: handleOf(one),
      passCode: harness.sandbox.totpCode(TOMAS),
    })
    expect(done.json.status).toBe('SUCCESS')
    const still = await browser.post('/api/v1/authn', { stateToken: handleOf(two) })
    expect(valueAt(still.json, '_embedded.user.profile.login')).toBe(PRIYA)
  })
})
