import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { z } from 'zod'
import { OPERATIONS } from '../../src/authn/operations.ts'
import {
  changePasswordBody,
  enrollBody,
  parse,
  primaryBody,
  queryFlags,
  recoveryBody,
  recoveryTokenBody,
  verifyBody,
} from '../../src/authn/schemas.ts'
import { BrokerError } from '../../src/errors.ts'
import { codePoint } from '../support/code-point.ts'

const CREDENTIALS = { username: 'ada@example.com', password: 'pa ss' }

/** The causes of the refusal. */
function causesOf(schema: z.ZodType, body: unknown): readonly string[] {
  try {
    parse(schema, body)
  } catch (error) {
    expect(error).toBeInstanceOf(BrokerError)
    const { status, code, message, causes } = error as BrokerError // just checked
    expect([status, code]).toEqual([400, 'E0000001'])
    expect(message).toBe(`Api validation failed: ${causes[0]?.split(':')[0]}`)
    return causes
  }
  throw new Error('it was not refused')
}

// shows, V2.2.3
describe('primary authentication is refused, and the cause names the field', () => {
  test.each<[unknown, string[]]>([
    [{}, ['username: username and password, token, or stateToken is required']],
    [{ username: 'ada' }, ['password: is required with username']],
    [{ password: 'x' }, ['username: is required with password']],
    [{ stateToken: 'h', username: 'ada' }, ['password: is required with username']],
    [{ stateToken: 'h', password: 'x' }, ['username: is required with password']],
    [{ ...CREDENTIALS, token: 't' }, ['token: cannot be combined with username or password']],
    [{ stateToken: 'h', token: 't' }, ['token: cannot be combined with stateToken']],
    [{ username: null, password: 'x' }, ['username: is required with password']],
    [{ username: 'ada', password: null }, ['password: is required with username']],
    [{ username: 17, password: ['x'] }, ['username: must be a string', 'password: must be a string']],
    [{ username: '', password: 'x' }, ['username: must not be empty']],
    [{ username: 'ada', password: '' }, ['password: must not be empty']],
    [{ username: 'a'.repeat(10_240), password: 'x' }, ['username: must have at most 320 characters']],
    [{ username: 'ada', password: 'x'.repeat(1025) }, ['password: must have at most 1024 characters']],
    [{ username: 'ada\n', password: 'x' }, ['username: must not contain control characters']],
    [{ username: 'a\u0000da', password: 'x' }, ['username: must not contain control characters']],
    [{ username: 'a\u0085da', password: 'x' }, ['username: must not contain control characters']],
    [{ token: '' }, ['token: must not be empty']],
    [
      { username: null, password: null, token: null, stateToken: null },
      ['username: username and password, token, or stateToken is required'],
    ],
    [{ stateToken: 'h'.repeat(129) }, ['stateToken: must have at most 128 characters']],
    [{ ...CREDENTIALS, options: 'x' }, ['options: must be an object or null']],
    [{ ...CREDENTIALS, options: [] }, ['options: must be an object or null']],
    [
      { ...CREDENTIALS, options: { warnBeforePasswordExpired: 'yes' } },
      ['options.warnBeforePasswordExpired: must be true or false'],
    ],
    [
      { ...CREDENTIALS, options: { multiOptionalFactorEnroll: 1 } },
      ['options.multiOptionalFactorEnroll: must be true or false'],
    ],
    [{ ...CREDENTIALS, context: 'x' }, ['context: must be an object or null']],
    [{ ...CREDENTIALS, context: { deviceToken: 17 } }, ['context.deviceToken: must be a string']],
    [
      { ...CREDENTIALS, context: { deviceToken: 'x'.repeat(2000) } },
      ['context.deviceToken: must have at most 1024 characters'],
    ],
    [{ ...CREDENTIALS, audience: 17 }, ['audience: must be a string']],
    [{ ...CREDENTIALS, relayState: 'x'.repeat(2049) }, ['relayState: must have at most 2048 characters']],
  ])('%#', (body, causes) => {
    expect(causesOf(primaryBody, body)).toEqual(causes)
  })

  test('no refusal contains a value', () => {
    const secret = 'very-secret'
    for (const body of [
      { username: secret },
      { password: secret },
      { username: `${secret}\n`, password: [secret] },
      { ...CREDENTIALS, options: secret, context: { deviceToken: { secret } } },
      { token: secret.repeat(200) },
    ]) {
      expect(causesOf(primaryBody, body).join()).not.toContain(secret)
    }
  })
})

