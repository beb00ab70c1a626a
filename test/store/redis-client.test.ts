import { expect, test } from '@jest/globals'
import { backoffMs, leavesReadOnly } from '../../src/store/redis-client.ts'

test('a server that takes no writes is left once, not at every write that it refuses; for another error never', () => {
  let nowMs = 0
  const leaves = leavesReadOnly(() => nowMs)
  const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })
  const readOnly = reply("READONLY You can't write against a read only replica.")
  expect([leaves(reply('OOM')), leaves(readOnly), leaves(readOnly)]).toEqual([false, true, false])
  nowMs = 499
  expect(leaves(readOnly)).toBe(false)
  nowMs = 500
  expect([leaves(readOnly), leaves(readOnly)]).toEqual([true, false])
})

test('attempts to connect come later and later, up to two seconds, each by chance up to half of it sooner', () => {
  const latest = [1, 2, 3, 10, 1000].map((attempt) => backoffMs(attempt, () => 1))
  expect(latest).toEqual([50, 100, 200, 2000, 2000])
  expect([1, 1000].map((attempt) => backoffMs(attempt, () => 0))).toEqual([25, 1000])
})
