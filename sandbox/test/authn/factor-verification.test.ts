import { expect, test } from '@jest/globals'
import { outcome, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const link = (type: string) => `_embedded.factors.${type}._links.verify`

const NO_MATCH = { question: 'answer', password: 'password' } as const
const CODE_CAUSE = "Your passcode doesn't match our records. Please try again."
const ANSWER_CAUSE = "Your answer doesn't match our records. Please try again."

/** docs/conformance.md F-2.10 and F-2.11: one request with the answer leads to SUCCESS. */
// sandbox shows, F-1.22
test.each([
  // sandbox shows: F-2.10
  ['verify question', 'quentin.query', 'question', ANSWER_CAUSE, ' Lighthouse '],
  ['verify password', 'pablo.password', 'password', 'The password is incorrect.', 'Demo-Password-1'],
  // sandbox shows: F-2.11
  ['verify totp (Google)', 'tomas.berg', 'token:software:totp', CODE_CAUSE, undefined],
  ['verify totp (Okta Verify)', 'otto.token', 'token:software:totp', CODE_CAUSE, undefined],
  // sandbox shows: F-2.11
  ['verify hardware token', 'yuki.hardware', 'token:hardware', CODE_CAUSE, undefined],
  ['verify HOTP token', 'hanna.hotp', 'token:hotp', CODE_CAUSE, undefined],
  ['verify enterprise token', 'rosa.enterprise', 'token', CODE_CAUSE, undefined],
])('%s: a wrong answer is 403 E0000068, and the correct one leads to SUCCESS', async (...row) => {
  const [, login, type, cause, answer] = row
  const member = NO_MATCH[type as keyof typeof NO_MATCH] ?? 'passCode'
  const required = await client.signIn(login)
  const refused = await client.follow(required, link(type), { [member]: '12345' })
  expect(outcome(refused)).toBe('403 E0000068')
  const error = { errorSummary: 'Invalid Passcode/Answer', errorCauses: [{ errorSummary: cause }] }
  expect(refused.body).toMatchObject(error)
  const correct = { [member]: answer ?? client.sandbox.totpCode(login) }
  const done = await client.follow(required, link(type), correct)
  expect(outcome(done)).toBe('200 SUCCESS')
  expect(done.body).toHaveProperty('sessionToken')
  expect(done.body).not.toHaveProperty('stateToken')
})

/**
 * S11: the prompts are those of the widget's RSA_ERROR_change_pin.js and its mock of the backend.
 */
test('an RSA token in new-PIN mode: its prompts are 409 E0000113, and the PIN precedes each code', async () => {
  const login = 'rufus.newpin'
  const required = await client.signIn(login)
  const enter = (passCode: string) => client.follow(required, link('token'), { passCode })
  const prompt = (errorSummary: string) => ({
    status: 409,
    body: { errorCode: 'E0000113', errorSummary, errorLink: 'E0000113', errorCauses: [] },
  })
  expect(outcome(await enter('12345'))).toBe('403 E0000068')
  expect(await enter(client.sandbox.totpCode(login))).toMatchObject(
    prompt('Enter a new PIN having from 4 to 8 digits:'),
  )
  expect(await enter('abc')).toMatchObject(prompt('Enter a new PIN having from 4 to 8 digits:'))
  expect(await enter('24680')).toMatchObject(
    prompt('Pin accepted, Wait for token to change, then enter new passcode'),
  )
  // without the PIN
  expect(outcome(await enter(client.sandbox.totpCode(login)))).toBe('403 E0000068')
  expect(outcome(await enter(`24680${client.sandbox.totpCode(login)}`))).toBe('200 SUCCESS')
})

test('an RSA token that wants its next code, too: 403 E0000106', async () => {
  const login = 'nadia.nextcode'
  const required = await client.signIn(login)
  const enter = (passCode: string) => client.follow(required, link('token'), { passCode })
  const first = client.sandbox.totpCode(login)
  const refused = await enter(first)
  expect(outcome(refused)).toBe('403 E0000106')
  expect(refused.body.errorSummary).toBe('Wait for token to change, then enter the new tokencode.')
  expect((await enter(first)).body.factorResult).toBe('PASSCODE_REPLAYED')
  expect(outcome(await enter(client.sandbox.totpCode(login)))).toBe('200 SUCCESS')
})

test('an RSA token in new-PIN mode can be set up: the prompts answer the enrollment', async () => {
  const start = await client.signIn('erin.enroll')
  const enroll = (passCode: string) =>
    client.follow(start, '_embedded.factors.7._links.enroll', {
      factorType: 'token',
      provider: 'RSA',
      profile: { credentialId: 'NEWPIN-1' },
      passCode,
    })
  expect(start.at('_embedded.factors.7.provider')).toBe('RSA')
  expect(outcome(await enroll(client.sandbox.tokenCode('NEWPIN-1')))).toBe('409 E0000113')
  expect(outcome(await enroll('1234'))).toBe('409 E0000113')
  client.advance(30_000)
  expect(outcome(await enroll(`1234${client.sandbox.tokenCode('NEWPIN-1')}`))).toBe('200 SUCCESS')
})

// sandbox shows: F-1.16
test.each<['reject' | 'cancel' | 'error', string]>([
  ['reject', 'REJECTED'],
  ['cancel', 'CANCELLED'],
  ['error', 'ERROR'],
])('verify push: the answer %s is %s, and the next verify sends a new push', async (answer, result) => {
  const waiting = await client.follow(await client.signIn('priya.nair'), link('push'))
  client.sandbox.answerPush('priya.nair', answer)
  const over = await client.follow(waiting, '_links.next')
  expect(over.body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: result })
  expect(over.at('_links.next.name')).toBe('verify')
  expect(await client.follow(over, '_links.next')).toHaveProperty('body.factorResult', 'WAITING')
})

