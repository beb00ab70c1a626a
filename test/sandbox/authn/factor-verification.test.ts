import { expect, test } from '@jest/globals'
import { outcome, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const link = (type: string) => `_embedded.factors.${type}._links.verify`

const NO_MATCH = { question: 'answer', password: 'password' } as const
const CODE_CAUSE = "Your passcode doesn't match our records. Please try again."
const ANSWER_CAUSE = "Your answer doesn't match our records. Please try again."

/** docs/conformance.md F-2.10 and F-2.11: one request with the answer leads to SUCCESS. */
test.each([
  ['verify question', 'quentin.query', 'question', ANSWER_CAUSE, ' Lighthouse '],
  ['verify password', 'pablo.password', 'password', 'The password is incorrect.', 'Demo-Password-1'],
  ['verify totp (Google)', 'tomas.berg', 'token:software:totp', CODE_CAUSE, undefined],
  ['verify totp (Okta Verify)', 'otto.token', 'token:software:totp', CODE_CAUSE, undefined],
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

test('a code of several minutes ago is TIME_WINDOW_EXCEEDED', async () => {
  const passCode = client.sandbox.totpCode('tomas.berg')
  client.advance(3 * 60_000)
  const late = client.follow(await client.signIn('tomas.berg'), link('token:software:totp'), { passCode })
  expect((await late).body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'TIME_WINDOW_EXCEEDED' })
})

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
