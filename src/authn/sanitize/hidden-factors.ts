import { record } from '../upstream/read-answer.ts'

/** Factor types that no user may see (`HIDDEN_FACTORS`), such as the security question, whatever the org's policies offer. */
export type HiddenFactors = ReadonlySet<string>

/**
 * The answer without hidden factors in its lists, so that their steps are never offered either. A factor outside a list stays,
 * because it is the one that the transaction is about. `isHiddenStep` refuses its steps.
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

/** Whether a step is about a hidden factor: `factorType` is that of the factor in its path, `fields` may name one to enrol. */
export function isHiddenStep(
  factorType: string | undefined,
  fields: Readonly<Record<string, unknown>>,
  hidden: HiddenFactors,
): boolean {
  return isHidden(factorType, hidden) || isHidden(fields.factorType, hidden)
}

/** Okta may ignore the case of what a browser sends. */
function isHidden(factorType: unknown, hidden: HiddenFactors): boolean {
  return typeof factorType === 'string' && hidden.has(factorType.toLowerCase())
}
