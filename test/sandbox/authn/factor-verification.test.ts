import { expect, test } from '@jest/globals'
import { createVirtualAuthenticator } from '../../../src/sandbox/authn/factors/virtual-authenticator.ts'
import { type Answer, outcome, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const ORIGIN = 'https://portal.example.test'
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

/** docs/conformance.md F-2.12: no passCode, or an empty one (the sign-in widget's) = send; passCode = check. */
test.each<[type: 'sms' | 'call' | 'email', login: string, shown: object]>([
  ['sms', 'sana.sms', { phoneNumber: '+1 XXX-XXX-0003' }],
  ['call', 'carl.call', { phoneNumber: '+1 XXX-XXX-0004' }],
  ['email', 'emma.mail', { email: 'e...l@example.test' }],
])('verify %s: sends a code, MFA_CHALLENGE, then SUCCESS', async (type, login, shown) => {
  const required = await client.signIn(login)
  const empty = await client.follow(required, link(type), { passCode: '' })
  const challenge = await client.follow(empty, '_links.prev').then((back) => client.follow(back, link(type)))
  expect([outcome(empty), outcome(challenge)]).toEqual(['200 MFA_CHALLENGE', '200 MFA_CHALLENGE'])
  expect(challenge.body.stateToken).toBe(required.body.stateToken)
  const path = `/factors/${challenge.at('_embedded.factor.id')}/verify`
  const post = (to: string) => ({ href: `${client.url}/api/v1/authn${to}`, hints: { allow: ['POST'] } })
  expect(challenge.at('_embedded.factor.profile')).toEqual(shown)
  expect(challenge.body._links).toEqual({
    next: { name: 'verify', ...post(path) },
    cancel: post('/cancel'),
    prev: post('/previous'),
    resend: [{ name: type, ...post(`${path}/resend`) }],
  })
  const { code } = sent(login)
  expect(outcome(await client.follow(challenge, '_links.next', { passCode: '' }))).toBe('403 E0000068')
  expect(outcome(await client.follow(challenge, '_links.next', { passCode: code }))).toBe('200 SUCCESS')
})

/** docs/conformance.md F-1.25: a message was sent within the last 30 seconds. */
test.each<[string, string, string, string]>([
  ['resend while verifying: sms within 30 s', 'sms', 'sana.sms', '429 E0000109'],
  ['resend while verifying: call within 30 s', 'call', 'carl.call', '429 E0000133'],
  ['resend while verifying: email', 'email', 'emma.mail', '200 MFA_CHALLENGE'],
])('%s', async (_row, type, login, leadsTo) => {
  const challenge = await client.follow(await client.signIn(login), link(type))
  const first = sent(login).code
  expect(outcome(await client.follow(challenge, '_links.resend.0'))).toBe(leadsTo)
  client.advance(30_000)
  const again = await client.follow(challenge, '_links.resend.0')
  expect(outcome(again)).toBe('200 MFA_CHALLENGE')
  const { code } = sent(login)
  if (code !== first)
    expect(outcome(await client.follow(challenge, '_links.next', { passCode: first }))).toBe('403 E0000068')
  expect(outcome(await client.follow(challenge, '_links.next', { passCode: code }))).toBe('200 SUCCESS')
})

/** docs/conformance.md F-2.13: polling repeats the same call. */
test('verify push: WAITING until the user approves, then SUCCESS', async () => {
  const required = await client.signIn('priya.nair')
  const waiting = await client.follow(required, link('push'))
  expect(waiting.body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'WAITING' })
  expect(waiting.at('_links.next.name')).toBe('poll')
  expect(waiting.at('_links.resend.0.name')).toBe('push')
  expect(waiting.at('_embedded.factor.profile')).toEqual({})
  expect(await client.follow(waiting, '_links.next')).toHaveProperty('body.factorResult', 'WAITING')
  client.sandbox.answerPush('priya.nair', 'approve')
  expect(outcome(await client.follow(waiting, '_links.next'))).toBe('200 SUCCESS')
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

test.each<[string, string, string[]]>([
  ['approved automatically', 'penny.patient', ['WAITING', 'WAITING', 'SUCCESS']],
  ['rejected automatically', 'rita.reject', ['WAITING', 'REJECTED', 'WAITING']],
  ['TIMEOUT', 'theo.timeout', ['WAITING', 'WAITING', 'TIMEOUT']],
])('verify push: %s, poll by poll', async (_row, login, results) => {
  const waiting = await client.follow(await client.signIn(login), link('push'))
  for (const result of results) {
    const { body } = await client.follow(waiting, '_links.next')
    expect(body.factorResult ?? body.status).toBe(result)
  }
})

test('verify push: resend sends a new push', async () => {
  const waiting = await client.follow(await client.signIn('theo.timeout'), link('push'))
  for (let poll = 0; poll < 3; poll += 1) await client.follow(waiting, '_links.next')
  const again = await client.follow(waiting, '_links.resend.0')
  expect(again.body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'WAITING' })
})

test.each([
  ['set when the push is approved', '?autoPush=true', 'approve', true],
  ['overwritten by autoPush=false', '?autoPush=false', 'approve', false],
  ['not set without the parameter', '', 'approve', undefined],
  ['not set after a rejection', '?autoPush=true', 'reject', undefined],
] as const)('autoPush is kept in a cookie: %s', async (_case, query, answer, isEnabled) => {
  const login = 'priya.nair'
  const waiting = await client.follow(await client.signIn(login), link('push'), {}, query)
  client.sandbox.answerPush(login, answer)
  const { headers } = await client.follow(waiting, '_links.next')
  const cookie = headers.get('set-cookie')?.split(';')[0]
  expect(cookie !== undefined).toBe(isEnabled !== undefined)
  const authorization = `SSWS ${client.sandbox.apiToken}`
  const later = await client.signIn(login, {}, { authorization, cookie: cookie ?? '' })
  expect(later.at('_embedded.policy.factorsPolicyInfo')).toEqual({
    [String(later.at('_embedded.factors.push.id'))]: { autoPushEnabled: isEnabled ?? false },
  })
})

const BY_TYPE = '_embedded.factorTypes.webauthn._links.next'
/** The ids of kim.twokeys' keys, in the order of her factors. */
const credentialIds = () =>
  client.sandbox.user('kim.twokeys').factors.map(({ profile }) => String(profile?.credentialId))

test('verify webauthn by type: one challenge for all keys, and any key may sign', async () => {
  const keys = credentialIds().map((id) => client.sandbox.authenticator('kim.twokeys', id))
  const unknownKey = createVirtualAuthenticator({ seed: 'a key of nobody' })
  expect(new Set(credentialIds()).size).toBe(2)
  for (const [key, leadsTo] of [
    [unknownKey, '403 E0000068'],
    ...keys.map((key) => [key, '200 SUCCESS'] as const),
  ] as const) {
    const asked = await client.follow(await client.signIn('kim.twokeys'), BY_TYPE)
    expect(asked.body).toMatchObject({
      status: 'MFA_CHALLENGE',
      factorResult: 'CHALLENGE',
      challengeType: 'FACTOR_TYPE',
      factorType: 'webauthn',
      _links: { next: { name: 'verify', href: `${client.url}/api/v1/authn/factors/webauthn/verify` } },
    })
    expect(asked.at('_embedded.factors')).toMatchObject(
      credentialIds().map((credentialId) => ({ profile: { credentialId } })),
    )
    const nonce = String(asked.at('_embedded.challenge.challenge'))
    const signed = key.signWebauthn(nonce, ORIGIN)
    expect(outcome(await client.follow(asked, '_links.next', signed))).toBe(leadsTo)
  }
})

/** docs/conformance.md F-1.16: factorResult PASSCODE_REPLAYED and TIME_WINDOW_EXCEEDED, error code 69. */
test('a used code is PASSCODE_REPLAYED', async () => {
  const passCode = client.sandbox.totpCode('tomas.berg')
  await client.follow(await client.signIn('tomas.berg'), link('token:software:totp'), { passCode })
  const again = await client.signIn('tomas.berg')
  const replayed = await client.follow(again, link('token:software:totp'), { passCode })
  expect(replayed.body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'PASSCODE_REPLAYED' })
  const fresh = { passCode: client.sandbox.totpCode('tomas.berg') }
  expect(outcome(await client.follow(replayed, '_links.next', fresh))).toBe('200 SUCCESS')
})

