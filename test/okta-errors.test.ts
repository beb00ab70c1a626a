import { describe, expect, test } from '@jest/globals'
import * as errors from '../src/errors.ts'
import { errorOf, OKTA_ERRORS, type OktaError, readError, tokenEvidence } from '../src/okta-errors.ts'

const causes = (...summaries: unknown[]) => summaries.map((errorSummary) => ({ errorSummary }))

/** What an Error object means for the limits and the page. */
function read(errorCode: string, status: number, body: object = {}, operation = 'change_password') {
  const { counts, message } = readError({ errorCode, status, body: { ...body } }, operation)
  return `${counts} ${message}`
}

describe('an error that Okta words in several ways', () => {
  const WRONG = 'oldPassword: The credentials provided were incorrect.'
  const WEAK = 'Passwords must have at least 8 characters, a lowercase letter, no parts of your username'
  const ALL_RULES = 'Password requirements were not met. Password requirements: at least 8 characters.'
  const OF_AGE =
    ' Your password cannot be any of your last 4 passwords. At least 2 hour(s) must have elapsed since you last changed your password.'

  test.each([
    ['the documented cause', 403, causes(WRONG), 'guess wrongOldPassword'],
    ['it in another language', 403, causes('oldPassword: Falsche Zugangsdaten.'), 'guess wrongOldPassword'],
    ['it in words', 403, causes('Old Password is not correct'), 'guess wrongOldPassword'],
    // S5, S6: in another language, only the status tells
    ['it with status 400', 400, causes('Old password is not correct'), 'guess wrongOldPassword'],
    ['its status alone', 400, causes('Das alte Passwort ist nicht richtig'), 'guess wrongOldPassword'],
    ['both passwords refused', 403, causes(WEAK, WRONG), 'guess wrongOldPassword'],
    ['the policy', 403, causes(WEAK), 'call passwordRules'],
    ['the policy with status 400', 400, causes(ALL_RULES), 'call passwordRules'],
    ['the policy with rules of age', 403, causes(ALL_RULES + OF_AGE), 'call passwordRules'],
    ['the history alone', 403, causes(OF_AGE.split('. ')[0]), 'call passwordUsedBefore'],
    ['the minimum age alone', 403, causes(OF_AGE.split('. ')[1]), 'call passwordTooNew'],
    ['the policy in German', 403, causes('Passwortanforderungen nicht erfüllt.'), 'call passwordRules'],
    ['the history', 403, causes('Password has been used too recently'), 'call passwordUsedBefore'],
    ['the old one again', 403, causes('Password cannot be your current password'), 'call passwordUsedBefore'],
    ['a new one like it', 403, causes('newPassword: must differ from oldPassword'), 'call passwordRules'],
    ['no cause', 403, [], 'call passwordRules'],
    ['causes of another shape', 403, ['oldPassword: no object', null, 7], 'call passwordRules'],
    ['no list of causes', 403, undefined, 'call passwordRules'],
  ])('E0000014: %s', (_name, status, errorCauses, meaning) => {
    expect(read('E0000014', status, { errorCauses })).toBe(meaning)
  })

  test('E0000080: the policy with rules of age', () => {
    expect(read('E0000080', 403, { errorCauses: causes(ALL_RULES + OF_AGE) })).toBe('call passwordRules')
  })

  test('a field that is missing is no wrong password', () => {
    const errorCauses = causes('oldPassword: The field cannot be left blank')
    expect(read('E0000001', 400, { errorCauses })).toBe('call invalidInput')
  })
})

test('E0000006 at the password refuses the address (S14)', () => {
  const refuses = (operation: string) =>
    readError({ errorCode: 'E0000006', status: 403, body: {} }, operation).refusesAddress === true
  expect(['primary', 'state', 'verify', 'recovery_token'].map(refuses)).toEqual([true, true, false, false])
})

test('E0000006 is a used or expired link in the answer to a recovery token only (R7)', () => {
  expect(read('E0000006', 403, {}, 'recovery_token')).toBe('token linkExpired')
  expect(read('E0000006', 403, {}, 'verify')).toBe('call notAllowed')
})

test.each([
  ['E0000004', 401, 'accepted'],
  ['E0000207', 401, 'accepted'],
  ['E0000068', 403, 'accepted'],
  ['E0999999', 403, 'accepted'],
  ['E0999999', 400, 'unknown'],
  ['E0000006', 403, 'unknown'], // an address that is refused before the token is read (S14)
  ['E0000047', 429, 'unknown'],
  ['E0000068', 500, 'unknown'],
  ['E0000240', 502, 'unknown'],
  ['E0000011', 401, 'perhaps-refused'],
])('%s with %d shows of the API token: %s', (errorCode, status, evidence) => {
  expect(tokenEvidence({ errorCode, status })).toBe(evidence)
})

test('a code that is not in the table counts by its status alone', () => {
  expect(errorOf('E0999999')).toBeUndefined()
  expect(errorOf('constructor')).toBeUndefined()
  expect(read('E0999999', 403)).toBe('nothing unknown')
})

test('every error that the broker creates with a code of Okta has a row, with its status', () => {
  const limit = { limit: 5, resetAtSeconds: 1_800_000_000, retryAfterSeconds: 7 }
  const created = [
    errors.invalidField(),
    errors.bodyTooLarge(1),
    errors.headersTooLong(),
    errors.requestTooSlow(),
    errors.unmetExpectation(),
    errors.notJson(),
    errors.wrongContentType('x'),
    errors.noSession(),
    errors.addressBlocked(),
    errors.unknownHandle(),
    errors.notAllowed(),
    errors.stepNotOffered(),
    errors.wrongCode(),

    errors.tooManyWrongCodes(),
    errors.notFound('x'),
    errors.wrongMethod('GET'),
    errors.sessionChanged(),
    errors.rateLimited(limit),
    errors.sentRecently('SMS', 30),
    errors.sentRecently('CALL', 30),
    errors.internalError(),
    errors.storeUnavailable(),
    errors.upstreamUnavailable(),
    errors.upstreamTimeout(),
    errors.overloaded(),
    errors.stepInProgress(),
  ]
  for (const { code, status } of created)
    expect([code, errorOf(code)?.statuses]).toEqual([code, expect.arrayContaining([status])])
  // the codes of the catalogue, so that none is left out above
  expect(new Set(created.map(({ code }) => code)).size).toBe(15)
})

test('a limit on messages is no guess, and has a time to wait', () => {
  const table: Readonly<Record<string, OktaError>> = OKTA_ERRORS
  const limits = Object.entries(table).filter(([, { sendLimitS }]) => sendLimitS !== undefined)
  expect(limits.map(([code]) => Number(code.slice(1)))).toEqual([
    109, 118, 133, 146, 147, 150, 151, 186, 204, 205,
  ])
  for (const [code, { counts }] of limits) expect([code, counts]).not.toEqual([code, 'guess'])
})
