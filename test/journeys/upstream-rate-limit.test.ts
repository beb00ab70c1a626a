import { expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { PASSWORD, startStubHarness } from '../support/harness.ts'
import { StubError, sendJson } from '../support/stub-upstream.ts'
import { errorOf } from '../support/transaction-view.ts'

test('429s to many others stop no one: every sign-in is sent, and a 429 reaches only its own caller', async () => {
  const reset = String(Math.ceil(Date.now() / 1000) + 250)
  const limits = { 'X-Rate-Limit-Limit': '600', 'X-Rate-Limit-Reset': reset }
  const limited = new StubError(429, 'E0000047')
  const harness = await startStubHarness({
    env: { TRUST_PROXY: '127.0.0.1' },
    answer: ({ body }, res) => {
      const login = String(Object(body).username)
      if (login.startsWith('limited'))
        return sendJson(res, 429, limited.body, { ...limits, 'X-Rate-Limit-Remaining': '0' })
      const user = { id: '00uExampleUser', profile: { login } }
      const success = { status: 'SUCCESS', sessionToken: 'plainly-fake-session-token', _embedded: { user } }
      sendJson(res, 200, success, { ...limits, 'X-Rate-Limit-Remaining': '1' })
    },
  })
  try {
    const signIn = async (username: string, n: number) => {
      const browser = openBrowser(harness.gatehouse.url, { 'x-forwarded-for': `198.51.100.${n}` })
      browser.allowAnyTransaction()
      return browser.post('/api/v1/authn', { username, password: PASSWORD })
    }
    for (let n = 1; n <= 20; n++) {
      const refused = await signIn(`limited-${n}@example.test`, n)
      expect(errorOf(refused)).toEqual([429, 'E0000047'])
      expect(refused.headers.get('x-rate-limit-reset')).toBe(reset)
      expect(Math.abs(Number(refused.headers.get('retry-after')) - 250)).toBeLessThan(20)
      expect((await signIn(`user-${n}@example.test`, n)).json.status).toBe('SUCCESS')
    }
    expect(harness.stub.requests).toHaveLength(40)
  } finally {
    await harness.stop()
  }
})
