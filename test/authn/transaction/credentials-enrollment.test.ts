import { describe, expect, test } from '@jest/globals'
import type { Answer } from '../../../src/authn/transaction/answer.ts'
import {
  completesEnrollment,
  type EnrollmentState,
  type EnrollmentStep,
  enrollmentOfStep,
  factorName,
  findActivated,
  nextEnrollment,
} from '../../../src/authn/transaction/credentials.ts'

const STEP: EnrollmentStep = { operation: 'enroll', fields: {}, updatePhone: false, factorType: undefined }
const SMS = { factorType: 'sms', provider: 'OKTA', updatesPhone: false, replaces: false }
const PUSH = { ...SMS, factorType: 'push' }
const UPDATING = { ...SMS, updatesPhone: true }
const [SMS_NAME, PUSH_NAME] = [factorName('sms', 'OKTA'), factorName('push', 'OKTA')]
const WAITING = ['MFA_ENROLL_ACTIVATE', 'FACTOR_ENROLL_ACTIVATE']

const enroll = (factorType: unknown, provider: unknown = 'OKTA'): Partial<EnrollmentStep> => ({
  fields: { factorType, provider },
})
const during = (operation: string, more: Partial<EnrollmentStep> = {}) => ({ operation, ...more })

test.each<[string, Partial<EnrollmentStep>, Partial<EnrollmentState>, object | undefined]>([
  ['has the type and provider of the body', enroll('sms'), {}, SMS],
  ['may have no provider', enroll('sms', ''), {}, { ...SMS, provider: undefined }],
  ['needs a type', enroll(undefined), {}, undefined],
  ['needs a type that is not empty', enroll(''), {}, undefined],
  ['needs a type that is a text', enroll(7), {}, undefined],
  ['replaces an active factor', enroll('sms'), { activeFactors: [SMS_NAME] }, { ...SMS, replaces: true }],
  ['replaces none of another type', enroll('sms'), { activeFactors: [PUSH_NAME] }, SMS],
  ['replaces none of another provider', enroll('sms'), { activeFactors: [factorName('sms', 'X')] }, SMS],
  ...['webauthn', 'u2f'].map((type): [string, Partial<EnrollmentStep>, Partial<EnrollmentState>, object] => [
    `does not replace another ${type}`,
    enroll(type),
    { activeFactors: [factorName(type, 'OKTA')] },
    { ...SMS, factorType: type },
  ]),
  ['changes the phone number', { ...enroll('sms'), updatePhone: true }, {}, UPDATING],
  ['continues in an activation', during('activate', { factorType: 'push' }), { enrollment: SMS }, SMS],
  ['continues in a poll', during('activate_poll'), { enrollment: SMS }, SMS],
  ['continues in a resend', during('activate_resend'), { enrollment: SMS }, SMS],
  [
    'has the type of the step’s factor if none is known',
    during('activate', { factorType: 'push' }),
    {},
    { factorType: 'push', updatesPhone: false, replaces: false },
  ],
  ['is unknown without both', during('activate'), {}, undefined],
  [
    'changes the number by a later step',
    during('activate', { updatePhone: true }),
    { enrollment: SMS },
    UPDATING,
  ],
  ['changes the number by an earlier step', during('activate'), { enrollment: UPDATING }, UPDATING],
  ...['verify', 'skip', 'cancel', 'resend', ''].map(
    (operation): [string, Partial<EnrollmentStep>, Partial<EnrollmentState>, undefined] => [
      `does not continue in ${operation}`,
      { ...enroll('sms'), operation, factorType: 'sms' },
      { enrollment: SMS },
      undefined,
    ],
  ),
])('the enrollment of a step %s', (_what, step, before, expected) => {
  expect(enrollmentOfStep({ ...STEP, ...step }, { activeFactors: [], ...before })).toEqual(expected)
})

test('a factor without a provider has a name of its own', () => {
  expect(factorName('token', undefined)).not.toBe(factorName('token', 'RSA'))
  expect(factorName('sms', undefined)).toBe(factorName('sms', ''))
})

describe('after an answer', () => {
  test.each([...WAITING, 'MFA_ENROLL', 'SUCCESS', ''])(
    'with %j an enrollment continues, or not',
    (status) => {
      const continues = WAITING.includes(status)
      expect(nextEnrollment({ status }, PUSH, SMS)).toEqual(continues ? PUSH : undefined)
      expect(nextEnrollment({ status }, undefined, SMS)).toEqual(continues ? SMS : undefined)
    },
  )

  test.each<[operation: string, status: string, factorResult: string | undefined, isActive: boolean]>([
    ['enroll', 'SUCCESS', undefined, true],
    ['activate', 'MFA_ENROLL', undefined, true],
    ['activate_poll', 'SUCCESS', 'SUCCESS', true],
    ['activate', 'MFA_ENROLL_ACTIVATE', 'SUCCESS', false],
    ['activate', 'FACTOR_ENROLL_ACTIVATE', 'SUCCESS', false],
    ['activate', 'LOCKED_OUT', 'SUCCESS', false],
    ['activate_poll', 'SUCCESS', 'WAITING', false],
    ['activate_poll', 'SUCCESS', 'REJECTED', false],
    ['activate_resend', 'SUCCESS', undefined, false],
    ['verify', 'SUCCESS', undefined, false],
  ])('of %s with %s and %s, the factor is active: %s', (operation, status, factorResult, isActive) => {
    expect(completesEnrollment(operation, { status, factorResult } as Answer)).toBe(isActive)
  })

  const settingUpPush = { enrollment: PUSH, activeFactors: [SMS_NAME] }
  test.each<
    [operation: string, status: string, activeFactors: string[], before: EnrollmentState, isFound: boolean]
  >([
    ['previous', 'MFA_ENROLL', [SMS_NAME, PUSH_NAME], settingUpPush, true],
    ['state', 'SUCCESS', [], settingUpPush, true],
    ['previous', 'MFA_ENROLL', [SMS_NAME, factorName('push', 'DUO')], settingUpPush, false],
    ['previous', 'MFA_ENROLL', [PUSH_NAME], { ...settingUpPush, activeFactors: [PUSH_NAME] }, false],
    ['skip', 'SUCCESS', [], settingUpPush, false],
    ['state', 'MFA_ENROLL', [], settingUpPush, false],
    ['state', 'SUCCESS', [PUSH_NAME], { activeFactors: [] }, false],
  ])(
    'of %s with %s and the factors %j, a phone has activated one',
    (operation, status, activeFactors, before, isFound) => {
      expect(findActivated(operation, { status, activeFactors }, before)).toEqual(isFound ? PUSH : undefined)
    },
  )
})
