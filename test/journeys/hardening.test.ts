import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Malformed upstream responses, late steps, and one browser that must not affect others. */

let harness: Harness
beforeEach(async () => {
  harness = await startHarness()
})
afterEach(() => harness.stop())

const credentials = (username: string) => ({ username, password: PASSWORD })

/** The next response to any request on this path. */
function answerNext(path: string, body: object, status = 200) {
  harness.sandbox.faults.authn.set({ kind: 'status', status, path, body, times: 1 })
}

describe('tokens in unusual fields', () => {
  test('of the response that opens a session reach neither the page nor the session', async () => {
    const sessionToken = 'real-session-token-0123456789'
    const stateToken = 'real-state-token-0123456789'
    answerNext('/api/v1/authn', {
      status: 'SUCCESS',
      sessionToken,
      stateToken,
      _embedded: {
        user: {
          id: '00uOdd',
          profile: {
            login: AMELIA,
            note: `see ${sessionToken}`,
            photo: { href: `https://x.example/?a=${stateToken}` },
          },
        },
      },
    })
    const browser = await harness.visit()
    const answer = await browser.post('/api/v1/authn', credentials(AMELIA))
    expect(answer.json.status).toBe('SUCCESS')
    const session = await browser.get('/api/v1/sessions/me')
    expect(session.json.login).toBe(AMELIA)
    for (const token of [sessionToken, stateToken]) expect(answer.text + session.text).not.toContain(token)
  })

  test('a factor type that is a property of Object.prototype is an unknown second factor', async () => {
    const browser = await harness.visit()
    browser.allowAnyTransaction()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    const stateToken = handleOf(mfaRequired)
    const verify = verifyHref(mfaRequired, 'token:software:totp')
    const id = /factors\/(\w+)\//.exec(verify)?.[1]
    answerNext('/api/v1/authn', {
      status: 'MFA_REQUIRED',
      stateToken: harness.sandbox.tokensIssued().at(-1),
      _embedded: { factors: [{ id, factorType: 'constructor' }] },
    })
    await browser.post('/api/v1/authn', { stateToken })
    const done = await browser.post(verify, { stateToken, passCode: harness.sandbox.totpCode(TOMAS) })
    expect(done.json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.amr).toEqual(['pwd', 'mfa'])
  })
})

describe('an invalid response', () => {
  test('without a status is 502, and the transaction is kept', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    const stateToken = handleOf(mfaRequired)
    const verify = verifyHref(mfaRequired, 'token:software:totp')
    answerNext('/api/v1/authn/factors', { ok: true })
    expect((await browser.post(verify, { stateToken, passCode: '000000' })).status).toBe(502)
    const done = await browser.post(verify, { stateToken, passCode: harness.sandbox.totpCode(TOMAS) })
    expect(done.json.status).toBe('SUCCESS')
  })

  test('for another user opens no session, and raises an alarm', async () => {
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    answerNext('/api/v1/authn/factors', {
      status: 'SUCCESS',
      sessionToken: 'real-session-token-0123456789',
      _embedded: { user: { id: '00uOtherUser', profile: { login: PRIYA } } },
    })
    const answer = await browser.post(verifyHref(mfaRequired, 'token:software:totp'), {
      stateToken: handleOf(mfaRequired),
      passCode: '000000',
    })
    expect(answer.status).toBe(502)
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
    expect(harness.gatehouse.logText()).toContain('"event":"user_mismatch"')
  })
})

describe('a step that outlives its lock', () => {
  test('opens no session, and the browser keeps its session', async () => {
    await harness.stop()
    harness = await startHarness({
      tunables: (tunables) => ({
        ...tunables,
        transaction: { ...tunables.transaction, stepLockMs: 300 },
      }),
    })
    const browser = await harness.visit()
    await browser.post('/api/v1/authn', credentials(AMELIA))
    const before = await browser.get('/api/v1/sessions/me')
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    const stateToken = handleOf(mfaRequired)
    const other = await harness.replica()
    const cookie = await browser.jar.getCookieString(harness.gatehouse.url)

    const release = harness.sandbox.faults.authn.hold({ path: '/api/v1/authn/factors', times: 1 })
    harness.clearUpstreamCalls()
    const passCode = harness.sandbox.totpCode(TOMAS)
    const slowStep = browser.post(verifyHref(mfaRequired, 'token:software:totp'), { stateToken, passCode })
    await until(() => harness.upstreamCalls().length === 1)
    const quick = await fetch(`${other.url}/api/v1/authn`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', cookie },
      body: JSON.stringify({ stateToken }),
    })
    expect(quick.status).toBe(200)
    release()
    expect((await slowStep).status).toBe(503)
    expect((await slowStep).setCookies).toEqual([])
    expect((await browser.get('/api/v1/sessions/me')).json.id).toBe(before.json.id)
  })
})

describe('one browser', () => {
  test('with many different steps in one transaction gets 503 at once, except for the few that may wait', async () => {
    await harness.stop()
    harness = await startHarness() // the first step takes as long as the others
    const browser = await harness.visit()
    const mfaRequired = await browser.post('/api/v1/authn', credentials(TOMAS))
    const stateToken = handleOf(mfaRequired)
    const verify = verifyHref(mfaRequired, 'token:software:totp')
    const release = harness.sandbox.faults.authn.hold({ times: 1 })
    harness.clearUpstreamCalls()
    const refused: PageAnswer[] = []
    const pending = Array.from({ length: 60 }, async (_, code) => {
      const answer = await browser.post(verify, { stateToken, passCode: String(100_000 + code) })
      if (answer.status === 503) refused.push(answer)
    })
    // one is at the org, five are queued
    await until(() => harness.upstreamCalls().length === 1 && refused.length === 54)
    release()
    await Promise.all(pending)
    expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(Array(54).fill('1'))
    expect(harness.upstreamCalls()).toHaveLength(6)
  })

  test('with time-outs at the org does not block other browsers', async () => {
    await harness.stop()
    harness = await startHarness({
      tunables: (tunables) => ({
        ...tunables,
        upstream: { ...tunables.upstream, authn: { ...tunables.upstream.authn, totalTimeoutMs: 1500 } },
      }),
    })
    harness.sandbox.faults.authn.set({ kind: 'delay', ms: 300_000 })
    const slow = await harness.visit()
    const timedOut = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        slow.post('/api/v1/authn', { username: `slow${n}`, password: 'x' }),
      ),
    )
    expect(new Set(timedOut.map(({ status }) => status))).toEqual(new Set([504]))
    harness.sandbox.faults.authn.clear()
    const other = await harness.visit()
    await until(
      async () => (await other.post('/api/v1/authn', credentials(AMELIA))).json.status === 'SUCCESS',
      { what: 'a sign-in of another user' },
    )
  })
})
