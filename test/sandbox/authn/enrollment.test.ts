import { expect, test } from '@jest/globals'
import { nextTotpCode } from '../../../src/sandbox/authn/factors/otp.ts'
import { createVirtualAuthenticator } from '../../../src/sandbox/authn/factors/virtual-authenticator.ts'
import { type Answer, outcome, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const FACTORS = '/api/v1/authn/factors'
const LOGIN = 'erin.enroll'

async function enroll(body: object, login = LOGIN, more: Record<string, unknown> = {}, query = '') {
  const start = await client.signIn(login, more)
  return client.post(FACTORS + query, { stateToken: start.body.stateToken, ...body })
}

const phone = { phoneNumber: '+1 555 010 7788' }
const sms = { factorType: 'sms', provider: 'OKTA', profile: phone }
const google = { factorType: 'token:software:totp', provider: 'GOOGLE' }
const push = { factorType: 'push', provider: 'OKTA' }
const question = {
  factorType: 'question',
  provider: 'OKTA',
  profile: { question: 'favorite_toy', answer: 'a kite' },
}
const serial = (factorType: string, provider: string, credentialId: string) => ({
  factorType,
  provider,
  profile: { credentialId },
  passCode: client.sandbox.tokenCode(credentialId),
})

/** docs/conformance.md F-2.5, where one request leads to SUCCESS. */
test.each<[string, () => object]>([
  ['question', () => question],
  ['token of RSA', () => serial('token', 'RSA', 'RSA-7')],
  ['token of Symantec', () => serial('token', 'SYMANTEC', 'VIP-7')],
  ['token:hardware', () => serial('token:hardware', 'YUBICO', 'HW-7')],
])('enroll %s → SUCCESS', async (_type, body) => {
  const done = await enroll(body())
  expect(outcome(done)).toBe('200 SUCCESS')
  expect(outcome(await client.signIn(LOGIN))).toBe('200 MFA_REQUIRED')
})

/** docs/conformance.md F-2.5 and F-2.6: enroll → MFA_ENROLL_ACTIVATE → activate. */
test.each<[string, object, string, object]>([
  ['sms', sms, 'sms', { phoneNumber: '+1 XXX-XXX-7788' }],
  ['call', { ...sms, factorType: 'call' }, 'call', { phoneNumber: '+1 XXX-XXX-7788' }],
  ['email', { factorType: 'email', provider: 'OKTA' }, 'email', { email: 'e...l@example.test' }],
])(
  'enroll %s → MFA_ENROLL_ACTIVATE, activate with the code sent → SUCCESS',
  async (_row, body, name, profile) => {
    const activating = await enroll(body)
    expect(outcome(activating)).toBe('200 MFA_ENROLL_ACTIVATE')
    expect(activating.at('_embedded.factor.profile')).toEqual(profile)
    expect(activating.at('_links.next.name')).toBe('activate')
    expect(activating.at('_links.resend.0.name')).toBe(name)
    const passCode = client.sandbox.outbox.latest('erin.enroll@example.test', 'factor-activation')?.code
    expect(outcome(await client.follow(activating, '_links.next', { passCode: 'x' }))).toBe('403 E0000068')
    expect(outcome(await client.follow(activating, '_links.next', { passCode }))).toBe('200 SUCCESS')
  },
)

test.each([
  ['sms', sms, '429 E0000109'],
  ['call', { ...sms, factorType: 'call' }, '429 E0000133'],
  ['email', { factorType: 'email', provider: 'OKTA' }, '200 MFA_ENROLL_ACTIVATE'],
])('resend while enrolling %s', async (_type, body, atOnce) => {
  const activating = await enroll(body)
  expect(outcome(await client.follow(activating, '_links.resend.0', body))).toBe(atOnce)
  client.advance(30_000)
  expect(outcome(await client.follow(activating, '_links.resend.0', body))).toBe('200 MFA_ENROLL_ACTIVATE')
})

test.each(['GOOGLE', 'OKTA'])('enroll totp of %s: shared secret, QR code, activate', async (provider) => {
  const activating = await enroll({ ...google, provider })
  expect(activating.at('_embedded.factor._embedded.activation')).toEqual({
    timeStep: 30,
    sharedSecret: expect.stringMatching(/^[A-Z2-7]{16}$/),
    encoding: 'base32',
    keyLength: 6,
    _links: { qrcode: { href: expect.stringContaining('/qr/00'), type: 'image/png' } },
  })
  const qr = await client.get(
    String(activating.at('_embedded.factor._embedded.activation._links.qrcode.href')),
  )
  expect(qr.headers.get('content-type')).toBe('image/png')
  const png = Buffer.from(await qr.arrayBuffer())
  expect(png.subarray(1, 4).toString()).toBe('PNG')
  const secret = String(activating.at('_embedded.factor._embedded.activation.sharedSecret'))
  const passCode = nextTotpCode({ secret, nowMs: client.now() })
  expect(outcome(await client.follow(activating, '_links.next', { passCode: '12345' }))).toBe('403 E0000068')
  const done = await client.follow(activating, '_links.next', { passCode })
  expect(outcome(done)).toBe('200 SUCCESS')
})

test('a QR code that is not offered is 404 E0000007', async () => {
  const answer = await client.get('/api/v1/users/00unobody/factors/uftnothing/qr/00nothing')
  expect(answer.status).toBe(404)
})

/** docs/conformance.md F-2.7: polling an activation. */
test('enroll push: WAITING with QR code and send links, poll, SUCCESS when the phone approves', async () => {
  const activating = await enroll(push)
  expect(activating.body).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
  expect(activating.at('_links.next.name')).toBe('poll')
  expect(activating.at('_embedded.factor.profile')).toBeUndefined()
  expect(activating.at('_embedded.factor._embedded.activation._links.send.0.name')).toBe('email')
  expect(await client.follow(activating, '_links.next')).toHaveProperty('body.factorResult', 'WAITING')
  client.sandbox.answerPush(LOGIN, 'approve')
  expect(outcome(await client.follow(activating, '_links.next'))).toBe('200 SUCCESS')
})

test('enroll push: polling the activate path does the same', async () => {
  const activating = await enroll(push)
  client.sandbox.answerPush(LOGIN, 'approve')
  const path = `${FACTORS}/${activating.at('_embedded.factor.id')}/lifecycle/activate`
  const done = await client.post(path, { stateToken: activating.body.stateToken })
  expect(outcome(done)).toBe('200 SUCCESS')
})

test('enroll push: TIMEOUT has an activate link, which starts again', async () => {
  let answer: Answer = await enroll(push)
  for (let poll = 0; poll < 75; poll += 1) answer = await client.follow(answer, '_links.next')
  expect(answer.body).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'TIMEOUT' })
  expect(answer.at('_links.next.name')).toBe('activate')
  const again = await client.follow(answer, '_embedded.factor._embedded.activation._links.activate')
  expect(again.body).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
})

