import { describe, expect, test } from '@jest/globals'
import { OPERATIONS, type Operation, upstreamPath } from '../../../src/authn/sign-in/operations.ts'
import { ACTIVATION_PROOF, getProof, PASSWORD_PROOF } from '../../../src/authn/transaction/credentials.ts'

const AUTHN = '/api/v1/authn'
const FACTOR = `${AUTHN}/factors/:id`
const USER_FACTOR = '/api/v1/users/:uid/factors/:id'

type Credential = Operation['credential']

/** Every operation in a transaction: path, forwarded query, credential, and whether it polls. */
const TABLE: readonly (readonly [
  name: string,
  path: string,
  query: readonly string[],
  credential: Credential,
  polls: boolean,
])[] = [
  ['cancel', `${AUTHN}/cancel`, [], undefined, false],
  ['previous', `${AUTHN}/previous`, [], undefined, false],
  ['skip', `${AUTHN}/skip`, [], undefined, false],
  ['change_password', `${AUTHN}/credentials/change_password`, [], 'password', false],
  ['reset_password', `${AUTHN}/credentials/reset_password`, [], 'new-password', false],
  ['recovery_answer', `${AUTHN}/recovery/answer`, [], undefined, false],
  ['recovery_verify', `${AUTHN}/recovery/factors/:type/verify`, [], undefined, false],
  ['recovery_resend', `${AUTHN}/recovery/factors/:type/resend`, [], undefined, false],
  ['enroll', `${AUTHN}/factors`, ['updatePhone'], undefined, false],
  ['verify', `${FACTOR}/verify`, ['rememberDevice', 'autoPush'], 'factor', true],
  ['resend', `${FACTOR}/verify/resend`, ['rememberDevice', 'autoPush'], undefined, false],
  ['activate', `${FACTOR}/lifecycle/activate`, ['updatePhone'], undefined, true],
  ['activate_poll', `${FACTOR}/lifecycle/activate/poll`, ['updatePhone'], undefined, true],
  ['duo_callback', `${FACTOR}/lifecycle/duoCallback`, [], undefined, false],
  ['activate_resend', `${FACTOR}/lifecycle/resend`, ['updatePhone'], undefined, false],
  ['activate_email', `${FACTOR}/lifecycle/activate/email`, ['updatePhone'], undefined, false],
  ['activate_sms', `${FACTOR}/lifecycle/activate/sms`, ['updatePhone'], undefined, false],
  ['activate', `${USER_FACTOR}/lifecycle/activate`, ['updatePhone'], undefined, true],
  ['activate_email', `${USER_FACTOR}/lifecycle/activate/email`, ['updatePhone'], undefined, false],
  ['activate_sms', `${USER_FACTOR}/lifecycle/activate/sms`, ['updatePhone'], undefined, false],
]

