import { expect, test } from '@jest/globals'
import { isUserId } from '../../src/session/session.ts'

test.each(['00u1abcDEF', 'a', '00u-with_both-0', 'u'.repeat(100)])('a user id: %s', (id) => {
  expect(isUserId(id)).toBe(true)
})

const wrong = ['', 'u'.repeat(101), '../00u1', '00u1\n', ' 00u1', '00ü1', 7, null, undefined, ['00u1']]
test.each(wrong.map((id) => [id]))('not a user id: %j', (id) => {
  expect(isUserId(id)).toBe(false)
})
