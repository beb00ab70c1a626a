import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { type SandboxWithBroker, startSandbox } from 'gatehouse/sandbox'

let sandbox: SandboxWithBroker
beforeAll(async () => {
  const people = [{ login: 'sam@example.test', password: 'Demo-Password-1', factors: ['sms' as const] }]
  sandbox = await startSandbox({ people, broker: true })
})
afterEach(() => sandbox.control.reset())
afterAll(() => sandbox.stop())

/** A browser: it returns the device cookie. */
function visitor() {
  let cookie = ''
  return async (href: string, body: object) => {
    const headers = { 'content-type': 'application/json', origin: sandbox.brokerUrl, cookie }
    const url = new URL(href, sandbox.brokerUrl)
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie
    return response.json()
  }
}

test('a code by text message, and an expired sign-in', async () => {
  const post = visitor()
  const { stateToken, _embedded } = await post('/api/v1/authn', {
    username: 'sam',
    password: 'Demo-Password-1',
  })
  const { href } = _embedded.factors[0]._links.verify
  await post(href, { stateToken })
  const { code } = await sandbox.control.nextMessage('sam', { kind: 'sms' })
  sandbox.control.expireTransactions()
  expect(await post(href, { stateToken, passCode: code })).toMatchObject({ errorCode: 'E0000011' })
})