describe('the operations', () => {
  test('are those of the API', () => {
    expect(
      OPERATIONS.map(({ name, path, query, credential, polls }) => [
        name,
        path,
        Object.keys(query.shape),
        credential,
        polls,
      ]),
    ).toEqual(TABLE)
  })

  test('must be offered, except cancel and previous', () => {
    const always = OPERATIONS.filter(({ allowed }) => allowed === 'always').map(({ name }) => name)
    expect(always).toEqual(['cancel', 'previous'])
    expect(new Set(OPERATIONS.map(({ allowed }) => allowed))).toEqual(new Set(['always', 'offered']))
  })

  test('accept JSON, except Duo’s form', () => {
    const forms = OPERATIONS.filter(({ encoding }) => encoding === 'form').map(({ name }) => name)
    expect(forms).toEqual(['duo_callback'])
    expect(new Set(OPERATIONS.map(({ encoding }) => encoding))).toEqual(new Set(['form', 'json']))
  })

  /** The fields besides the state token (docs/conformance.md F-2). */
  test.each<[name: string, fields: Readonly<Record<string, unknown>>]>([
    ['change_password', { oldPassword: 'old', newPassword: 'new' }],
    ['reset_password', { newPassword: 'new' }],
    ['recovery_answer', { answer: 'windmill' }],
    ['recovery_verify', { passCode: '123456' }],
    ['enroll', { factorType: 'sms', provider: 'OKTA', profile: { phoneNumber: '+1 555 0100' } }],
    ['verify', { passCode: '123456' }],
    ['activate', { passCode: '123456' }],
    ['duo_callback', { id: 'duo1', sig_response: 'AUTH|signed' }],
    ['activate_resend', { factorType: 'sms', provider: 'OKTA', profile: { phoneNumber: '+1 555 0100' } }],
    ['activate_email', { profile: { email: 'ada@example.com' } }],
    ['activate_sms', { profile: { phoneNumber: '+1 555 0100' } }],
  ])('%s accepts its fields at each of its paths', (name, fields) => {
    const operations = OPERATIONS.filter((operation) => operation.name === name)
    expect(operations.length).toBeGreaterThan(0)
    for (const { body } of operations) {
      expect(body.parse({ stateToken: '00handle', ...fields })).toEqual({
        stateToken: '00handle',
        ...fields,
      })
    }
  })

  test.each(['cancel', 'previous', 'skip', 'recovery_resend', 'resend', 'activate_poll'])(
    '%s accepts only the state token',
    (name) => {
      const given = {
        stateToken: '00handle',
        passCode: '123456',
        answer: 'a',
        factorType: 'sms',
        profile: {},
      }
      for (const { body } of OPERATIONS.filter((operation) => operation.name === name)) {
        expect(body.parse(given)).toEqual({ stateToken: '00handle' })
      }
    },
  )
})

describe('the path of a step', () => {
  test.each<[path: string, params: Record<string, string>, wanted: string]>([
    [`${AUTHN}/skip`, {}, `${AUTHN}/skip`],
    [`${FACTOR}/verify`, { id: 'ost1' }, `${AUTHN}/factors/ost1/verify`],
    [
      `${USER_FACTOR}/lifecycle/activate`,
      { uid: 'u1', id: 'f1' },
      '/api/v1/users/u1/factors/f1/lifecycle/activate',
    ],
    [`${FACTOR}/verify`, { id: 'token:software:totp' }, `${AUTHN}/factors/token%3Asoftware%3Atotp/verify`],
    [`${FACTOR}/verify`, { id: '../../x?y#z' }, `${AUTHN}/factors/..%2F..%2Fx%3Fy%23z/verify`],
    [`${FACTOR}/verify`, {}, `${AUTHN}/factors//verify`],
  ])('%s with %j', (path, params, wanted) => {
    const operation = OPERATIONS.find((one) => one.path === path)
    expect(operation && upstreamPath(operation, params)).toBe(wanted)
  })
})

