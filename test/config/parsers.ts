import { expect } from '@jest/globals'
import { Refusal } from '../../src/config/config-error.ts'

type Parse = (text: string) => unknown

/** Each text is taken, as this value. */
export function takes(parse: Parse, ...values: readonly (readonly [text: string, value: unknown])[]): void {
  for (const [text, value] of values) expect([text, outcome(parse, text)]).toEqual([text, value])
}

/** Each text is refused, for this reason alone. */
export function refuses(parse: Parse, reason: string, ...texts: readonly string[]): void {
  for (const text of texts) expect([text, outcome(parse, text)]).toEqual([text, { refused: [reason] }])
}

/** What the parser makes of a text, or the reasons of its refusal. */
export function outcome(parse: Parse, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.reasons }
    throw error
  }
}
