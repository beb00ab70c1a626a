import fc from 'fast-check'

/**
 * A character of any text that UTF-8 can hold: fast-check's unit `binary`, which keeps a map of a million entries and takes a
 * second of processor time to make it.
 */
export const codePoint = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((number) => String.fromCodePoint(number), numberOf)

function numberOf(text: unknown): number {
  const number = typeof text === 'string' ? text.codePointAt(0) : undefined
  if (number === undefined || text !== String.fromCodePoint(number)) throw new Error('not one character')
  return number
}