// shows: V6.5.5
// sandbox shows: F-1.16
test('a code of several minutes ago is TIME_WINDOW_EXCEEDED', async () => {
  const passCode = client.sandbox.totpCode('tomas.berg')
  client.advance(3 * 60_000)
  const late = client.follow(await client.signIn('tomas.berg'), link('token:software:totp'), { passCode })
  expect((await late).body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'TIME_WINDOW_EXCEEDED' })
})

/** F5: as seen in gimme-aws-creds (PR 437), which takes Okta's session from there. */
test.each([
  ['approve', 'Signed in at Okta', '401 E0000011'],
  ['reject', 'Sign in at Okta', '200 MFA_CHALLENGE'],
])('Duo, as it is today: after %s, the browser is at Okta', async (answer, title, state) => {
  const required = await client.signIn('dennis.duo')
  const challenged = await client.follow(required, '_embedded.factors.0._links.verify')
  expect(challenged.body).toMatchObject({
    status: 'MFA_CHALLENGE',
    _embedded: { factor: { factorType: 'claims_provider', provider: 'CUSTOM', vendorName: 'Duo' } },
    _links: { next: { name: 'redirect', hints: { allow: ['GET'] } } },
  })
  const atDuo = (await client.get(String(challenged.at('_links.next.href')))).headers.get('location')
  const body = new URLSearchParams({ answer })
  const page = await fetch(client.url + atDuo, { method: 'POST', body, redirect: 'manual' })
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(`<h1>${title}</h1>`)])
  const cookies = page.headers.getSetCookie().map((cookie) => cookie.split('=')[0])
  expect(cookies).toEqual(answer === 'approve' ? ['sid'] : [])
  const { stateToken } = challenged.body
  expect(outcome(await client.post('/api/v1/authn', { stateToken }))).toBe(state)
})

// sandbox shows
test('a disabled factor is neither listed nor verified', async () => {
  const off = await startSandbox((config) => {
    config.enabledFactors = config.enabledFactors.filter((one) => one !== 'push:OKTA')
  })
  try {
    const required = await off.signIn('priya.nair')
    expect(required.at('_embedded.factors.push')).toBeUndefined()
    const id = off.sandbox.user('priya.nair').factors.find((one) => one.factorType === 'push')?.id
    const { stateToken } = required.body
    expect(outcome(await off.post(`/api/v1/authn/factors/${id}/verify`, { stateToken }))).toBe('404 E0000007')
  } finally {
    await off.close()
  }
})
