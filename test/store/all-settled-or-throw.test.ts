import { expect, test } from '@jest/globals'
import { allSettledOrThrow } from '../../src/store/store.ts'

test('returns all results in order', async () => {
  expect(await allSettledOrThrow(Promise.resolve(1), Promise.resolve('two'))).toEqual([1, 'two'])
  expect(await allSettledOrThrow()).toEqual([])
})

test('throws the first failure only after all writes have ended', async () => {
  let write = () => {}
  const slow = new Promise<void>((resolve) => {
    write = resolve
  })
  let told: unknown
  const written = allSettledOrThrow(
    Promise.reject(new Error('first')),
    slow,
    Promise.reject(new Error('second')),
  )
  const ended = written.catch((error: unknown) => {
    told = error
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(told).toBeUndefined()
  write()
  await ended
  expect(told).toMatchObject({ message: 'first' })
})
