import { expect, test } from '@jest/globals'
import { OPERATIONS } from '../../../src/authn/operations.ts'
import {
  type AttemptedStep,
  type AttemptRule,
  classifyAttempt,
} from '../../../src/authn/throttling/attempts.ts'
import { createTransaction } from '../../../src/authn/transaction/transaction.ts'

const transaction = { ...createTransaction('device', 'ada', 0), userId: 'u1', awaitedFactor: 'awaited' }

/** By the rule of each operation with this name. */
function kindsOf(name: string, step: Partial<AttemptedStep> = {}): string[] {
  const whole = { operation: name, fields: {}, factorId: 'f1', factorType: undefined, ...step }
  const rules = OPERATIONS.filter((operation) => operation.name === name).map(({ attempt }) => attempt)
  return [...new Set(rules.map((rule) => classifyAttempt(rule, whole, transaction, '00handle').kind))]
}

const code = { passCode: '123456' }

type Row = [operation: string, step: Partial<AttemptedStep>, kind: string]

/** Steps with this type of factor, and no fields. */
const rowsOf = (operation: string, kind: string, ...types: readonly (string | undefined)[]): Row[] =>
  types.map((factorType) => [operation, { factorType }, kind])

const TABLE: Row[] = [
  ...rowsOf('verify', 'message', 'call', 'email', 'EMAIL'),
  ...rowsOf('verify', 'push', 'push', 'PUSH', 'web', 'signed_nonce', 'claims_provider', 'assertion:oidc'),
  ...rowsOf('verify', 'push', 'assertion:saml2'),
  ...rowsOf('verify', 'call', 'never heard of', 'token:software:totp'),
  ...rowsOf('resend', 'message', 'sms', 'never heard of', undefined),
  ...rowsOf('resend', 'push', 'claims_provider'),
  ...['activate_resend', 'activate_email', 'activate_sms', 'recovery_resend'].map(
    (name): Row => [name, {}, 'message'],
  ),
  ...['activate', 'activate_poll', 'cancel', 'previous', 'skip'].map((name): Row => [name, {}, 'call']),
  ['verify', { factorType: 'sms', fields: code }, 'code'],
  ['verify', { factorType: 'question', fields: { answer: 'windmill' } }, 'code'],
  ['verify', { factorType: 'never heard of', fields: code }, 'code'],
  ['verify', { factorType: 'password', fields: { password: 'p' } }, 'password'],
  ['verify', { factorType: 'Password', fields: { ...code, password: 'p' } }, 'password'],
  ['verify', { factorType: 'sms', fields: { ...code, password: 'p' } }, 'code'],
  // two proofs: the type of the factor decides
  ['verify', { factorType: 'token:software:totp', fields: { ...code, password: 'p' } }, 'code'],
  ['verify', { factorType: 'password', fields: code }, 'code'],
  ['verify', { factorType: undefined, fields: { password: 'p' } }, 'password'],
  ['verify', { factorType: 'sms', fields: { passCode: '' } }, 'message'],
  ['verify', { factorType: 'sms', fields: { passCode: ' ' } }, 'message'],
  ['verify', { factorType: 'web', factorId: 'awaited' }, 'call'],
  ['verify', { factorType: 'sms', fields: { answer: 'windmill' } }, 'message'],
  ['verify', { factorType: 'Call', fields: { password: 'p', passCode: '' } }, 'message'],
  ['verify', { factorType: 'push', fields: code }, 'push'],
  ['verify', { factorType: 'Push', fields: { answer: 'windmill', password: 'p' } }, 'push'],
  ['verify', { factorType: 'push', factorId: 'awaited' }, 'call'],
  ['verify', { factorType: 'push', factorId: 'awaited', fields: code }, 'code'],
  ['verify', { factorType: 'webauthn', fields: { clientData: 'c', signatureData: 's' } }, 'call'],
  ['duo_callback', { factorType: 'web', fields: { id: 'f1', sig_response: 's' } }, 'code'],
  ['resend', { factorType: 'push', factorId: 'awaited' }, 'push'],
  ['activate', { fields: code }, 'code'],
  ['enroll', { fields: { factorType: 'sms' } }, 'message'],
  ['enroll', { fields: { factorType: 'token:hardware', ...code } }, 'code'],
  ['enroll', { fields: { factorType: 'push' } }, 'call'],
  ['enroll', { fields: { factorType: 'claims_provider' } }, 'call'],
  ['enroll', { fields: { factorType: 'SMS' } }, 'message'],
  ['enroll', { fields: { factorType: 'Call', profile: {} } }, 'message'],
  ['enroll', { fields: { factorType: 'Push' } }, 'call'],
  ['enroll', { fields: { factorType: 'text me', profile: { phoneNumber: '+1 555 0100' } } }, 'message'],
  ['enroll', { fields: { factorType: 'push', profile: { email: 'ada@example.com' } } }, 'message'],
  ['enroll', { fields: { factorType: 'sms', ...code } }, 'message'],
  ['enroll', { fields: { factorType: 'x', ...code, profile: { phoneNumber: '+1 555 0100' } } }, 'message'],
  ['enroll', { fields: { factorType: 'Token:Hardware', ...code, profile: { email: 'a@b.c' } } }, 'code'],
  ['enroll', { fields: { factorType: 'push', profile: null } }, 'call'],
  ['enroll', { fields: { factorType: 'question', profile: { question: 'q', answer: 'a' } } }, 'call'],
  ['enroll', { fields: { factorType: 'never heard of', ...code } }, 'code'],
  ['recovery_verify', { fields: code }, 'code'],
  ['recovery_answer', { fields: { answer: 'windmill' } }, 'code'],
  ['reset_password', { fields: { answer: 'windmill', newPassword: 'n' } }, 'code'],
  ['reset_password', { fields: { newPassword: 'n' } }, 'call'],
  ['change_password', { fields: { oldPassword: 'o', newPassword: 'n' } }, 'password'],
  ['change_password', { fields: { oldPassword: '', newPassword: 'n' } }, 'call'],
]

test.each(TABLE)('%s with %j is this kind of attempt: %s', (operation, step, kind) => {
  expect(kindsOf(operation, step)).toEqual([kind])
})

test('each operation has a row: a step of it, and the kind of attempt that it is', () => {
  const tested = new Set(TABLE.map(([operation]) => operation))
  expect(tested).toEqual(new Set(OPERATIONS.map(({ name }) => name)))
})

test.each<[AttemptRule, kind: string]>([
  ['call', 'call'],
  ['code', 'code'],
  ['message', 'message'],
])('the rule %s is always the kind %s', (rule, kind) => {
  for (const fields of [{}, code, { oldPassword: 'o' }]) {
    const step = { operation: 'any', fields, factorId: 'f1', factorType: 'push' }
    expect(classifyAttempt(rule, step, transaction, '00handle').kind).toBe(kind)
  }
})

test('an attempt has what limits and the audit log need', () => {
  const step = { operation: 'verify', fields: code, factorId: 'f1', factorType: 'sms' }
  expect(classifyAttempt('verification', step, transaction, '00handle')).toEqual({
    kind: 'code',
    operation: 'verify',
    login: 'ada',
    userId: 'u1',
    handle: '00handle',
    factorType: 'sms',
  })
})

test('without an awaited factor, no step is a poll', () => {
  const step = { operation: 'verify', fields: {}, factorId: undefined, factorType: 'push' }
  const fresh = { ...transaction, awaitedFactor: undefined }
  expect(classifyAttempt('verification', step, fresh, '00handle').kind).toBe('push')
})
