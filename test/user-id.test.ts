import { expect, test } from '@jest/globals'
import { isUserId } from '../src/user-id.ts'

test('a user id consists of at most 100 letters, digits, hyphens and underscores', () => {
  for (const id of ['00u1abcDEF', 'a', '00u-with_both-0', 'u'.repeat(100)]) expect(isUserId(id)).toBe(true)
  for (const id of ['', 'u'.repeat(101), '../00u1', '00u1\n', ' 00u1', '00u1 ', '00ü1'])
    expect(isUserId(id)).toBe(false)
  for (const value of [7, null, undefined, ['00u1']]) expect(isUserId(value)).toBe(false)
})
