import { record } from '../upstream/read-answer.ts'

/**
 * Factor types that the operator shows to nobody (`HIDDEN_FACTORS`), such as the security question, whatever the
 * org's policies offer. Pure: no package, no input or output.
 */
export type HiddenFactors = ReadonlySet<string>

/**
 * The answer without hidden factors in its lists, so that their steps are never offered either. One factor that
 * stands alone is left: it says what is going on, and its steps are refused by `isHiddenStep`.
 */
export function withoutHidden(
  answer: Readonly<Record<string, unknown>>,
  hidden: HiddenFactors,
): { readonly answer: Readonly<Record<string, unknown>>; readonly noneLeft: boolean } {
  if (hidden.size === 0) return { answer, noneLeft: false }
  let noneLeft = false
  const shown = Object.entries(record(answer._embedded)).map(([name, value]) => {
    if (!Array.isArray(value)) return [name, value]
    const left = value.filter((entry) => !isHidden(record(entry).factorType, hidden))
    if (left.length === 0 && value.length > 0) noneLeft = true
    return [name, left]
  })
  return {
    answer: '_embedded' in answer ? { ...answer, _embedded: Object.fromEntries(shown) } : answer,
    noneLeft,
  }
}

/** A step about a hidden factor: by the type behind the id in its path, or by the type that it wants to enrol. */
export function isHiddenStep(
  factorType: string | undefined,
  fields: Readonly<Record<string, unknown>>,
  hidden: HiddenFactors,
): boolean {
  return isHidden(factorType, hidden) || isHidden(fields.factorType, hidden)
}

/** The upstream need not be strict about case in what a browser sends. */
function isHidden(factorType: unknown, hidden: HiddenFactors): boolean {
  return typeof factorType === 'string' && hidden.has(factorType.toLowerCase())
}
