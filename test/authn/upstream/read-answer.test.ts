import { expect, test } from '@jest/globals'
import { isWrongOldPassword } from '../../../src/authn/upstream/read-answer.ts'

const WRONG = 'oldPassword: The credentials provided were incorrect.'
const WEAK = 'Passwords must have at least 8 characters, a lowercase letter, no parts of your username'

const causes = (...summaries: unknown[]) => summaries.map((errorSummary) => ({ errorSummary }))

test.each([
  ['the documented cause', 'E0000014', causes(WRONG), true],
  ['it in another language', 'E0000014', causes('oldPassword: Falsche Zugangsdaten.'), true],
  ['it in words', 'E0000014', causes('Old Password is not correct'), true],
  ['both passwords refused', 'E0000014', causes(WEAK, WRONG), true],
  ['the policy', 'E0000014', causes(WEAK), false],
  ['the history', 'E0000014', causes('Password has been used too recently'), false],
  ['the old password again', 'E0000014', causes('Password cannot be your current password'), false],
  ['a new one like the old', 'E0000014', causes('newPassword: must differ from oldPassword'), false],
  ['no cause', 'E0000014', [], false],
  ['causes of another shape', 'E0000014', ['oldPassword: no object', null, 7], false],
  ['causes that are not a list', 'E0000014', undefined, false],
  ['a field that is missing', 'E0000001', causes('oldPassword: The field cannot be left blank'), false],
])('whether the old password is wrong: %s', (_name, errorCode, errorCauses, isWrong) => {
  expect(isWrongOldPassword({ errorCode, body: { errorCauses } })).toBe(isWrong)
})