describe('the credential that a step proves', () => {
  const BEGUN = { origin: 'begun', credentialAccepted: false } as const
  const IMPORTED = { origin: 'imported', credentialAccepted: false } as const
  const proof = (
    credential: Credential,
    transaction: Parameters<typeof getProof>[2],
    shown: { factorType?: string; fields?: Record<string, unknown> } = {},
  ) => getProof(credential, { factorType: undefined, fields: {}, ...shown }, transaction)

  test('none if the step sends no credential', () => {
    for (const transaction of [BEGUN, IMPORTED]) expect(proof(undefined, transaction)).toBeUndefined()
  })

  test('an old password proves the user, also in an imported transaction', () => {
    const accepted = { kind: 'password', provesUser: true, amr: 'pwd' }
    expect(PASSWORD_PROOF).toEqual(accepted)
    for (const transaction of [BEGUN, IMPORTED]) expect(proof('password', transaction)).toEqual(accepted)
  })

  test('an activation token is accepted, but does not prove the user', () => {
    expect(ACTIVATION_PROOF).toEqual({ kind: 'password', provesUser: false, amr: 'otp' })
  })

  test('a new password is accepted if no credential was accepted before, and does not prove the user', () => {
    expect(proof('new-password', BEGUN)).toEqual({ kind: 'password', provesUser: false, amr: 'pwd' })
    expect(proof('new-password', { ...BEGUN, credentialAccepted: true })).toBeUndefined()
  })

  test('a new password in an imported transaction is not a credential', () => {
    expect(proof('new-password', IMPORTED)).toBeUndefined()
    expect(proof('new-password', { ...IMPORTED, credentialAccepted: true })).toBeUndefined()
  })

  test('a factor that is sent from this browser proves the user', () => {
    for (const transaction of [BEGUN, { ...BEGUN, credentialAccepted: true }]) {
      const shown = { factorType: 'sms', fields: { passCode: '123456' } }
      expect(proof('factor', transaction, shown)).toEqual({ kind: 'factor', provesUser: true, amr: 'sms' })
    }
  })

  test('a factor that is approved elsewhere is accepted, but does not prove the user', () => {
    for (const transaction of [BEGUN, { ...BEGUN, credentialAccepted: true }]) {
      const accepted = { kind: 'factor', provesUser: false, amr: 'swk' }
      expect(proof('factor', transaction, { factorType: 'push' })).toEqual(accepted)
    }
  })

  describe('in an imported transaction, a factor', () => {
    const counts = (factorType: string, fields: Record<string, unknown>) =>
      proof('factor', IMPORTED, { factorType, fields }) !== undefined

    /** The fields of a verification that prove each factor (docs/conformance.md F-2); none if it is approved elsewhere. */
    test.each<[factorType: string, shownBy: readonly string[]]>([
      ['password', ['password']],
      ['question', ['answer']],
      ['sms', ['passCode']],
      ['call', ['passCode']],
      ['email', ['passCode']],
      ['token', ['passCode']],
      ['token:software:totp', ['passCode']],
      ['token:hotp', ['passCode']],
      ['token:hardware', ['passCode']],
      ['webauthn', ['signatureData']],
      ['u2f', ['signatureData']],
      ['push', []],
      ['web', []],
      ['signed_nonce', []],
      ['claims_provider', []],
      ['assertion:saml2', []],
      ['assertion:oidc', []],
      ['brand_new', []],
    ])('%s is proved only by %j', (factorType, shownBy) => {
      const names = ['passCode', 'answer', 'password', 'signatureData', 'clientData', 'rememberDevice']
      expect(names.filter((name) => counts(factorType, { [name]: 'given' }))).toEqual(shownBy)
      for (const value of ['', 7, undefined])
        expect(names.filter((name) => counts(factorType, { [name]: value }))).toEqual([])
    })

    test('that is approved elsewhere is accepted once another credential was accepted', () => {
      expect(proof('factor', { ...IMPORTED, credentialAccepted: true }, { factorType: 'push' })).toBeDefined()
    })
  })

  /** RFC 8176. */
  test.each<[factorType: string | undefined, amr: string]>([
    ['password', 'pwd'],
    ['question', 'kba'],
    ['sms', 'sms'],
    ['call', 'tel'],
    ['email', 'otp'],
    ['push', 'swk'],
    ['token', 'hwk'],
    ['token:software:totp', 'otp'],
    ['token:hotp', 'otp'],
    ['token:hardware', 'hwk'],
    ['webauthn', 'hwk'],
    ['u2f', 'hwk'],
    ['signed_nonce', 'pop'],
    ['claims_provider', 'mfa'],
    ['brand_new', 'mfa'],
    [undefined, 'mfa'],
  ])('the authentication method of the factor %s is %s', (factorType, amr) => {
    expect(proof('factor', BEGUN, factorType === undefined ? {} : { factorType })?.amr).toBe(amr)
  })
})
