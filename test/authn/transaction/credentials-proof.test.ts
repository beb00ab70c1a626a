import { describe, expect, test } from '@jest/globals'
import {
  ACTIVATION_PROOF,
  type AutoPush,
  awaitsCredential,
  EXTERNAL_FACTOR_PROOF,
  getProof,
  isUnverifiedImport,
  nextAutoPush,
  PASSWORD_PROOF,
  type Proof,
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

  const sent = (factorType: string, fields: object) => ({ factorType, fields: { ...fields } })
  test.each([
    [sent('token:software:totp', { passCode: '123456' }), 'otp', true],
    [sent('question', { answer: 'blue' }), 'kba', true],
    [sent('token:software:totp', { passCode: '' }), 'otp', false],
    [sent('token:software:totp', { passCode: 123456 }), 'otp', false],
    [sent('question', { passCode: 'blue' }), 'kba', false],
    [sent('push', {}), 'swk', false],
  ])('with the factor %j proves the user only by what was sent', (fields, amr, provesUser) => {
    expect(getProof('factor', fields, own)).toEqual({ kind: 'factor', provesUser, amr })
    expect(getProof('factor', fields, importedAndAccepted)?.provesUser).toBe(provesUser)
    expect(getProof('factor', fields, imported)?.provesUser).toBe(provesUser || undefined)
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

describe('the autoPush choice', () => {
  const push = { factorType: 'push' }
  const factor: Proof = { kind: 'factor', provesUser: false, amr: 'mfa' }
  const before: AutoPush = { stored: undefined, requested: true, approved: undefined }

  test.each<[string, ReturnType<typeof nextAutoPush>, AutoPush | undefined]>([
    ['is empty if nothing was chosen', nextAutoPush(undefined, push, factor), undefined],
    [
      'is requested with a push',
      nextAutoPush(undefined, { ...push, requested: true }, undefined),
      { stored: undefined, requested: true, approved: undefined },
    ],
    [
      'is not requested with another factor',
      nextAutoPush(undefined, { factorType: 'sms', requested: true }, factor),
      undefined,
    ],
    ['is approved with the push', nextAutoPush(before, push, factor), { ...before, approved: true }],
    ['is not approved by another factor', nextAutoPush(before, { factorType: 'sms' }, factor), before],
    ['is not approved by a password', nextAutoPush(before, push, PASSWORD_PROOF), before],
    ['is not approved by a poll without a result', nextAutoPush(before, push, undefined), before],
    [
      'of the latest push replaces an earlier one',
      nextAutoPush(before, { ...push, requested: false }, factor),
      { stored: undefined, requested: false, approved: false },
    ],
    [
      'of an earlier sign-in stays stored',
      nextAutoPush({ ...before, stored: true }, {}, undefined),
      { ...before, stored: true },
    ],
    [
      'that is stored replaces the one known before',
      nextAutoPush({ ...before, stored: true }, { stored: false }, undefined),
      { ...before, stored: false },
    ],
    [
      'that is only stored is kept',
      nextAutoPush(undefined, { stored: true }, undefined),
      { stored: true, requested: undefined, approved: undefined },
    ],
    [
      'stays approved after later steps',
      nextAutoPush({ ...before, approved: true }, { factorType: 'sms' }, factor),
      { ...before, approved: true },
    ],
  ])('%s', (_, next, expected) => {
    expect(next).toEqual(expected)
  })
})
