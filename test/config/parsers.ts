import { expect } from '@jest/globals'
import { InvalidValue } from '../../src/config/config-error.ts'

type Parse = (text: string) => unknown

/** The parser accepts each text and returns this value. */
export function expectParsed(
  parse: Parse,
  ...values: readonly (readonly [text: string, value: unknown])[]
): void {
  for (const [text, value] of values) expect([text, outcome(parse, text)]).toEqual([text, value])
}

/** The parser rejects each text for this reason alone. */
export function expectInvalid(parse: Parse, reason: string, ...texts: readonly string[]): void {
  for (const text of texts) expect([text, outcome(parse, text)]).toEqual([text, { invalid: [reason] }])
}

/** The parsed value, or the reasons why the parser rejects the text. */
export function outcome(parse: Parse, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof InvalidValue) return { invalid: error.reasons }
    throw error
  }
}
