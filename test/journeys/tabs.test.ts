import { expect, test } from '@jest/globals'
import { AMELIA, PASSWORD, PRIYA, TOMAS, useHarness } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

const harness = useHarness()

test('two tabs sign in as two users: the later session wins, and requests of the other tab get 409', async () => {
  const browser = await harness.visit()
  const [one, two] = await Promise.all([
    browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD }),
    browser.post('/api/v1/authn', { username: PRIYA, password: PASSWORD }),
  ])
  const verify = (asked: typeof one, login: string) =>
    browser.post(verifyHref(asked, 'token:software:totp'), {
      stateToken: handleOf(asked),
      passCode: harness.sandbox.totpCode(login),
    })
  expect((await verify(one, TOMAS)).json.status).toBe('SUCCESS')
  const first = await browser.get('/api/v1/sessions/me')
  expect(first.json.login).toBe(TOMAS)
  const firstTab = { headers: { 'x-gatehouse-session': String(first.json.id) } }
  expect((await browser.get('/api/v1/sessions/me', firstTab)).status).toBe(200)

  expect((await verify(two, PRIYA)).json.status).toBe('SUCCESS')
  const second = await browser.get('/api/v1/sessions/me')
  expect(second.json.login).toBe(PRIYA)

  const calls = [
    () => browser.get('/api/v1/sessions/me', firstTab),
    () => browser.delete('/api/v1/sessions/me', firstTab),
    () => browser.get('/api/v1/pam/me', firstTab),
    () => browser.post('/api/v1/sessions/me/lifecycle/refresh', {}, firstTab),
    () => browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD }, firstTab),
  ]
  harness.clearUpstreamCalls()
  for (const call of calls) {
    const answer = await call()
    expect([answer.status, answer.json.errorCode]).toEqual([409, 'E0000006'])
    expect(answer.setCookies).toEqual([])
  }
  expect(harness.upstreamCalls()).toEqual([])
  expect((await browser.get('/api/v1/sessions/me')).json.id).toBe(second.json.id)
})
