import { expect, test } from '@jest/globals'
import { type Answer, outcome, useSandbox } from './authn/sandbox-client.ts'

/**
 * Rows of the authentication API's specification that no other sandbox test covers
 * (docs/conformance.md).
 */

const client = useSandbox()

const AUTHN = '/api/v1/authn'
const WISH = { options: { multiOptionalFactorEnroll: true } }

/** "States and transitions", last row. */
// sandbox shows
test('multiOptionalFactorEnroll in a step-up with a session: MFA_ENROLL again', async () => {
  const { stateToken } = client.sandbox.startStepUp('payroll', 'erin.enroll')
  const again = await enrollQuestion(await client.post(AUTHN, { stateToken, ...WISH }))
  expect(outcome(again)).toBe('200 MFA_ENROLL')
  expect(outcome(await client.follow(again, '_links.skip'))).toBe('200 SUCCESS')
})

/** S10 (docs/unproven.md). The reference names only enrollments. */
test.each([
  ['with multiOptionalFactorEnroll, further factors are offered', WISH, '200 MFA_ENROLL'],
  ['without it, they are not', {}, '200 SUCCESS'],
])('after a forgotten password is reset: %s', async (_row, options, expected) => {
  const recoveryToken = client.sandbox.recoveryToken('tomas.berg')
  const asked = await client.post(`${AUTHN}/recovery/token`, { recoveryToken, ...options })
  const reset = await client.follow(asked, '_links.next', { answer: 'gatehouse' })
  const verify = await client.follow(reset, '_links.next', { newPassword: 'Brand-New-Word-2' })
  const passCode = client.sandbox.totpCode('tomas.berg')
  const answer = await client.follow(verify, '_embedded.factors.0._links.verify', { passCode })
  expect(outcome(answer)).toBe(expected)
  if (options === WISH) expect(outcome(await client.follow(answer, '_links.skip'))).toBe('200 SUCCESS')
})

/** "Factor object", factorType, provider and profile: every value. */
const FACTORS: [factorType: string, login: string, provider: string, profile: object][] = [
  // sandbox shows
  ['token', 'rosa.enterprise', 'RSA', { credentialId: expect.any(String) }],
  // sandbox shows
  ['token:software:totp', 'tomas.berg', 'GOOGLE', {}],
  // sandbox shows
  ['sms', 'sana.sms', 'OKTA', { phoneNumber: '+1 XXX-XXX-0003' }],
  // sandbox shows
  ['call', 'carl.call', 'OKTA', { phoneNumber: '+1 XXX-XXX-0004' }],
  // sandbox shows
  ['push', 'penny.patient', 'OKTA', {}],
  // sandbox shows
  ['question', 'quentin.query', 'OKTA', {}],
  // sandbox shows
  ['token:hardware', 'yuki.hardware', 'YUBICO', { credentialId: 'HW-0001' }],
]
// sandbox shows
test.each(FACTORS)('Factor object: an enrolled %s', async (factorType, login, provider, profile) => {
  const answer = await client.signIn(login)
  expect(answer.at('_embedded.factors.0')).toEqual({
    id: expect.stringMatching(/^\w{20}$/),
    factorType,
    provider,
    vendorName: provider,
    profile: expect.objectContaining(profile),
    _links: { verify: { href: expect.any(String), hints: { allow: ['POST'] } } },
  })
})

/** "Factor object", profile, and "States and transitions", step-up with an existing session. */
// sandbox shows
test('a step-up that requires verification lists the factors, a push with its phone, and the policy', async () => {
  const { stateToken } = client.sandbox.startStepUp('payroll', 'priya.nair')
  const answer = await client.post(AUTHN, { stateToken })
  expect(answer.at('_embedded.factors.push.profile')).toMatchObject({
    deviceType: 'SmartPhone_IPhone',
    name: 'Sandbox phone',
    platform: 'IOS',
    version: '18.0',
    keys: [{ kty: 'PKIX', use: 'sig', kid: 'default', x5c: [expect.any(String)] }],
  })
  expect(answer.at('_embedded.policy.rememberDeviceLifetimeInMinutes')).toBe(1440)
})

function enrollQuestion(start: Answer): Promise<Answer> {
  const profile = { question: 'favorite_toy', answer: 'a kite' }
  const question = { factorType: 'question', provider: 'OKTA', profile }
  return client.follow(start, '_embedded.factors.question._links.enroll', question)
}
