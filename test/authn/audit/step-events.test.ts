import { describe, expect, test } from '@jest/globals'
import {
  addressRefused,
  factorEnrolled,
  stepAnswered,
  stepRefused,
  upstreamError,
} from '../../../src/authn/audit/step-events.ts'
import type { Transaction } from '../../../src/authn/transaction/transaction.ts'
import { readAnswer } from '../../../src/authn/upstream/read-answer.ts'
import { afterPassword, answered, begun, refusedWith } from '../step-builders.ts'

const counted = (operation: string, status: string) => ({
  metric: 'signInSteps',
  labels: { operation, status },
})
const audited = (audit: string, fields: object) => ({ audit, login: 'ada', fields })

describe('Okta refused', () => {
  const user = { userId: '00u1' }
  test.each<[operation: string, code: string, status: number, audits: readonly unknown[]]>([
    ['verify', 'E0000068', 403, [audited('factor_failed', { ...user, factorType: 'sms' })]],
    ['verify', 'E0000079', 403, []],
    ['verify', 'E0000047', 429, []],
    ['change_password', 'E0000014', 400, [audited('old_password_refused', user)]],
    ['primary', 'E0000004', 401, [audited('sign_in_failed', user)]],
    ['primary', 'E0000119', 403, [audited('sign_in_failed', user)]],
    ['primary', 'E0000047', 429, []],
    ['primary', 'E0000009', 500, []],
    ['recovery_token', 'E0000105', 403, [audited('recovery_token_refused', user)]],
    ['recovery_token', 'E0000009', 500, []],
  ])('%s with %s (%d)', (operation, code, status, audits) => {
    const events = stepRefused(operation, refusedWith(code, status), afterPassword(), 'sms')
    const fields = { operation, upstreamErrorCode: code }
    expect(events).toEqual([
      counted(operation, code),
      ...audits.map((audit) => ({
        ...(audit as object),
        fields: { ...fields, ...(audit as { fields: object }).fields },
      })),
    ])
  })

  test('a code that is none of Okta’s, which is no label', () => {
    const reply = { ...refusedWith('text'), errorCode: undefined }
    expect(stepRefused('skip', reply, afterPassword(), undefined)).toEqual([counted('skip', 'error')])
  })

  test.each<[string, Transaction, reason: string | undefined]>([
    ['an activation token', begun(), 'activation_token'],
    ['a password', begun({ login: 'ada' }), undefined],
    ['credentials in a transaction', afterPassword({ login: undefined }), undefined],
  ])('the sign-in with %s: the reason is %s', (_title, before, reason) => {
    const [, failed] = stepRefused('primary', refusedWith('E0000004', 401), before, undefined)
    expect(failed).toHaveProperty('fields.reason', reason)
  })

  test('the address, before it looked at the user', () => {
    expect(addressRefused('verify', afterPassword())).toEqual([counted('verify', 'address_blocked')])
    expect(addressRefused('primary', afterPassword())).toEqual([
      counted('primary', 'address_blocked'),
      audited('sign_in_failed', { operation: 'primary', userId: '00u1', reason: 'address_blocked' }),
    ])
  })

  test('with an id that is logged, up to 64 characters', () => {
    const logged = (errorId: unknown) => upstreamError(refusedWith('E0000068', 403, { errorId }))
    const fields = { upstream: 'authn', upstreamStatus: 403, upstreamErrorCode: 'E0000068' }
    expect(logged('x'.repeat(65))).toEqual({
      log: 'info',
      event: 'upstream_error',
      fields: { ...fields, upstreamErrorId: 'x'.repeat(64) },
    })
    expect(logged(7)).toEqual({ log: 'info', event: 'upstream_error', fields })
  })
})

