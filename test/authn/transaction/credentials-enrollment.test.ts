import { describe, expect, test } from '@jest/globals'
import type { Answer } from '../../../src/authn/transaction/answer.ts'
import {
  completesEnrollment,
  type EnrollmentStep,
  enrollmentOfStep,
  factorName,
  findActivated,
  nextEnrollment,
} from '../../../src/authn/transaction/credentials.ts'

const STEP: EnrollmentStep = { operation: 'enroll', fields: {}, updatePhone: false, factorType: undefined }
const NONE = { enrollment: undefined, activeFactors: [] }
const SMS = { factorType: 'sms', provider: 'OKTA', updatesPhone: false, replaces: false }

describe('the enrollment that a step starts', () => {
  const enroll = (fields: EnrollmentStep['fields'], activeFactors: readonly string[] = []) =>
    enrollmentOfStep({ ...STEP, fields }, { ...NONE, activeFactors })

  test('has the type and provider of the body', () => {
    expect(enroll({ factorType: 'sms', provider: 'OKTA' })).toEqual(SMS)
    expect(enroll({ factorType: 'sms' })).toEqual({ ...SMS, provider: undefined })
    expect(enroll({ factorType: 'sms', provider: '' })).toEqual({ ...SMS, provider: undefined })
  })

  test.each([undefined, '', 7, null])('is undefined with the factor type %j', (factorType) => {
    expect(enroll({ factorType, provider: 'OKTA' })).toBeUndefined()
  })

  test('replaces an active factor of the same type and provider', () => {
    expect(enroll({ factorType: 'sms', provider: 'OKTA' }, [factorName('sms', 'OKTA')])?.replaces).toBe(true)
    expect(enroll({ factorType: 'sms', provider: 'OKTA' }, [factorName('call', 'OKTA')])?.replaces).toBe(
      false,
    )
    expect(
      enroll({ factorType: 'token', provider: 'RSA' }, [factorName('token', 'SYMANTEC')])?.replaces,
    ).toBe(false)
    expect(enroll({ factorType: 'sms' }, [factorName('sms', undefined)])?.replaces).toBe(true)
    expect(enroll({ factorType: 'sms' }, [factorName('sms', 'OKTA')])?.replaces).toBe(false)
  })

  test.each(['webauthn', 'u2f'])('does not replace a factor if it is another %s', (factorType) => {
    expect(enroll({ factorType, provider: 'FIDO' }, [factorName(factorType, 'FIDO')])?.replaces).toBe(false)
  })

  test('changes the phone number if the query says so', () => {
    const step = { ...STEP, fields: { factorType: 'sms' }, updatePhone: true }
    expect(enrollmentOfStep(step, NONE)?.updatesPhone).toBe(true)
  })

  test('has a unique factor name', () => {
    expect(factorName('token', undefined)).not.toBe(factorName('token', 'RSA'))
    expect(factorName('sms', undefined)).toBe(factorName('sms', ''))
  })
})

describe('the enrollment that a step continues', () => {
  test.each(['activate', 'activate_poll', 'activate_resend'])(
    'is that of the transaction: %s',
    (operation) => {
      const step = { ...STEP, operation, factorType: 'push' }
      expect(enrollmentOfStep(step, { ...NONE, enrollment: SMS })).toEqual(SMS)
    },
  )

  test('is made from the type of the factor if the transaction has none', () => {
    const step = { ...STEP, operation: 'activate' }
    expect(enrollmentOfStep({ ...step, factorType: 'push' }, NONE)).toEqual({
      factorType: 'push',
      updatesPhone: false,
      replaces: false,
    })
    expect(enrollmentOfStep(step, NONE)).toBeUndefined()
  })

  test('changes the phone number if this step or an earlier one says so', () => {
    const step = { ...STEP, operation: 'activate' }
    const updating = { ...SMS, updatesPhone: true }
    expect(enrollmentOfStep({ ...step, updatePhone: true }, { ...NONE, enrollment: SMS })).toEqual(updating)
    expect(enrollmentOfStep(step, { ...NONE, enrollment: updating })).toEqual(updating)
  })

  test.each(['verify', 'skip', 'cancel', 'resend', ''])('is undefined for %j', (operation) => {
    const step = { ...STEP, operation, fields: { factorType: 'sms' }, factorType: 'sms' }
    expect(enrollmentOfStep(step, { ...NONE, enrollment: SMS })).toBeUndefined()
  })
})