/** docs/conformance.md F-2.8: sending a push activation link, both paths. */
test.each([
  ['email', 'of the user', {}],
  ['sms', 'of the user', { profile: phone }],
  ['email', 'of the transaction', {}],
  ['sms', 'of the transaction', { profile: phone }],
])('activate/%s by the path %s: the link in the message enrolls the phone', async (by, path, body) => {
  const activating = await enroll(push)
  const send = `_embedded.factor._embedded.activation._links.send.${by === 'email' ? 0 : 1}`
  const id = activating.at('_embedded.factor.id')
  const answer =
    path === 'of the user'
      ? await client.follow(activating, send, body)
      : await client.post(`${FACTORS}/${id}/lifecycle/activate/${by}`, {
          stateToken: activating.body.stateToken,
          ...body,
        })
  expect(answer.body).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
  const link = client.sandbox.outbox.latest('erin.enroll@example.test', 'push-activation')?.link
  expect(await client.get(String(link))).toHaveProperty('status', 200)
  expect(outcome(await client.follow(activating, '_links.next'))).toBe('200 SUCCESS')
})

test('activate/sms without a phone number is 400 E0000001', async () => {
  const activating = await enroll(push)
  const answer = await client.follow(activating, '_embedded.factor._embedded.activation._links.send.1')
  expect(outcome(answer)).toBe('400 E0000001')
})

