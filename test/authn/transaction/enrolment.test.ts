import { describe, expect, test } from '@jest/globals'
import type { Answer } from '../../../src/authn/transaction/answer.ts'
import {
  completesEnrolment,
  type EnrolmentStep,
  enrolmentOfStep,
  factorName,
  findActivated,
  nextEnrolment,
} from '../../../src/authn/transaction/credentials.ts'

const STEP: EnrolmentStep = { operation: 'enroll', fields: {}, updatePhone: false, factorType: undefined }
const NONE = { enrolment: undefined, activeFactors: [] }
const SMS = { factorType: 'sms', provider: 'OKTA', updatesPhone: false, replaces: false }

describe('the enrolment that a step starts', () => {
  const enrol = (fields: EnrolmentStep['fields'], activeFactors: readonly string[] = []) =>
    enrolmentOfStep({ ...STEP, fields }, { ...NONE, activeFactors })

  test('has the type and provider of the body', () => {
    expect(enrol({ factorType: 'sms', provider: 'OKTA' })).toEqual(SMS)
    expect(enrol({ factorType: 'sms' })).toEqual({ ...SMS, provider: undefined })
    expect(enrol({ factorType: 'sms', provider: '' })).toEqual({ ...SMS, provider: undefined })
  })

  test.each([undefined, '', 7, null])('is undefined with the factor type %j', (factorType) => {
    expect(enrol({ factorType, provider: 'OKTA' })).toBeUndefined()
  })

  test('replaces an active factor of the same type and provider', () => {
    expect(enrol({ factorType: 'sms', provider: 'OKTA' }, [factorName('sms', 'OKTA')])?.replaces).toBe(true)
    expect(enrol({ factorType: 'sms', provider: 'OKTA' }, [factorName('call', 'OKTA')])?.replaces).toBe(false)
    expect(enrol({ factorType: 'token', provider: 'RSA' }, [factorName('token', 'SYMANTEC')])?.replaces).toBe(
      false,
    )
    expect(enrol({ factorType: 'sms' }, [factorName('sms', undefined)])?.replaces).toBe(true)
    expect(enrol({ factorType: 'sms' }, [factorName('sms', 'OKTA')])?.replaces).toBe(false)
  })

  test.each(['webauthn', 'u2f'])('does not replace a factor if it is another %s', (factorType) => {
    expect(enrol({ factorType, provider: 'FIDO' }, [factorName(factorType, 'FIDO')])?.replaces).toBe(false)
  })

  test('changes the phone number if the query says so', () => {
    const step = { ...STEP, fields: { factorType: 'sms' }, updatePhone: true }
    expect(enrolmentOfStep(step, NONE)?.updatesPhone).toBe(true)
  })

  test('has a unique factor name', () => {
    expect(factorName('token', undefined)).not.toBe(factorName('token', 'RSA'))
    expect(factorName('sms', undefined)).toBe(factorName('sms', ''))
  })
})

describe('the enrolment that a step continues', () => {
  test.each(['activate', 'activate_poll', 'activate_resend'])(
    'is that of the transaction: %s',
    (operation) => {
      const step = { ...STEP, operation, factorType: 'push' }
      expect(enrolmentOfStep(step, { ...NONE, enrolment: SMS })).toEqual(SMS)
    },
  )

  test('is made from the type of the factor if the transaction has none', () => {
    const step = { ...STEP, operation: 'activate' }
    expect(enrolmentOfStep({ ...step, factorType: 'push' }, NONE)).toEqual({
      factorType: 'push',
      updatesPhone: false,
      replaces: false,
    })
    expect(enrolmentOfStep(step, NONE)).toBeUndefined()
  })

  test('changes the phone number if this step or an earlier one says so', () => {
    const step = { ...STEP, operation: 'activate' }
    const updating = { ...SMS, updatesPhone: true }
    expect(enrolmentOfStep({ ...step, updatePhone: true }, { ...NONE, enrolment: SMS })).toEqual(updating)
    expect(enrolmentOfStep(step, { ...NONE, enrolment: updating })).toEqual(updating)
  })

  test.each(['verify', 'skip', 'cancel', 'resend', ''])('is undefined for %j', (operation) => {
    const step = { ...STEP, operation, fields: { factorType: 'sms' }, factorType: 'sms' }
    expect(enrolmentOfStep(step, { ...NONE, enrolment: SMS })).toBeUndefined()
  })
})

