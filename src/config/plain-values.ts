import { z } from 'zod'
import { ConfigError } from './config-error.ts'

/** A value that `parse` reads. Only the problems of a ConfigError are shown: other errors may quote the value. */
export const parsed = <T>(parse: (text: string) => T) =>
  z.string().transform((text, context) => {
    try {
      return parse(text)
    } catch (error) {
      const problems = error instanceof ConfigError ? error.problems : ['cannot be parsed']
      for (const problem of problems) context.addIssue(problem)
      return z.NEVER
    }
  })

export const matching = (pattern: RegExp, reason: string) =>
  z.string().regex(pattern, { error: reason, abort: true })

/** Without empty entries. */
export const entriesOf = (text: string, separator = /,/): string[] =>
  text
    .split(separator)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** Comma-separated; repeated entries are ignored. A problem has the index of its entry in its path. */
export const listOf = <T>(entry: z.ZodType<T, string>, separator?: RegExp) =>
  z
    .string()
    .transform((text) => [...new Set(entriesOf(text, separator))])
    .pipe(z.array(entry).min(1, 'has no entry'))
    .transform((values): readonly T[] => [...new Set(values)])

const isWholeNumber = (text: string, min: number, max: number) =>
  /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max

/** A whole number in decimal digits. */
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .refine((text) => isWholeNumber(text, min, max), {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number)

/** From 0 to 1, in decimal digits. */
export const ratio = matching(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1').transform(Number)

/** A whole number, or undefined for `off`. */
export const offOr = (min: number, max: number) =>
  z
    .string()
    .refine((text) => text === 'off' || isWholeNumber(text, min, max), {
      error: `must be off or a whole number from ${min} to ${max}`,
    })
    .transform((text) => (text === 'off' ? undefined : Number(text)))

export const onOrOff = z.enum(['on', 'off']).transform((text) => text === 'on')

const LABEL = '[\\p{L}\\p{N}](?:[\\p{L}\\p{M}\\p{N}_-]{0,61}[\\p{L}\\p{M}\\p{N}])?'
const DOMAIN = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`, 'u')

/** In lower case. A single label is allowed: Windows domains have one. */
export const domain = matching(DOMAIN, 'must be a domain without @, such as example.com').toLowerCase()

/** Without the wildcards of the ACL rules and of SCAN. The colon keeps `a:` from being the start of the keys of `ab:`. */
export const keyPrefix = matching(
  /^[\w.:-]{0,63}:$/,
  'must be up to 64 letters, digits and _ . : -, with a colon at the end',
)

/** For secrets that go into a header or a body unchanged. */
export const visibleAscii = matching(/^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces')