test('enroll webauthn: activation data, a valid attestation, then a sign-in with that key', async () => {
  const activating = await enroll({ factorType: 'webauthn', provider: 'FIDO' })
  expect(activating.at('_embedded.factor._embedded.activation')).toMatchObject({
    pubKeyCredParams: [
      { type: 'public-key', alg: -7 },
      { type: 'public-key', alg: -257 },
    ],
    user: { name: 'erin.enroll@example.test' },
  })
  const key = createVirtualAuthenticator({ seed: 'a key of erin' })
  const origin = 'https://portal.example.test'
  const challenge = String(activating.at('_embedded.factor._embedded.activation.challenge'))
  const wrong = key.registerWebauthn('another-challenge', origin)
  expect(outcome(await client.follow(activating, '_links.next', wrong))).toBe('403 E0000068')
  const right = key.registerWebauthn(challenge, origin)
  expect(outcome(await client.follow(activating, '_links.next', right))).toBe('200 SUCCESS')

  const required = await client.signIn(LOGIN)
  const asked = await client.follow(required, '_embedded.factors.webauthn._links.verify')
  expect(asked.at('_embedded.factor.profile.credentialId')).toBe(key.credentialId)
  const nonce = String(asked.at('_embedded.factor._embedded.challenge.challenge'))
  const signed = key.signWebauthn(nonce, origin)
  expect(outcome(await client.follow(asked, '_links.next', signed))).toBe('200 SUCCESS')
})

test('enroll u2f: a registration message, then a sign-in with that key', async () => {
  const activating = await enroll({ factorType: 'u2f', provider: 'FIDO' })
  const activation = activating.at('_embedded.factor._embedded.activation')
  expect(activation).toMatchObject({ version: 'U2F_V2', appId: client.url, timeoutSeconds: 20 })
  const key = createVirtualAuthenticator({ seed: 'an old key of erin' })
  const nonce = String(activating.at('_embedded.factor._embedded.activation.nonce'))
  const wrong = key.registerU2f('another-nonce', client.url)
  expect(outcome(await client.follow(activating, '_links.next', wrong))).toBe('403 E0000068')
  const right = key.registerU2f(nonce, client.url)
  expect(outcome(await client.follow(activating, '_links.next', right))).toBe('200 SUCCESS')

  const asked = await client.follow(await client.signIn(LOGIN), '_embedded.factors.u2f._links.verify')
  const signed = key.signU2f(String(asked.at('_embedded.factor._embedded.challenge.nonce')), client.url)
  expect(outcome(await client.follow(asked, '_links.next', signed))).toBe('200 SUCCESS')
})

/** docs/conformance.md A-15: GET …/factors/questions. */
test('the questions link lists the questions that can be enrolled', async () => {
  const start = await client.signIn(LOGIN)
  const questions = await client.get(String(start.at('_embedded.factors.question._links.questions.href')))
  expect(await questions.json()).toContainEqual({
    question: 'favorite_toy',
    questionText: 'What is your favourite toy?',
  })
})

/** docs/conformance.md A-3: multiOptionalFactorEnroll. */
test('multiOptionalFactorEnroll: MFA_ENROLL again while optional factors remain; skip ends it', async () => {
  const again = await enroll(question, LOGIN, { options: { multiOptionalFactorEnroll: true } })
  expect(outcome(again)).toBe('200 MFA_ENROLL')
  expect(again.at('_embedded.factors.question.status')).toBe('ACTIVE')
  expect(again.at('_embedded.factors.push.status')).toBe('NOT_SETUP')
  expect(outcome(await client.follow(again, '_links.skip'))).toBe('200 SUCCESS')
})

test('without multiOptionalFactorEnroll, one factor is enough', async () => {
  expect(outcome(await enroll(question))).toBe('200 SUCCESS')
})

test('a required factor must be enrolled even if others are; it cannot be skipped', async () => {
  const more = await enroll(question, 'reggie.required')
  expect(outcome(more)).toBe('200 MFA_ENROLL')
  expect(more.at('_embedded.factors.0.enrollment')).toBe('REQUIRED')
  expect(more.at('_links.skip')).toBeUndefined()
  const skipped = await client.post('/api/v1/authn/skip', { stateToken: more.body.stateToken })
  expect(outcome(skipped)).toBe('403 E0000079')
})

test('a factor is required and none can be enrolled: 401 E0000004', async () => {
  expect(outcome(await client.signIn('felix.nofactor'))).toBe('401 E0000004')
})

