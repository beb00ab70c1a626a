import { expect, test } from '@jest/globals'
import { allSettledOrThrow } from '../../src/store/all-settled-or-throw.ts'
import { deferred } from '../support/deferred.ts'

test('returns all results in order', async () => {
  expect(await allSettledOrThrow(Promise.resolve(1), Promise.resolve('two'))).toEqual([1, 'two'])
  expect(await allSettledOrThrow()).toEqual([])
})

test('throws the first failure only after all writes have ended', async () => {
  const write = deferred()
  let told: unknown
  const failures = ['first', 'second'].map((words) => Promise.reject(new Error(words)))
  const ended = allSettledOrThrow(write.promise, ...failures).catch((error: unknown) => {
    told = error
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(told).toBeUndefined()
  write.resolve()
  await ended
  expect(told).toMatchObject({ message: 'first' })
})
