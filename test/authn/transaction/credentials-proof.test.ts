import { describe, expect, test } from '@jest/globals'
import {
  ACTIVATION_PROOF,
  awaitsCredential,
  EXTERNAL_FACTOR_PROOF,
  getProof,
  isUnverifiedImport,
  PASSWORD_PROOF,
} from '../../../src/authn/transaction/credentials.ts'

const own = { origin: 'own', credentialAccepted: false }
const accepted = { ...own, credentialAccepted: true }
const imported = { origin: 'imported', credentialAccepted: false }
const importedAndAccepted = { ...imported, credentialAccepted: true }
const nothing = { factorType: undefined, fields: {} }

test('an imported transaction is unverified until a credential is accepted', () => {
  expect([own, accepted, imported, importedAndAccepted].map(isUnverifiedImport)).toEqual([
    false,
    false,
    true,
    false,
  ])
})

describe('an operation', () => {
  test('without a credential proves nothing', () => {
    expect(getProof(undefined, nothing, own)).toBeUndefined()
  })

  test.each([own, accepted, imported])('with a password proves the user: %j', (transaction) => {
    const password = { kind: 'password', provesUser: true, amr: 'pwd' }
    expect(getProof('password', nothing, transaction)).toEqual(password)
    expect(PASSWORD_PROOF).toEqual(password)
  })

  test('with a new password proves one factor, but not the user, and is no second one', () => {
    const chosen = { kind: 'password', provesUser: false, amr: 'pwd' }
    expect(getProof('new-password', nothing, own)).toEqual(chosen)
    expect(getProof('new-password', nothing, accepted)).toBeUndefined()
    expect(getProof('new-password', nothing, imported)).toBeUndefined()
    expect(getProof('new-password', nothing, importedAndAccepted)).toBeUndefined()
  })

  /**
   * The field that proves each factor (docs/conformance.md F-2), none if it is approved elsewhere,
   * and its method (RFC 8176).
   */
  // shows: V15.3.6
  test.each<[factorType: string | undefined, provedBy: readonly string[], amr: string]>([
    ['password', ['password'], 'pwd'],
    ['question', ['answer'], 'kba'],
    ['sms', ['passCode'], 'sms'],
    ['call', ['passCode'], 'tel'],
    ['email', ['passCode'], 'otp'],
    ['token', ['passCode'], 'hwk'],
    ['token:software:totp', ['passCode'], 'otp'],
    ['token:hotp', ['passCode'], 'otp'],
    ['token:hardware', ['passCode'], 'hwk'],
    ['webauthn', ['signatureData'], 'hwk'],
    ['u2f', ['signatureData'], 'hwk'],
    ['push', [], 'swk'],
    ['web', [], 'mfa'],
    ['signed_nonce', [], 'pop'],
    ['claims_provider', [], 'mfa'],
    ['assertion:saml2', [], 'mfa'],
    ['assertion:oidc', [], 'mfa'],
    ['brand_new', [], 'mfa'],
    ['constructor', [], 'mfa'],
    [undefined, [], 'mfa'],
  ])('with the factor %s proves the user only by %j, with the method %s', (factorType, provedBy, amr) => {
    const names = ['passCode', 'answer', 'password', 'signatureData', 'clientData', 'rememberDevice']
    const shown = (name: string, value: unknown) => ({ factorType, fields: { [name]: value } })
    for (const name of names) {
      const provesUser = provedBy.includes(name)
      expect(getProof('factor', shown(name, 'given'), own)).toEqual({ kind: 'factor', provesUser, amr })
      expect(getProof('factor', shown(name, 'given'), imported) !== undefined).toBe(provesUser)
      expect(getProof('factor', shown(name, 'given'), importedAndAccepted)?.provesUser).toBe(provesUser)
      for (const value of ['', 7, undefined])
        expect(getProof('factor', shown(name, value), imported)).toBeUndefined()
    }
  })

  test('an activation token and a factor verified elsewhere do not prove the user', () => {
    expect(ACTIVATION_PROOF).toEqual({ kind: 'password', provesUser: false, amr: 'otp' })
    expect(EXTERNAL_FACTOR_PROOF).toEqual({ kind: 'factor', provesUser: false, amr: 'mfa' })
  })
})

test.each([
  ['primary', ['UNAUTHENTICATED']],
  ['change_password', ['PASSWORD_EXPIRED', 'PASSWORD_WARN']],
  ['verify', ['MFA_REQUIRED', 'MFA_CHALLENGE', 'FACTOR_REQUIRED', 'FACTOR_CHALLENGE']],
  ['cancel', []],
])('Okta checks the credential of %s only in %j', (operation, statuses) => {
  const all = ['UNAUTHENTICATED', 'PASSWORD_EXPIRED', 'PASSWORD_WARN', 'MFA_REQUIRED', 'MFA_CHALLENGE']
  const others = ['FACTOR_REQUIRED', 'FACTOR_CHALLENGE', 'MFA_ENROLL', 'SUCCESS', '', undefined]
  const checked = [...all, ...others].filter((status) => awaitsCredential(operation, status))
  expect(checked).toEqual(statuses)
})