describe('after an answer', () => {
  const WAITING = ['MFA_ENROLL_ACTIVATE', 'FACTOR_ENROLL_ACTIVATE']

  test.each(WAITING)('with %s, the enrolment of the step continues, else the earlier one', (status) => {
    const push = { ...SMS, factorType: 'push' }
    expect(nextEnrolment({ status }, push, SMS)).toEqual(push)
    expect(nextEnrolment({ status }, undefined, SMS)).toEqual(SMS)
    expect(nextEnrolment({ status }, undefined, undefined)).toBeUndefined()
  })

  test.each(['MFA_ENROLL', 'SUCCESS', 'MFA_REQUIRED', ''])('with %j, no enrolment continues', (status) => {
    expect(nextEnrolment({ status }, SMS, SMS)).toBeUndefined()
  })

  const answer = (status: string, factorResult?: string) => ({ status, factorResult }) as Answer

  test.each(['enroll', 'activate', 'activate_poll'])('the factor is active after %s', (operation) => {
    expect(completesEnrolment(operation, answer('SUCCESS'))).toBe(true)
    expect(completesEnrolment(operation, answer('MFA_ENROLL'))).toBe(true)
    expect(completesEnrolment(operation, answer('SUCCESS', 'SUCCESS'))).toBe(true)
  })

  test.each([...WAITING, 'LOCKED_OUT'])('the factor is not active with the status %s', (status) => {
    expect(completesEnrolment('activate', answer(status))).toBe(false)
    expect(completesEnrolment('activate', answer(status, 'SUCCESS'))).toBe(false)
  })

  test.each(['WAITING', 'TIMEOUT', 'REJECTED', 'ERROR'])(
    'the factor is not active with the result %s',
    (factorResult) => {
      expect(completesEnrolment('activate_poll', answer('SUCCESS', factorResult))).toBe(false)
    },
  )

  test.each(['activate_resend', 'verify', 'skip', 'cancel'])(
    'the factor is not active after %s',
    (operation) => {
      expect(completesEnrolment(operation, answer('SUCCESS'))).toBe(false)
    },
  )

  const PUSH = { ...SMS, factorType: 'push' }
  const SMS_NAME = factorName('sms', 'OKTA')
  const PUSH_NAME = factorName('push', 'OKTA')
  const settingUpPush = { enrolment: PUSH, activeFactors: [SMS_NAME] }
  const found = (operation: string, status: string, activeFactors: string[], before = settingUpPush) =>
    findActivated(operation, { status, activeFactors }, before)

  test('a factor that a phone activated is found, because it is listed, or nothing is left to do', () => {
    expect(found('previous', 'MFA_ENROLL', [SMS_NAME, PUSH_NAME])).toEqual(PUSH)
    expect(found('state', 'SUCCESS', [])).toEqual(PUSH)
  })

  test('it is not found if another factor is listed, it was listed before, or a step led to SUCCESS', () => {
    expect(found('previous', 'MFA_ENROLL', [SMS_NAME, factorName('push', 'DUO')])).toBeUndefined()
    expect(
      found('previous', 'MFA_ENROLL', [PUSH_NAME], { enrolment: PUSH, activeFactors: [PUSH_NAME] }),
    ).toBeUndefined()
    expect(found('skip', 'SUCCESS', [])).toBeUndefined()
    expect(found('state', 'MFA_ENROLL', [])).toBeUndefined()
  })

  test('it is not found if no factor was being set up', () => {
    expect(findActivated('state', { status: 'SUCCESS', activeFactors: [PUSH_NAME] }, NONE)).toBeUndefined()
  })
})
