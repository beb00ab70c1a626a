import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

/** Malformed upstream responses. */

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
