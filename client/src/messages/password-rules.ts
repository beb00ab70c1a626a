import type { PasswordPolicy } from '../answers.ts'

const COUNTED = [
  'minLength',
  'minLowerCase',
  'minUpperCase',
  'minNumber',
  'minSymbol',
  'historyCount',
] as const

/** A rule for new passwords. A minimum age is not one: it only says when a password may change. */
export type PasswordRule = CountedRule | PlainRule

export type CountedRule = (typeof COUNTED)[number]

type PlainRule = 'excludeUsername' | 'excludeFirstName' | 'excludeLastName' | 'notUsedBefore' | 'notCommon'

export interface AppliedRule {
  readonly key: PasswordRule
  /** Of a counted rule, such as the minimum length. */
  readonly count?: number
}

/** Okta names a broken rule, or all rules of the policy, in English sentences. */
const SENTENCES: readonly (readonly [PasswordRule, RegExp])[] = [
  ['minLength', /at least (\d+) characters?/i],
  ['minLowerCase', /(?:(\d+)|an?) lowercase/i],
  ['minUpperCase', /(?:(\d+)|an?) uppercase/i],
  ['minNumber', /(?:(\d+)|an?) (?:number|digit)/i],
  ['minSymbol', /(?:(\d+)|an?) (?:symbol|special)/i],
  ['historyCount', /last (\d+) passwords/i],
  ['excludeUsername', /username/i],
  ['excludeFirstName', /first name/i],
  ['excludeLastName', /last name/i],
  ['notUsedBefore', /used too recently|be your current password/i],
  ['notCommon', /commonly used/i],
]
export const isCounted = (key: PasswordRule): key is CountedRule =>
  (COUNTED as readonly PasswordRule[]).includes(key)

/** The rules that a cause names. None if it is in another language. */
export function rulesIn(cause: string): AppliedRule[] {
  return SENTENCES.flatMap(([key, pattern]) => {
    const found = pattern.exec(cause)
    if (found === null) return []
    return [isCounted(key) ? { key, count: Number(found[1] ?? 1) } : { key }]
  })
}

/**
 * `At least 2 hour(s) must have elapsed since you last changed your password.`: no rule for the new
 * password, but perhaps why it was refused.
 */
export function minimumAgeIn(cause: string): string | undefined {
  return /[^.]*must have elapsed[^.]*\.?/i.exec(cause)?.[0].trim()
}

/** The rules of a policy that are on. Some orgs send −1 for one that is off. */
export function rulesOf({ complexity = {}, age = {} }: PasswordPolicy): AppliedRule[] {
  const counts = { ...complexity, historyCount: age.historyCount }
  const counted = COUNTED.flatMap((key) => {
    const count = counts[key] ?? 0
    return count > 0 ? [{ key, count }] : []
  })
  const { excludeUsername, excludeAttributes = [] } = complexity
  const isOn = {
    excludeUsername: excludeUsername === true,
    excludeFirstName: excludeAttributes.includes('firstName'),
    excludeLastName: excludeAttributes.includes('lastName'),
  }
  const plain = (Object.keys(isOn) as (keyof typeof isOn)[]).filter((key) => isOn[key]) // literals
  return [...counted, ...plain.map((key) => ({ key }))]
}
