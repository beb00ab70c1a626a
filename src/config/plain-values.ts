import { z } from 'zod'

/**
 * What `read` makes of a value. Without a reason, the message of its error is shown, which must not
 * quote the value.
 */
export const readBy = <T>(read: (text: string) => T, reason?: string) =>
  z.string().transform((text, context) => {
    try {
      return read(text)
    } catch (error) {
      context.addIssue(reason ?? Object(error).message)
      return z.NEVER
    }
  })

export const matching = (pattern: RegExp, reason: string) =>
  z.string().regex(pattern, { error: reason, abort: true })

/**
 * Separated by commas or lines; repeated entries are ignored. A problem has the index of its entry
 * in its path.
 */
export const listOf = <T>(entry: z.ZodType<T, string>) =>
  z
    .string()
    .transform((text) => [...new Set(text.split(/[,\r\n]/).map((part) => part.trim()))].filter(Boolean))
    .pipe(z.array(entry).min(1, 'has no entry'))
    .transform((values): readonly T[] => [...new Set(values)])

export const wholeNumber = (min: number, max: number) =>
  matching(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))

/** YAML 1.1 reads `on` without quotes as true. */
export const onOrOff = z
  .enum(['on', 'off'], 'must be on or off; in YAML, write it in quotes')
  .transform((text) => text === 'on')

/** In lower case. A single label is allowed: Windows domains have one. */
export const domain = matching(
  /^[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)*$/u,
  'must be a domain without @, such as example.com',
).toLowerCase()

/** For secrets that go into a header or a body unchanged. */
export const visibleAscii = matching(/^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces')
