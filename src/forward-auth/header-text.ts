import type { ForwardAuthRules } from './forward-auth-rules.ts'

/**
 * A text as a header value, one byte for each character: `decodeURIComponent` gives the text in
 * both encodings, after the bytes were read as UTF-8.
 */
export function toHeaderText(text: string, encoding: ForwardAuthRules['encoding']): string {
  return encoding === 'utf-8' ? encodeLiterally(text) : percentEncode(text)
}

/** Values of a list, separated by commas. */
export function toHeaderList(texts: readonly string[], encoding: ForwardAuthRules['encoding']): string {
  return texts.map((text) => toHeaderText(text, encoding).replaceAll(',', '%2C')).join()
}

/** Leaves no line break, comma or non-ASCII byte that a proxy or an application could misread. */
function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()) // a lone surrogate has no UTF-8
}

/**
 * Control characters and line separators, which a header cannot carry; white space at both ends,
 * which receivers remove, so that one user's login would become another's; and `%`, so that no text
 * looks like one that was encoded.
 */
const NOT_LITERAL = /[\p{Cc}\p{Zl}\p{Zp}%]|^\s|\s$/gu

/** For applications that do not decode: what a header can carry is sent as it is, in UTF-8. */
function encodeLiterally(text: string): string {
  const safe = text.toWellFormed().replace(NOT_LITERAL, encodeURIComponent)
  return Buffer.from(safe).toString('latin1') // as which Node writes headers
}