describe('primary authentication accepts', () => {
  // shows: V6.2.8
  test('passwords, byte for byte', () => {
    const spaces = [' ', '  leading and trailing  ', '\n', '\u200b']
    for (const password of [...spaces, 'NUL\u0000', '😀', 'e\u0301', '\ud800', 'ﬁ']) {
      expect(parse(primaryBody, { username: 'ada', password })).toEqual({ username: 'ada', password })
    }
    fc.assert(
      fc.property(fc.string({ unit: codePoint, minLength: 1, maxLength: 512 }), (password) => {
        expect(parse(primaryBody, { username: 'ada', password }).password).toBe(password)
      }),
    )
  })

  // shows
  test('null in an optional field, which counts as missing', () => {
    const names = ['token', 'stateToken', 'options', 'context', 'audience', 'relayState']
    const nulls = Object.fromEntries(names.map((name) => [name, null]))
    expect(parse(primaryBody, { ...CREDENTIALS, ...nulls })).toStrictEqual(CREDENTIALS)
    const members = { warnBeforePasswordExpired: null, multiOptionalFactorEnroll: true }
    expect(
      parse(primaryBody, { ...CREDENTIALS, options: members, context: { deviceToken: null } }),
    ).toStrictEqual({ ...CREDENTIALS, options: { multiOptionalFactorEnroll: true }, context: {} })
  })

  // shows: V2.2.1, V8.2.3, V15.3.3
  test('unknown fields, which are dropped at every depth, also `__proto__`', () => {
    const body = JSON.parse(
      '{"username":"ada","password":"x","admin":true,"__proto__":{"token":"t"},"constructor":1,' +
        '"options":{"warnBeforePasswordExpired":true,"unknown":1},"context":{"deviceToken":"d","x":1},"href":"y"}',
    )
    const parsed = parse(primaryBody, body)
    expect(JSON.stringify(parsed)).toBe(
      '{"username":"ada","password":"x","options":{"warnBeforePasswordExpired":true},"context":{"deviceToken":"d"}}',
    )
    expect(parsed.token).toBeUndefined()
  })
})

