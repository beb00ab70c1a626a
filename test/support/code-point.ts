import fc from 'fast-check'

/**
 * Any Unicode character. Replaces fast-check's unit `binary`, whose map of a million entries takes
 * a second to create.
 */
export const codePoint = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((number) => String.fromCodePoint(number), numberOf)

function numberOf(text: unknown): number {
  const number = typeof text === 'string' ? text.codePointAt(0) : undefined
  if (number === undefined || text !== String.fromCodePoint(number)) throw new Error('not one character')
  return number
}
