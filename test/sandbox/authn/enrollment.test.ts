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
const toy = { question: 'favorite_toy', answer: 'a kite' }
const question = { factorType: 'question', provider: 'OKTA', profile: toy }
type Key = ReturnType<typeof createVirtualAuthenticator>
const ORIGIN = 'https://portal.example.test'
const KEY_ACTIVATION = {
  webauthn: () => ({
    pubKeyCredParams: [-7, -257].map((alg) => ({ type: 'public-key', alg })),
    user: { name: 'erin.enroll@example.test' },
  }),
  u2f: () => ({ version: 'U2F_V2', appId: client.url, timeoutSeconds: 20 }),
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
  const link = `_embedded.factor._embedded.activation._links.send.${by === 'email' ? 0 : 1}`
  const own = `${FACTORS}/${activating.at('_embedded.factor.id')}/lifecycle/activate/${by}`
  const href = path === 'of the user' ? String(activating.at(`${link}.href`)) : own
  const send = (more: object) => client.post(href, { stateToken: activating.body.stateToken, ...more })
  if (by === 'sms') expect(outcome(await send({}))).toBe('400 E0000001')
  const answer = await send(body)
  expect(answer.body).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
  const sent = client.sandbox.outbox.latest('erin.enroll@example.test', 'push-activation')?.link
  expect(await client.get(String(sent))).toHaveProperty('status', 200)
  expect(outcome(await client.follow(activating, '_links.next'))).toBe('200 SUCCESS')
})

/** docs/conformance.md F-2.14: a security key is enrolled, and then signs in. */
test.each([
  [
    'webauthn',
    'challenge',
    (key: Key, challenge: string) => key.registerWebauthn(challenge, ORIGIN),
    (key: Key, challenge: string) => key.signWebauthn(challenge, ORIGIN),
  ],
  [
    'u2f',
    'nonce',
    (key: Key, nonce: string) => key.registerU2f(nonce, client.url),
    (key: Key, nonce: string) => key.signU2f(nonce, client.url),
  ],
] as const)(
  'enroll %s: a key registers, and then signs in; nothing else does',
  async (type, nonce, register, sign) => {
    const activating = await enroll({ factorType: type, provider: 'FIDO' })
    expect(activating.at('_embedded.factor._embedded.activation')).toMatchObject(KEY_ACTIVATION[type]())
    const [key, other] = ['a key of erin', 'a key of nobody'].map((seed) =>
      createVirtualAuthenticator({ seed }),
    )
    if (key === undefined || other === undefined) throw new Error('two keys')
    const send = async (to: Answer, body: object) => outcome(await client.follow(to, '_links.next', body))
    const asked = String(activating.at(`_embedded.factor._embedded.activation.${nonce}`))
    expect(await send(activating, register(key, `another-${nonce}`))).toBe('403 E0000068')
    expect(await send(activating, register(key, asked))).toBe('200 SUCCESS')

    const challenge = await client.follow(
      await client.signIn(LOGIN),
      `_embedded.factors.${type}._links.verify`,
    )
    const { status, factorResult } = challenge.body
    expect([status, factorResult]).toEqual(['MFA_CHALLENGE', type === 'u2f' ? undefined : 'CHALLENGE'])
    expect(challenge.at('_embedded.factor.profile.credentialId')).toBe(key.credentialId)
    const right = String(challenge.at(`_embedded.factor._embedded.challenge.${nonce}`))
    const malformed = { clientData: 'e30', signatureData: 'AA' }
    for (const wrong of [sign(key, `another-${nonce}`), sign(other, right), malformed])
      expect(await send(challenge, wrong)).toBe('403 E0000068')
    expect(await send(challenge, sign(key, right))).toBe('200 SUCCESS')
  },
)

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
  const factor = { factorType: 'password', provider: 'OKTA' }
  const profiles = [{}, { password: 'short' }, { password: 'Chosen-Secret-1' }]
  const seen: string[] = []
  for (const profile of profiles) seen.push(outcome(await enroll({ ...factor, profile }, 'pilar.password')))
  expect(seen).toEqual(['400 E0000001', '403 E0000014', '200 SUCCESS'])
  expect(outcome(await client.signIn('pilar.password', profiles[2]))).toBe('200 MFA_REQUIRED')
})

/** The sign-in widget sends `validatePhone: false` after E0000098. */
test.each(['sms', 'call'])(
  'enroll %s with a number that no carrier knows is 400 E0000098, unless validatePhone is false',
  async (factorType) => {
    const number = { phoneNumber: '+1 555 010 0000' }
    const send = (more: object) => enroll({ factorType, provider: 'OKTA', profile: { ...number, ...more } })
    for (const more of [{}, { validatePhone: true }]) expect(outcome(await send(more))).toBe('400 E0000098')
    expect(outcome(await send({ validatePhone: false }))).toBe('200 MFA_ENROLL_ACTIVATE')
  },
)

/** docs/conformance.md: factors must be enabled before enrollment. */
test.each<[string, object]>([
  ['not offered', { factorType: 'push', provider: 'NOBODY' }],
  ['a malformed phone number', { ...sms, profile: { phoneNumber: '12' } }],
  ['an unknown question', { ...question, profile: { ...toy, question: 'x' } }],
  ['an answer that is too short', { ...question, profile: { ...toy, answer: 'abc' } }],
  ['a hardware token without a serial number', { factorType: 'token', provider: 'RSA', passCode: '123456' }],
])('enroll %s is 400 E0000001', async (_what, body) => {
  expect(outcome(await enroll(body))).toBe('400 E0000001')
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