describe('every step', () => {
  test('needs a handle', () => {
    for (const { body } of OPERATIONS) {
      for (const given of [{}, { stateToken: null }, { stateToken: 17 }, { stateToken: ['h'] }]) {
        expect(causesOf(body, given)).toContain('stateToken: must be a string')
      }
      expect(causesOf(body, { stateToken: 'h'.repeat(129) })[0]).toMatch(/^stateToken: /)
    }
  })

  test('refuses a body that is not an object', () => {
    for (const { body } of OPERATIONS) {
      for (const given of [null, undefined, [], 'x', 17]) expect(causesOf(body, given)[0]).toMatch(/^body: /)
    }
  })

  test.each([
    ['verify', { passCode: '' }], // with which the sign-in widget requests a code
    ['verify', { passCode: '1', nextPassCode: '2' }],
    ['activate', { passCode: '1', nextPassCode: '2' }],
    ['activate', { version: 'U2F_V2', challenge: 'c', registrationData: 'r', clientData: 'd' }],
    ['duo_callback', { sig_response: 's' }], // real pages leave out the `id`
  ])('%s keeps %j', (name, fields) => {
    const given = { stateToken: 'h', ...fields }
    const steps = OPERATIONS.filter((one) => one.name === name)
    expect(steps.map(({ body }) => parse(body, given))).toContainEqual(given)
  })

  // shows, F-3.1, F-3.3, V6.2.3
  test.each<[z.ZodType, Record<string, unknown>, string]>([
    [verifyBody, { passCode: 123456 }, 'passCode: must be a string'],
    [verifyBody, { passCode: 'x'.repeat(257) }, 'passCode: must have at most 256 characters'],
    [verifyBody, { answer: '' }, 'answer: must not be empty'],
    [verifyBody, { clientData: 'x'.repeat(20_000) }, 'clientData: must have at most 16384 characters'],
    [changePasswordBody, { newPassword: 'n' }, 'oldPassword: must be a string'],
    [changePasswordBody, { oldPassword: 'o' }, 'newPassword: must be a string'],
    [enrollBody, { provider: 'X' }, 'factorType: must be a string'],
    [enrollBody, { factorType: 'sms', provider: 'X', profile: 'x' }, 'profile: must be an object or null'],
    [verifyBody, { password: '' }, 'password: must not be empty'],
    [verifyBody, { password: ['x'] }, 'password: must be a string'],
    [verifyBody, { password: 'x'.repeat(1025) }, 'password: must have at most 1024 characters'],
    [
      enrollBody,
      { factorType: 'sms', provider: 'X', profile: { validatePhone: 'false' } },
      'profile.validatePhone: must be true or false',
    ],
    [
      enrollBody,
      { factorType: 'sms', provider: 'X', profile: { phoneNumber: 17 } },
      'profile.phoneNumber: must be a string',
    ],
    [recoveryBody, { username: 'ada' }, 'factorType: must be EMAIL, SMS or CALL'],
    [recoveryBody, { username: 'ada', factorType: 'email' }, 'factorType: must be EMAIL, SMS or CALL'],
    [recoveryBody, { username: 'ada', factorType: null }, 'factorType: must be EMAIL, SMS or CALL'],
    [recoveryBody, { factorType: 'EMAIL' }, 'username: must be a string'],
    [recoveryTokenBody, { recoveryToken: '' }, 'recoveryToken: must not be empty'],
    [recoveryTokenBody, { recoveryToken: 'a\nb' }, 'recoveryToken: must not contain control characters'],
  ])('%#: the cause names the field', (schema, body, cause) => {
    expect(causesOf(schema, { stateToken: 'h', ...body })).toEqual([cause])
  })

  test('the password of a verification or enrollment passes byte for byte', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, minLength: 1, maxLength: 512 }), (password) => {
        expect(parse(verifyBody, { stateToken: 'h', password }).password).toBe(password)
        const factor = { stateToken: 'h', factorType: 'password', provider: 'OKTA' }
        expect(parse(enrollBody, { ...factor, profile: { password } }).profile?.password).toBe(password)
      }),
    )
  })

  test('null in an optional field counts as missing', () => {
    const required: Readonly<Record<string, Record<string, unknown>>> = {
      change_password: { oldPassword: 'o', newPassword: 'n' },
      reset_password: { newPassword: 'n' },
      recovery_answer: { answer: 'a' },
      recovery_verify: { passCode: '1' },
      enroll: { factorType: 'sms', provider: 'OKTA' },
      duo_callback: { id: 'dsf1', sig_response: 's' },
    }
    const names = ['passCode', 'nextPassCode', 'answer', 'password', 'clientData', 'signatureData']
    const others = ['authenticatorData', 'attestation', 'registrationData', 'profile', 'revokeSessions']
    const nulls = Object.fromEntries(
      [...names, ...others, 'factorType', 'provider'].map((name) => [name, null]),
    )
    for (const { name, body } of OPERATIONS) {
      const given = { stateToken: 'h', ...required[name] }
      expect(parse(body, { ...nulls, ...given })).toStrictEqual(given)
    }
    const profile = { phoneNumber: '+1 555 0100', phoneExtension: null, email: null, validatePhone: null }
    const enrollment = { stateToken: 'h', factorType: 'sms', provider: 'OKTA' }
    expect(parse(enrollBody, { ...enrollment, profile })).toStrictEqual({
      ...enrollment,
      profile: { phoneNumber: '+1 555 0100' },
    })
    const recovery = { username: 'ada', factorType: 'SMS' }
    expect(parse(recoveryBody, { ...recovery, relayState: null })).toStrictEqual(recovery)
    expect(parse(recoveryTokenBody, { recoveryToken: 't', options: null })).toStrictEqual({
      recoveryToken: 't',
    })
  })
})

describe('query flags', () => {
  test.each(['', '1', 'TRUE', 'yes', ['true', 'true'], { a: 'true' }, 'true,true'])(
    '%j is refused',
    (value) => {
      expect(causesOf(queryFlags, { rememberDevice: value })).toEqual([
        'rememberDevice: must be true or false, once',
      ])
    },
  )

  test('true and false are accepted; a missing flag stays missing', () => {
    expect(parse(queryFlags, { rememberDevice: 'true', autoPush: 'false', other: 'x' })).toEqual({
      rememberDevice: 'true',
      autoPush: 'false',
    })
    expect(parse(queryFlags, {})).toEqual({})
  })
})
