import { describe, expect, test } from '@jest/globals'
import type { Answer } from '../../../src/authn/transaction/answer.ts'
import {
  completesEnrolment,
  type EnrolmentStep,
  enrolmentOfStep,
  factorName,
  findActivated,
  nextEnrolment,
} from '../../../src/authn/transaction/enrolment.ts'

const STEP: EnrolmentStep = { operation: 'enroll', fields: {}, updatePhone: false, factorType: undefined }
const NONE = { enrolment: undefined, activeFactors: [] }
const SMS = { factorType: 'sms', provider: 'OKTA', updatesPhone: false, replaces: false }

describe('the enrolment that a step begins', () => {
  const enrol = (fields: EnrolmentStep['fields'], activeFactors: readonly string[] = []) =>
    enrolmentOfStep({ ...STEP, fields }, { ...NONE, activeFactors })

  test('has the type and the provider of its body', () => {
    expect(enrol({ factorType: 'sms', provider: 'OKTA' })).toEqual(SMS)
    expect(enrol({ factorType: 'sms' })).toEqual({ ...SMS, provider: undefined })
    expect(enrol({ factorType: 'sms', provider: '' })).toEqual({ ...SMS, provider: undefined })
  })

  test.each([undefined, '', 7, null])('is none with the factor type %j', (factorType) => {
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

  test.each(['webauthn', 'u2f'])('one more %s replaces none', (factorType) => {
    expect(enrol({ factorType, provider: 'FIDO' }, [factorName(factorType, 'FIDO')])?.replaces).toBe(false)
  })

  test('changes the phone if the query says so', () => {
    const step = { ...STEP, fields: { factorType: 'sms' }, updatePhone: true }
    expect(enrolmentOfStep(step, NONE)?.updatesPhone).toBe(true)
  })

  test('two factors never have the same name', () => {
    expect(factorName('token', undefined)).not.toBe(factorName('token', 'RSA'))
    expect(factorName('sms', undefined)).toBe(factorName('sms', ''))
  })
})

describe('the enrolment that a step continues', () => {
  test.each(['activate', 'activate_poll', 'activate_resend'])(
    '%s: the one of the transaction',
    (operation) => {
      const step = { ...STEP, operation, factorType: 'push' }
      expect(enrolmentOfStep(step, { ...NONE, enrolment: SMS })).toEqual(SMS)
    },
  )

  test('without one: by the type of its factor, or none', () => {
    const step = { ...STEP, operation: 'activate' }
    expect(enrolmentOfStep({ ...step, factorType: 'push' }, NONE)).toEqual({
      factorType: 'push',
      updatesPhone: false,
      replaces: false,
    })
    expect(enrolmentOfStep(step, NONE)).toBeUndefined()
  })

  test('the phone changes if this step or an earlier one said so', () => {
    const step = { ...STEP, operation: 'activate' }
    const updating = { ...SMS, updatesPhone: true }
    expect(enrolmentOfStep({ ...step, updatePhone: true }, { ...NONE, enrolment: SMS })).toEqual(updating)
    expect(enrolmentOfStep(step, { ...NONE, enrolment: updating })).toEqual(updating)
  })

  test.each(['verify', 'skip', 'cancel', 'resend', ''])('%j has nothing to do with one', (operation) => {
    const step = { ...STEP, operation, fields: { factorType: 'sms' }, factorType: 'sms' }
    expect(enrolmentOfStep(step, { ...NONE, enrolment: SMS })).toBeUndefined()
  })
})

describe('after an answer', () => {
  const WAITING = ['MFA_ENROLL_ACTIVATE', 'FACTOR_ENROLL_ACTIVATE']

  test.each(WAITING)('%s: the enrolment of the step is under way, else the earlier one', (status) => {
    const push = { ...SMS, factorType: 'push' }
    expect(nextEnrolment({ status }, push, SMS)).toEqual(push)
    expect(nextEnrolment({ status }, undefined, SMS)).toEqual(SMS)
    expect(nextEnrolment({ status }, undefined, undefined)).toBeUndefined()
  })

  test.each(['MFA_ENROLL', 'SUCCESS', 'MFA_REQUIRED', ''])('%j: none is under way', (status) => {
    expect(nextEnrolment({ status }, SMS, SMS)).toBeUndefined()
  })

  const answer = (status: string, factorResult?: string) => ({ status, factorResult }) as Answer

  test.each(['enroll', 'activate', 'activate_poll'])('the factor is active after %s', (operation) => {
    expect(completesEnrolment(operation, answer('SUCCESS'))).toBe(true)
    expect(completesEnrolment(operation, answer('MFA_ENROLL'))).toBe(true)
    expect(completesEnrolment(operation, answer('SUCCESS', 'SUCCESS'))).toBe(true)
  })

  test.each([...WAITING, 'LOCKED_OUT'])('but not under %s', (status) => {
    expect(completesEnrolment('activate', answer(status))).toBe(false)
    expect(completesEnrolment('activate', answer(status, 'SUCCESS'))).toBe(false)
  })

  test.each(['WAITING', 'TIMEOUT', 'REJECTED', 'ERROR'])('nor with the result %s', (factorResult) => {
    expect(completesEnrolment('activate_poll', answer('SUCCESS', factorResult))).toBe(false)
  })

  test.each(['activate_resend', 'verify', 'skip', 'cancel'])('nor by %s', (operation) => {
    expect(completesEnrolment(operation, answer('SUCCESS'))).toBe(false)
  })

  const PUSH = { ...SMS, factorType: 'push' }
  const SMS_NAME = factorName('sms', 'OKTA')
  const PUSH_NAME = factorName('push', 'OKTA')
  const settingUpPush = { enrolment: PUSH, activeFactors: [SMS_NAME] }
  const found = (operation: string, status: string, activeFactors: string[], before = settingUpPush) =>
    findActivated(operation, { status, activeFactors }, before)

  test('a factor that the phone has activated is found: it is listed now, or nothing is left to do', () => {
    expect(found('previous', 'MFA_ENROLL', [SMS_NAME, PUSH_NAME])).toEqual(PUSH)
    expect(found('state', 'SUCCESS', [])).toEqual(PUSH)
  })

  test('but not where another one is listed, it was listed before, or a step brought the success', () => {
    expect(found('previous', 'MFA_ENROLL', [SMS_NAME, factorName('push', 'DUO')])).toBeUndefined()
    expect(
      found('previous', 'MFA_ENROLL', [PUSH_NAME], { enrolment: PUSH, activeFactors: [PUSH_NAME] }),
    ).toBeUndefined()
    expect(found('skip', 'SUCCESS', [])).toBeUndefined()
    expect(found('state', 'MFA_ENROLL', [])).toBeUndefined()
  })

  test('nor where none was set up', () => {
    expect(findActivated('state', { status: 'SUCCESS', activeFactors: [PUSH_NAME] }, NONE)).toBeUndefined()
  })
})
