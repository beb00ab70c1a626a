import { describe, expect, test } from '@jest/globals'
import { HOTP, Secret } from 'otpauth'
import { createVirtualAuthenticator } from '../../../src/sandbox/authn/factors/virtual-authenticator.ts'
import { type Answer, outcome, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const ORIGIN = 'https://portal.example.test'
const link = (type: string) => `_embedded.factors.${type}._links.verify`

/** docs/conformance.md F-2.10 and F-2.11: one request with the answer leads to SUCCESS. */
const ONE_REQUEST: [
  row: string,
  login: string,
  type: string,
  correct: () => object,
  wrong: object,
  cause: string,
][] = [
  [
    'verify question',
    'quentin.query',
    'question',
    () => ({ answer: ' Lighthouse ' }),
    { answer: 'tower' },
    "Your answer doesn't match our records. Please try again.",
  ],
  [
    'verify password',
    'pablo.password',
    'password',
    () => ({ password: 'Demo-Password-1' }),
    { password: 'demo-password-1' },
    'The password is incorrect.',
  ],
  [
    'verify totp (Google)',
    'tomas.berg',
    'token:software:totp',
    nextFactorCode('tomas.berg'),
    invalidPasscode(),
    codeCause(),
  ],
  [
    'verify totp (Okta Verify)',
    'otto.token',
    'token:software:totp',
    nextFactorCode('otto.token'),
    invalidPasscode(),
    codeCause(),
  ],
  [
    'verify hardware token',
    'yuki.hardware',
    'token:hardware',
    nextFactorCode('yuki.hardware'),
    invalidPasscode(),
    codeCause(),
  ],
  [
    'verify HOTP token',
    'hanna.hotp',
    'token:hotp',
    nextFactorCode('hanna.hotp'),
    invalidPasscode(),
    codeCause(),
  ],
  [
    'verify enterprise token',
    'rosa.enterprise',
    'token',
    nextFactorCode('rosa.enterprise'),
    invalidPasscode(),
    codeCause(),
  ],
]

test.each(ONE_REQUEST)('%s: a correct answer leads to SUCCESS', async (_row, login, type, correct) => {
  const required = await client.signIn(login)
  const done = await client.follow(required, link(type), correct())
  expect(outcome(done)).toBe('200 SUCCESS')
  expect(done.body).toHaveProperty('sessionToken')
  expect(done.body).not.toHaveProperty('stateToken')
})

test.each(ONE_REQUEST)('%s: a wrong answer is 403 E0000068 and can be tried again', async (...row) => {
  const [, login, type, correct, wrong, cause] = row
  const required = await client.signIn(login)
  const refused = await client.follow(required, link(type), wrong)
  expect(outcome(refused)).toBe('403 E0000068')
  expect(refused.body).toMatchObject({
    errorSummary: 'Invalid Passcode/Answer',
    errorCauses: [{ errorSummary: cause }],
  })
  expect(outcome(await client.follow(required, link(type), correct()))).toBe('200 SUCCESS')
})

/** docs/conformance.md F-2.12: no passCode = send; passCode = check. */
const SENT: [type: 'sms' | 'call' | 'email', login: string, shown: object][] = [
  ['sms', 'sana.sms', { phoneNumber: '+1 XXX-XXX-0003' }],
  ['call', 'carl.call', { phoneNumber: '+1 XXX-XXX-0004' }],
  ['email', 'emma.mail', { email: 'e...l@example.test' }],
]

test.each(SENT)(
  'verify %s: an empty passCode requests a code, as the sign-in widget does',
  async (type, login) => {
    const required = await client.signIn(login)
    const challenge = await client.follow(required, link(type), { passCode: '' })
    expect(outcome(challenge)).toBe('200 MFA_CHALLENGE')
    expect(outcome(await client.follow(challenge, '_links.next', { passCode: sent(login).code }))).toBe(
      '200 SUCCESS',
    )
  },
)

test.each(SENT)('verify %s: sends a code, MFA_CHALLENGE, then SUCCESS', async (type, login, shown) => {
  const required = await client.signIn(login)
  const challenge = await client.follow(required, link(type))
  expect(outcome(challenge)).toBe('200 MFA_CHALLENGE')
  expect(challenge.body.stateToken).toBe(required.body.stateToken)
  const id = challenge.at('_embedded.factor.id')
  expect(challenge.at('_embedded.factor.profile')).toEqual(shown)
  expect(challenge.body._links).toEqual({
    next: {
      name: 'verify',
      href: `${client.url}/api/v1/authn/factors/${id}/verify`,
      hints: { allow: ['POST'] },
    },
    cancel: { href: `${client.url}/api/v1/authn/cancel`, hints: { allow: ['POST'] } },
    prev: { href: `${client.url}/api/v1/authn/previous`, hints: { allow: ['POST'] } },
    resend: [
      {
        name: type,
        href: `${client.url}/api/v1/authn/factors/${id}/verify/resend`,
        hints: { allow: ['POST'] },
      },
    ],
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
  const seen: unknown[] = []
  for (const _ of results) {
    const { body } = await client.follow(waiting, '_links.next')
    seen.push(body.factorResult ?? body.status)
  }
  expect(seen).toEqual(results)
})

test('verify push: resend sends a new push', async () => {
  const waiting = await client.follow(await client.signIn('theo.timeout'), link('push'))
  for (let poll = 0; poll < 3; poll += 1) await client.follow(waiting, '_links.next')
  const again = await client.follow(waiting, '_links.resend.0')
  expect(again.body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'WAITING' })
})

test('verify push with number matching: the response has the correct answer while WAITING', async () => {
  const waiting = await client.follow(await client.signIn('nina.number'), link('push'))
  expect(waiting.at('_embedded.factor._embedded.challenge.correctAnswer')).toEqual(expect.any(Number))
})

describe('autoPush is kept in a cookie', () => {
  const login = 'priya.nair'
  const signIn = async (cookie?: string) => {
    const authorization = `SSWS ${client.sandbox.apiToken}`
    return client.signIn(login, {}, cookie === undefined ? { authorization } : { authorization, cookie })
  }
  const isEnabled = async (cookie?: string) => {
    const answer = await signIn(cookie)
    const info = answer.at('_embedded.policy.factorsPolicyInfo')
    const id = String(answer.at('_embedded.factors.push.id'))
    expect(info).toEqual({ [id]: { autoPushEnabled: expect.any(Boolean) } })
    return answer.at(`_embedded.policy.factorsPolicyInfo.${id}.autoPushEnabled`)
  }
  /** Verifies the push with this query; returns the cookie of the response, without its attributes. */
  const verify = async (query: string, answer: 'approve' | 'reject' = 'approve') => {
    const waiting = await client.follow(await signIn(), link('push'), {}, query)
    client.sandbox.answerPush(login, answer)
    const { headers } = await client.follow(waiting, '_links.next')
    return headers.get('set-cookie')?.split(';')[0]
  }

  test('set when the push is approved: later responses to a client that returns it have autoPushEnabled', async () => {
    const cookie = await verify('?autoPush=true')
    expect([await isEnabled(cookie), await isEnabled()]).toEqual([true, false])
  })

  test('overwritten by autoPush=false', async () => {
    expect(await isEnabled(await verify('?autoPush=false'))).toBe(false)
  })

  test.each([
    ['without the parameter', '', 'approve'],
    ['after a rejection', '?autoPush=true', 'reject'],
  ] as const)('not set %s', async (_case, query, answer) => {
    expect(await verify(query, answer)).toBeUndefined()
  })
})

/** docs/conformance.md F-2.14: webauthn and u2f. */
test('verify webauthn: MFA_CHALLENGE with a challenge, then SUCCESS with a valid signature', async () => {
  const challenge = await client.follow(await client.signIn('wanda.key'), link('webauthn'))
  expect(challenge.body).toMatchObject({
    status: 'MFA_CHALLENGE',
    factorResult: 'CHALLENGE',
    challengeType: 'FACTOR',
  })
  const nonce = String(challenge.at('_embedded.factor._embedded.challenge.challenge'))
  const key = client.sandbox.authenticator('wanda.key')
  const stale = key.signWebauthn('another-challenge', ORIGIN)
  expect(outcome(await client.follow(challenge, '_links.next', stale))).toBe('403 E0000068')
  const foreign = client.sandbox.authenticator('uwe.key').signWebauthn(nonce, ORIGIN)
  expect(outcome(await client.follow(challenge, '_links.next', foreign))).toBe('403 E0000068')
  const signed = key.signWebauthn(nonce, ORIGIN)
  expect(outcome(await client.follow(challenge, '_links.next', signed))).toBe('200 SUCCESS')
})

/** docs/conformance.md F-1.11: `_embedded.factorTypes[]._links.next`; recorded responses have it for users with several keys. */
test('for a user with two security keys, factorTypes links to verification by type', async () => {
  const required = await client.signIn('kim.twokeys')
  const href = `${client.url}/api/v1/authn/factors/webauthn/verify`
  expect(required.at('_embedded.factorTypes')).toEqual([
    { factorType: 'webauthn', _links: { next: { name: 'verify', href, hints: { allow: ['POST'] } } } },
  ])
  expect(required.at('_embedded.factors')).toMatchObject([
    { factorType: 'webauthn', profile: { authenticatorName: 'Desk key' } },
    { factorType: 'webauthn', profile: { authenticatorName: 'Travel key' } },
  ])
  for (const login of ['wanda.key', 'max.many'])
    expect((await client.signIn(login)).at('_embedded.factorTypes')).toBeUndefined()
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

test('verify webauthn by id: only that key may sign', async () => {
  const [, second = ''] = credentialIds()
  const asked = await client.follow(await client.signIn('kim.twokeys'), '_embedded.factors.0._links.verify')
  const nonce = String(asked.at('_embedded.factor._embedded.challenge.challenge'))
  const signed = client.sandbox.authenticator('kim.twokeys', second).signWebauthn(nonce, ORIGIN)
  expect(outcome(await client.follow(asked, '_links.next', signed))).toBe('403 E0000068')
  const byType = { stateToken: asked.body.stateToken, ...signed }
  expect(outcome(await client.post('/api/v1/authn/factors/webauthn/verify', byType))).toBe('403 E0000068')
})

test('verify u2f: MFA_CHALLENGE with a nonce, then SUCCESS with a valid signature', async () => {
  const challenge = await client.follow(await client.signIn('uwe.key'), link('u2f'))
  expect(outcome(challenge)).toBe('200 MFA_CHALLENGE')
  const nonce = String(challenge.at('_embedded.factor._embedded.challenge.nonce'))
  const key = client.sandbox.authenticator('uwe.key')
  const stale = key.signU2f('another-nonce', client.url)
  expect(outcome(await client.follow(challenge, '_links.next', stale))).toBe('403 E0000068')
  const signed = key.signU2f(nonce, client.url)
  expect(outcome(await client.follow(challenge, '_links.next', signed))).toBe('200 SUCCESS')
})

test('a malformed security key message is 403 E0000068', async () => {
  const challenge = await client.follow(await client.signIn('wanda.key'), link('webauthn'))
  const refused = await client.follow(challenge, '_links.next', { clientData: 'e30', signatureData: 'AA' })
  expect(outcome(refused)).toBe('403 E0000068')
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

test.each([0, 1, 2])(
  'after %d used codes, totpCode() returns a code that is accepted for 30 seconds, also in the next time step',
  async (used) => {
    const verify = async (passCode: string) =>
      client.follow(await client.signIn('tomas.berg'), link('token:software:totp'), { passCode })
    client.advance(30_000 - (client.now() % 30_000))
    for (let at = 0; at < used; at += 1) await verify(client.sandbox.totpCode('tomas.berg'))
    const passCode = client.sandbox.totpCode('tomas.berg')
    client.advance(30_000)
    expect(outcome(await verify(passCode))).toBe('200 SUCCESS')
  },
)

/** docs/conformance.md F-1.26, error codes 82 and 83: the same results as errors. */
test('with refusedCodes: error, a used code is 403 E0000082 and a code outside the time window is 403 E0000083', async () => {
  client.sandbox.settings.refusedCodes = 'error'
  const verify = async (passCode: string) =>
    client.follow(await client.signIn('tomas.berg'), link('token:software:totp'), { passCode })
  const passCode = client.sandbox.totpCode('tomas.berg')
  expect(outcome(await verify(passCode))).toBe('200 SUCCESS')
  const replayed = await verify(passCode)
  expect(outcome(replayed)).toBe('403 E0000082')
  expect(replayed.body).toMatchObject({
    errorSummary: 'Each code can only be used once. Please wait for a new code and try again.',
    errorCauses: [],
  })
  const old = client.sandbox.totpCode('tomas.berg')
  client.advance(3 * 60_000)
  const late = await verify(old)
  expect(outcome(late)).toBe('403 E0000083')
  expect(late.body.errorSummary).toBe('PassCode is valid but exceeded time window.')
  expect(outcome(await verify(client.sandbox.totpCode('tomas.berg')))).toBe('200 SUCCESS')
})

/** RFC 4226: each code once, in order, with a look-ahead window. */
test('verify HOTP token: a used code and earlier ones are wrong; a few codes may be skipped', async () => {
  const [{ config } = { config: undefined }] = client.sandbox.user('hanna.hotp').factors
  const codes = new HOTP({ secret: Secret.fromBase32(config?.secret ?? '') })
  const verify = async (counter: number) => {
    const required = await client.signIn('hanna.hotp')
    const passCode = codes.generate({ counter })
    return outcome(await client.follow(required, link('token:hotp'), { passCode }))
  }
  expect(await verify(10)).toBe('403 E0000068') // too far ahead
  expect(await verify(9)).toBe('200 SUCCESS')
  expect(await verify(9)).toBe('403 E0000068')
  expect(await verify(3)).toBe('403 E0000068')
  expect(client.sandbox.totpCode('hanna.hotp')).toBe(codes.generate({ counter: 10 }))
  expect(await verify(10)).toBe('200 SUCCESS')
})

test('an HOTP token has its vendor name', async () => {
  expect((await client.signIn('hanna.hotp')).at('_embedded.factors.0')).toMatchObject({
    factorType: 'token:hotp',
    provider: 'CUSTOM',
    vendorName: 'Counter token',
    profile: { credentialId: 'hanna.hotp@example.test' },
  })
})

/** Okta FastPass is listed, but this API cannot verify it. */
test('signed_nonce is listed and cannot be verified: 403 E0000079; the other factor can', async () => {
  const required = await client.signIn('faye.fastpass')
  expect(required.at('_embedded.factors.signed_nonce')).toMatchObject({ provider: 'OKTA', profile: {} })
  for (const body of [{}, { passCode: '123456' }])
    expect(outcome(await client.follow(required, link('signed_nonce'), body))).toBe('403 E0000079')
  const state = await client.post('/api/v1/authn', { stateToken: required.body.stateToken })
  expect(state.body).toEqual(required.body)
  const code = nextFactorCode('faye.fastpass')()
  expect(outcome(await client.follow(required, link('token:software:totp'), code))).toBe('200 SUCCESS')
})

test('a code of several minutes ago is TIME_WINDOW_EXCEEDED', async () => {
  const passCode = client.sandbox.totpCode('tomas.berg')
  client.advance(3 * 60_000)
  const late = await client.follow(await client.signIn('tomas.berg'), link('token:software:totp'), {
    passCode,
  })
  expect(late.body).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'TIME_WINDOW_EXCEEDED' })
})

test('after 5 wrong codes the factor is locked: 403 E0000069, even for the correct code', async () => {
  const required = await client.signIn('tomas.berg')
  const verify = (passCode: string) => client.follow(required, link('token:software:totp'), { passCode })
  for (let attempt = 0; attempt < 5; attempt += 1) expect(outcome(await verify('000'))).toBe('403 E0000068')
  expect(outcome(await verify(client.sandbox.totpCode('tomas.berg')))).toBe('403 E0000069')
})

test('a factor of another user is 404 E0000007', async () => {
  const { body } = await client.signIn('tomas.berg')
  const answer = await client.post('/api/v1/authn/factors/nosuchfactor/verify', {
    stateToken: body.stateToken,
    passCode: '123456',
  })
  expect(outcome(answer)).toBe('404 E0000007')
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

function nextFactorCode(login: string) {
  return () => ({ passCode: client.sandbox.totpCode(login) })
}

function invalidPasscode() {
  return { passCode: '12345' }
}

function codeCause() {
  return "Your passcode doesn't match our records. Please try again."
}
