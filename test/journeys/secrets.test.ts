import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AMELIA, type Harness, OLGA, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

/** Fake secrets, long enough not to occur anywhere by accident. */
const SSWS = 'marked-ssws-token-0123456789abcdef'
const NEW_PASSWORD = 'Marked-New-Password-9f3a'
const WRONG_PASSWORD = 'Marked-Wrong-Password-77'
/** A frozen time at which no six-digit code is part of a timestamp or a duration. */
const FROZEN = Date.parse('2026-03-14T15:09:26Z')

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    sandboxNow: () => FROZEN,
    sandboxConfig: (config) => ({ ...config, apiTokens: [SSWS] }),
    env: { LOG_LEVEL: 'debug', AUTHN_API_TOKEN: SSWS },
  })
})
afterAll(() => harness.stop())

test('no token, key, password, code or login is in a log line, a metric, Redis or a response', async () => {
  const codes: string[] = []
  const browser = await harness.visit()
  const post = (path: string, body: object) => browser.post(path, body)

  await post('/api/v1/authn', { username: TOMAS, password: WRONG_PASSWORD })
  const mfaRequired = await post('/api/v1/authn', { username: TOMAS, password: PASSWORD, relayState: 'here' })
  const stateToken = handleOf(mfaRequired)
  const verify = verifyHref(mfaRequired, 'token:software:totp')
  codes.push('918273', harness.sandbox.totpCode(TOMAS))
  await post(verify, { stateToken, passCode: codes[0] })
  await post('/api/v1/authn', { stateToken })
  await post('/api/v1/authn/skip', { stateToken })
  const stored = [await everythingInRedis()]
  await post(verify, { stateToken, passCode: codes[1] })
  await browser.get('/api/v1/sessions/me')
  await browser.get('/api/v1/pam/me')
  await browser.get('/api/v1/pam/groups')
  await post('/api/v1/sessions/me/lifecycle/refresh', {})

  const other = await harness.visit()
  const push = await other.post('/api/v1/authn', { username: PRIYA, password: PASSWORD })
  const waiting = await other.post(verifyHref(push, 'push'), { stateToken: handleOf(push) })
  await other.post(hrefAt(waiting, '_links.next'), { stateToken: handleOf(push) })
  await other.post(hrefAt(waiting, '_links.cancel'), { stateToken: handleOf(push) })
  const expired = await other.post('/api/v1/authn', { username: OLGA, password: PASSWORD })
  await other.post(hrefAt(expired, '_links.next'), {
    stateToken: handleOf(expired),
    oldPassword: PASSWORD,
    newPassword: NEW_PASSWORD,
  })
  harness.sandbox.faults.authn.set({ kind: 'html', status: 500, times: 1 })
  await other.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  stored.push(await everythingInRedis())
  await browser.delete('/api/v1/sessions/me')

  const tokens = [...harness.sandbox.tokensIssued(), ...harness.sandbox.pamControl.bearerTokens()]
  const keys = [SSWS, 'sandbox-key-1', 'sandbox-secret-1-9pVb3LwY']
  const passwords = [PASSWORD, WRONG_PASSWORD, NEW_PASSWORD]
  const logins = [TOMAS, PRIYA, OLGA, AMELIA].flatMap((login) => [login, login.split('@')[0] ?? ''])
  expect(tokens.length).toBeGreaterThan(5)

  const responses = [...browser.received, ...other.received].join('\n')
  expectNone(responses, [...tokens, ...keys, ...passwords, ...codes], 'a response')
  const outputs = [harness.gatehouse.logText(), await harness.gatehouse.metrics(), ...stored].join('\n')
  expectNone(
    outputs,
    [...tokens, ...keys, ...passwords, ...codes, ...logins],
    'a log line, metric or Redis value',
  )
  expect(harness.gatehouse.logText()).toContain('"event":"sign_in_succeeded"')
  expect(stored.join('').length).toBeGreaterThan(1000)
})

/** Searches for each secret in plain text, percent-encoded, in base64 and in base64url. */
function expectNone(text: string, secrets: readonly string[], where: string) {
  const forms = (secret: string) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64').replaceAll('=', ''),
    Buffer.from(secret).toString('base64url'),
  ]
  const found = secrets.filter((secret) => secret !== '' && forms(secret).some((form) => text.includes(form)))
  expect({ where, found }).toEqual({ where, found: [] })
}

/** All keys with their raw values. Every key must expire. */
async function everythingInRedis(): Promise<string> {
  const client = harness.redis.client()
  const lines: string[] = []
  for (const key of await client.keys('*')) {
    const type = await client.type(key)
    const value = type === 'hash' ? JSON.stringify(await client.hgetall(key)) : await client.get(key)
    lines.push(`${key} ${value}`)
    expect(key).toMatch(
      /^gatehouse:(txn|offer|sess|user-sess|pam-token|pam-groups|limit|known|lock|sso|ping|keys)/,
    )
    expect([key, await client.pttl(key)]).toEqual([key, expect.any(Number)])
    expect(await client.pttl(key)).not.toBe(-1)
  }
  return lines.join('\n')
}
