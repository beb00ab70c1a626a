import { expect, test } from '@jest/globals'
import { z } from 'zod'

const List = z.function({ input: [], output: z.array(z.string()) })
const { longBodies, longFiles } = z
  .object({ longBodies: List, longFiles: List })
  .parse(await import(new URL('../../scripts/code-size.mjs', import.meta.url).href))

test('no file of the broker is longer than 250 lines', () => {
  expect(longFiles()).toEqual([])
})

test('no function body of the broker is longer than 40 lines', () => {
  expect(longBodies()).toEqual([])
})