describe('after an answer', () => {
  const WAITING = ['MFA_ENROLL_ACTIVATE', 'FACTOR_ENROLL_ACTIVATE']

  test.each(WAITING)('with %s, the enrollment of the step continues, else the earlier one', (status) => {
    const push = { ...SMS, factorType: 'push' }
    expect(nextEnrollment({ status }, push, SMS)).toEqual(push)
    expect(nextEnrollment({ status }, undefined, SMS)).toEqual(SMS)
    expect(nextEnrollment({ status }, undefined, undefined)).toBeUndefined()
  })

  test.each(['MFA_ENROLL', 'SUCCESS', 'MFA_REQUIRED', ''])('with %j, no enrollment continues', (status) => {
    expect(nextEnrollment({ status }, SMS, SMS)).toBeUndefined()
  })

  const answer = (status: string, factorResult?: string) => ({ status, factorResult }) as Answer

  test.each(['enroll', 'activate', 'activate_poll'])('the factor is active after %s', (operation) => {
    expect(completesEnrollment(operation, answer('SUCCESS'))).toBe(true)
    expect(completesEnrollment(operation, answer('MFA_ENROLL'))).toBe(true)
    expect(completesEnrollment(operation, answer('SUCCESS', 'SUCCESS'))).toBe(true)
  })

  test.each([...WAITING, 'LOCKED_OUT'])('the factor is not active with the status %s', (status) => {
    expect(completesEnrollment('activate', answer(status))).toBe(false)
    expect(completesEnrollment('activate', answer(status, 'SUCCESS'))).toBe(false)
  })

  test.each(['WAITING', 'TIMEOUT', 'REJECTED', 'ERROR'])(
    'the factor is not active with the result %s',
    (factorResult) => {
      expect(completesEnrollment('activate_poll', answer('SUCCESS', factorResult))).toBe(false)
    },
  )

  test.each(['activate_resend', 'verify', 'skip', 'cancel'])(
    'the factor is not active after %s',
    (operation) => {
      expect(completesEnrollment(operation, answer('SUCCESS'))).toBe(false)
    },
  )

  const PUSH = { ...SMS, factorType: 'push' }
  const SMS_NAME = factorName('sms', 'OKTA')
  const PUSH_NAME = factorName('push', 'OKTA')
  const settingUpPush = { enrollment: PUSH, activeFactors: [SMS_NAME] }
  const found = (operation: string, status: string, activeFactors: string[], before = settingUpPush) =>
    findActivated(operation, { status, activeFactors }, before)

  test('a factor that a phone activated is found, because it is listed, or nothing is left to do', () => {
    expect(found('previous', 'MFA_ENROLL', [SMS_NAME, PUSH_NAME])).toEqual(PUSH)
    expect(found('state', 'SUCCESS', [])).toEqual(PUSH)
  })

  test('it is not found if another factor is listed, it was listed before, or a step led to SUCCESS', () => {
    expect(found('previous', 'MFA_ENROLL', [SMS_NAME, factorName('push', 'DUO')])).toBeUndefined()
    expect(
      found('previous', 'MFA_ENROLL', [PUSH_NAME], { enrollment: PUSH, activeFactors: [PUSH_NAME] }),
    ).toBeUndefined()
    expect(found('skip', 'SUCCESS', [])).toBeUndefined()
    expect(found('state', 'MFA_ENROLL', [])).toBeUndefined()
  })

  test('it is not found if no factor was being set up', () => {
    expect(findActivated('state', { status: 'SUCCESS', activeFactors: [PUSH_NAME] }, NONE)).toBeUndefined()
  })
})
