import { FACTOR_TYPE_NAMES } from '../factor-types.ts'
import { InvalidValue } from './config-error.ts'

/** A whole number in decimal digits. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max))
      throw new InvalidValue(`must be a whole number from ${min} to ${max}`)
    return value
  }
}

export function oneOf<const T extends string>(...choices: readonly T[]): (text: string) => T {
  return (text) => {
    const choice = choices.find((each) => each === text)
    if (choice === undefined) throw new InvalidValue(`must be ${choices.join(' or ')}`)
    return choice
  }
}

/** A name of Okta's factor types. */
export const factorType = oneOf(...FACTOR_TYPE_NAMES)

export const onOrOff = (text: string): boolean => oneOf('on', 'off')(text) === 'on'

/** Comma-separated, without empty and repeated entries. A refusal names the entry by its position. */
export function listOf<T>(parse: (entry: string) => T, separator = /,/): (text: string) => readonly T[] {
  return (text) => {
    const entries = text.split(separator).map((entry) => entry.trim())
    const given = [...new Set(entries.filter((entry) => entry !== ''))]
    if (given.length === 0) throw new InvalidValue('has no entry')
    const reasons: string[] = []
    const values = given.flatMap((entry, index) => {
      try {
        return [parse(entry)]
      } catch (error) {
        if (!(error instanceof InvalidValue)) throw error
        const place = given.length > 1 ? `entry ${index + 1} ` : ''
        reasons.push(...error.reasons.map((reason) => `${place}${reason}`))
        return []
      }
    })
    if (reasons.length > 0) throw new InvalidValue(...reasons)
    return values
  }
}

/** Lower case. A single label is allowed: Windows domains have one. */
export function domain(text: string): string {
  if (text.startsWith('@')) throw new InvalidValue('must be a domain without the @')
  const name = text.toLowerCase()
  if (name.length > 253 || !DOMAIN.test(name)) throw new InvalidValue('must be a domain, such as example.com')
  return name
}

const LABEL = '[\\p{L}\\p{N}](?:[\\p{L}\\p{M}\\p{N}_-]{0,61}[\\p{L}\\p{M}\\p{N}])?'
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`, 'u')

/** For secrets that go into a header or a body unchanged. */
export function visibleAscii(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new InvalidValue('must be visible ASCII characters without spaces')
  return text
}