test('MFA_ENROLL_ACTIVATE: previous returns to MFA_ENROLL, and nothing is enrolled', async () => {
  const back = await client.follow(await enroll(sms), '_links.prev')
  expect(outcome(back)).toBe('200 MFA_ENROLL')
  expect(back.at('_embedded.factors.sms.status')).toBe('NOT_SETUP')
})

/** docs/conformance.md F-2.21: updatePhone is a query parameter. */
test.each([
  ['another phone number without updatePhone', '', '400 E0000001'],
  ['another phone number with updatePhone=true', '?updatePhone=true', '200 MFA_ENROLL_ACTIVATE'],
])('%s', async (_row, query, leadsTo) => {
  client.sandbox.user(LOGIN).factors.length = 0
  const first = await enroll(sms, LOGIN, { options: { multiOptionalFactorEnroll: true } })
  const passCode = client.sandbox.outbox.latest('erin.enroll@example.test')?.code
  const more = await client.follow(first, '_links.next', { passCode })
  const call = { factorType: 'call', provider: 'OKTA', profile: { phoneNumber: '+15550109999' } }
  const answer = await client.post(FACTORS + query, { stateToken: more.body.stateToken, ...call })
  expect(outcome(answer)).toBe(leadsTo)
})

/** docs/conformance.md F-1.18: the factor type password. */
test('enroll password: sets the password if it meets the policy', async () => {
  const pilar = 'pilar.password'
  const password = (text: string) => ({
    factorType: 'password',
    provider: 'OKTA',
    profile: { password: text },
  })
  expect(outcome(await enroll({ ...password(''), profile: {} }, pilar))).toBe('400 E0000001')
  expect(outcome(await enroll(password('short'), pilar))).toBe('403 E0000014')
  expect(outcome(await enroll(password('Chosen-Secret-1'), pilar))).toBe('200 SUCCESS')
  const again = await client.signIn(pilar, { password: 'Chosen-Secret-1' })
  expect(outcome(again)).toBe('200 MFA_REQUIRED')
})

/** The sign-in widget sends `validatePhone: false` after E0000098. */
test.each(['sms', 'call'])(
  'enroll %s with a number that no carrier knows is 400 E0000098, unless validatePhone is false',
  async (factorType) => {
    const unknown = { factorType, provider: 'OKTA', profile: { phoneNumber: '+1 555 010 0000' } }
    expect(outcome(await enroll(unknown))).toBe('400 E0000098')
    const insisting = { ...unknown, profile: { ...unknown.profile, validatePhone: true } }
    expect(outcome(await enroll(insisting))).toBe('400 E0000098')
    const unchecked = { ...unknown, profile: { ...unknown.profile, validatePhone: false } }
    expect(outcome(await enroll(unchecked))).toBe('200 MFA_ENROLL_ACTIVATE')
  },
)

/** docs/conformance.md: factors must be enabled before enrollment. */
test.each<[string, object]>([
  ['not offered', { factorType: 'push', provider: 'NOBODY' }],
  ['a malformed phone number', { ...sms, profile: { phoneNumber: '12' } }],
  ['an unknown question', { ...question, profile: { question: 'x', answer: 'long enough' } }],
  ['an answer that is too short', { ...question, profile: { question: 'favorite_toy', answer: 'abc' } }],
  ['a hardware token without a serial number', { factorType: 'token', provider: 'RSA', passCode: '123456' }],
])('enroll %s is 400 E0000001', async (_what, body) => {
  expect(outcome(await enroll(body))).toBe('400 E0000001')
})

test('a hardware token with a wrong code is 403 E0000068', async () => {
  expect(outcome(await enroll({ ...serial('token', 'RSA', 'RSA-7'), passCode: '12345' }))).toBe(
    '403 E0000068',
  )
})

test('a disabled factor is not offered, and enrolling it is 400 E0000001', async () => {
  const off = await startSandbox((config) => {
    config.enabledFactors = config.enabledFactors.filter((one) => one !== 'push:OKTA')
  })
  try {
    const start = await off.signIn(LOGIN)
    expect(start.at('_embedded.factors.push')).toBeUndefined()
    const { stateToken } = start.body
    expect(outcome(await off.post(FACTORS, { stateToken, ...push }))).toBe('400 E0000001')
  } finally {
    await off.close()
  }
})
