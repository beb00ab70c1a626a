import { record } from '../upstream/read-answer.ts'

/** Factor types that no user may see (`HIDDEN_FACTORS`), even if the org's policies offer them. */
export type HiddenFactors = ReadonlySet<string>

/**
 * Removes hidden factors from the lists of an answer, so that their steps are not offered. A factor outside a list is
 * the one in use: it stays, and `isHiddenStep` refuses its steps.
 */
export function removeHiddenFactors(
  answer: Readonly<Record<string, unknown>>,
  hidden: HiddenFactors,
): { readonly answer: Readonly<Record<string, unknown>>; readonly allHidden: boolean } {
  let allHidden = false
  const shown = Object.entries(record(answer._embedded)).map(([name, value]) => {
    if (!Array.isArray(value)) return [name, value]
    const left = value.filter((entry) => !isHidden(record(entry).factorType, hidden))
    if (left.length === 0 && value.length > 0) allHidden = true
    return [name, left]
  })
  return {
    answer: '_embedded' in answer ? { ...answer, _embedded: Object.fromEntries(shown) } : answer,
    allHidden,
  }
}

/** `factorType` is that of the factor in the step's path. `fields` may have one to enroll. */
export function isHiddenStep(
  factorType: string | undefined,
  fields: Readonly<Record<string, unknown>>,
  hidden: HiddenFactors,
): boolean {
  return isHidden(factorType, hidden) || isHidden(fields.factorType, hidden)
}

/** Okta may ignore the letter case of the browser's value. */
function isHidden(factorType: unknown, hidden: HiddenFactors): boolean {
  return typeof factorType === 'string' && hidden.has(factorType.toLowerCase())
}