describe('Okta accepted', () => {
  const user = { userId: '00u1' }
  type Case = readonly [
    operation: string,
    status: string,
    factorResult: string | undefined,
    events: readonly unknown[],
  ]
  const failed = (operation: string, reason: string) =>
    audited('factor_failed', { ...user, operation, factorType: 'push', reason })
  const challenged = (operation: string) =>
    audited('factor_challenged', {
      ...user,
      operation,
      factorType: 'push',
      transactionStatus: 'MFA_CHALLENGE',
    })
  const changed = (operation: string, transactionStatus: string) =>
    audited('password_changed', { ...user, operation, transactionStatus })

  /** In MFA_REQUIRED. */
  const CASES: readonly Case[] = [
    ['skip', 'SUCCESS', undefined, []],
    ['verify', 'MFA_CHALLENGE', 'WAITING', [challenged('verify')]],
    ['verify', 'MFA_CHALLENGE', 'REJECTED', [failed('verify', 'REJECTED')]],
    ['verify', 'MFA_CHALLENGE', 'TIMEOUT', [failed('verify', 'TIMEOUT')]],
    ['verify', 'MFA_REQUIRED', 'TIME_WINDOW_EXCEEDED', [failed('verify', 'TIME_WINDOW_EXCEEDED')]],
    ['verify', 'MFA_REQUIRED', 'PASSCODE_REPLAYED', [failed('verify', 'PASSCODE_REPLAYED')]],
    ['verify', 'MFA_REQUIRED', 'FAILED', [failed('verify', 'FAILED')]],
    ['verify', 'MFA_REQUIRED', 'BRAND_NEW', []],
    ['state', 'MFA_CHALLENGE', 'REJECTED', []], // it changes nothing
    ['state', 'MFA_REQUIRED', 'FAILED', [failed('state', 'FAILED')]],
    [
      'verify',
      'LOCKED_OUT',
      undefined,
      [audited('sign_in_failed', { ...user, operation: 'verify', reason: 'LOCKED_OUT' })],
    ],
    ['change_password', 'SUCCESS', undefined, [changed('change_password', 'SUCCESS')]],
    ['reset_password', 'MFA_REQUIRED', undefined, [changed('reset_password', 'MFA_REQUIRED')]],
  ]
  test.each(CASES)('%s with %s and the factor result %s', (operation, status, factorResult, events) => {
    const before = afterPassword()
    const after = { ...before, factorFailed: factorResult === 'FAILED' ? true : undefined }
    const answer = readAnswer(answered(status, { factorResult }).body)
    expect(stepAnswered(operation, answer, { before, after }, 'push')).toEqual([
      counted(operation, status),
      ...events,
    ])
  })

  test.each<[operation: string, isNew: boolean]>([
    ['verify', false],
    ['resend', true],
  ])('%s during a challenge, which is then a new one: %s', (operation, isNew) => {
    const before = afterPassword({ status: 'MFA_CHALLENGE' })
    const answer = readAnswer(answered('MFA_CHALLENGE', { factorResult: 'WAITING' }).body)
    const events = stepAnswered(operation, answer, { before, after: before }, 'push')
    expect(events.slice(1)).toEqual(isNew ? [challenged('resend')] : [])
  })

  test('a factor that failed is reported once, with the type that the answer has', () => {
    const factor = { id: 'f1', factorType: 'claims_provider' }
    const answer = readAnswer(
      answered('MFA_REQUIRED', { factorResult: 'FAILED', _embedded: { factor } }).body,
    )
    const after = afterPassword({ factorFailed: true })
    const [, reported] = stepAnswered('state', answer, { before: afterPassword(), after }, undefined)
    expect(reported).toHaveProperty('fields.factorType', 'claims_provider')
    expect(stepAnswered('state', answer, { before: after, after }, undefined)).toHaveLength(1)
  })

  test.each([
    ['', 'none'],
    ['BRAND_NEW', 'other'],
    ['RECOVERY_CHALLENGE', 'RECOVERY_CHALLENGE'],
  ])('the status %j has the label %s', (status, label) => {
    const transactions = { before: afterPassword(), after: afterPassword() }
    const [event] = stepAnswered('skip', readAnswer(answered(status).body), transactions, undefined)
    expect(event).toEqual(counted('skip', label))
  })
})

test.each<[replaces: boolean, updatesPhone: boolean, events: readonly (readonly [string, string?])[]]>([
  [false, false, [['factor_enrolled']]],
  [true, false, [['factor_changed', 'enrolled_again']]],
  [false, true, [['factor_enrolled'], ['factor_changed', 'phone_updated']]],
  [
    true,
    true,
    [
      ['factor_changed', 'enrolled_again'],
      ['factor_changed', 'phone_updated'],
    ],
  ],
])(
  'a factor became active; it replaces one: %s, with another phone: %s',
  (replaces, updatesPhone, events) => {
    const enrollment = { factorType: 'sms', provider: 'OKTA', replaces, updatesPhone }
    const fields = { operation: 'activate', userId: '00u1', factorType: 'sms', provider: 'OKTA' }
    expect(factorEnrolled('activate', enrollment, afterPassword())).toEqual(
      events.map(([event, reason]) => audited(event, { ...fields, reason })),
    )
  },
)