test('a code of several minutes ago is TIME_WINDOW_EXCEEDED', async () => {
  const passCode = client.sandbox.totpCode('tomas.berg')
  client.advance(3 * 60_000)
  const late = client.follow(await client.signIn('tomas.berg'), link('token:software:totp'), { passCode })
  expect((await late).body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'TIME_WINDOW_EXCEEDED' })
})

test('after 5 wrong codes the factor is locked: 403 E0000069, even for the correct code', async () => {
  const required = await client.signIn('tomas.berg')
  const verify = (passCode: string) => client.follow(required, link('token:software:totp'), { passCode })
  for (let attempt = 0; attempt < 5; attempt += 1) expect(outcome(await verify('000'))).toBe('403 E0000068')
  expect(outcome(await verify(client.sandbox.totpCode('tomas.berg')))).toBe('403 E0000069')
})

/** docs/conformance.md: factors must be enabled and a sign-on policy assigned. */
test('without a sign-on policy, an enrolled factor is not required', async () => {
  expect(outcome(await client.signIn('nora.nopolicy'))).toBe('200 SUCCESS')
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

test('MFA_CHALLENGE: previous returns to MFA_REQUIRED, and another factor can be verified', async () => {
  const challenge = await client.follow(await client.signIn('max.many'), link('sms'))
  const back: Answer = await client.follow(challenge, '_links.prev')
  expect(outcome(back)).toBe('200 MFA_REQUIRED')
  const done = await client.follow(back, link('question'), { answer: 'lighthouse' })
  expect(outcome(done)).toBe('200 SUCCESS')
})

test('a factor before an expired password: SUCCESS only after the password is changed', async () => {
  const required = await client.signIn('ines.both')
  const passCode = client.sandbox.totpCode('ines.both')
  const expired = await client.follow(required, link('token:software:totp'), { passCode })
  expect(outcome(expired)).toBe('200 PASSWORD_EXPIRED')
  const passwords = { oldPassword: 'Demo-Password-1', newPassword: 'Brand-New-Word-2' }
  expect(outcome(await client.follow(expired, '_links.next', passwords))).toBe('200 SUCCESS')
})

function sent(login: string): { code: string } {
  const code = client.sandbox.outbox.latest(client.sandbox.user(login).login)?.code
  if (code === undefined) throw new Error(`no code was sent to ${login}`)
  return { code }
}
