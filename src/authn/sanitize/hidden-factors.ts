import { record } from '../upstream/read-answer.ts'

/** Factor types that no user may see (`HIDDEN_FACTORS`), even if the org's policies offer them. */
export type HiddenFactors = ReadonlySet<string>

type Members = Readonly<Record<string, unknown>>

/**
 * Removes hidden factors from an answer, so that their steps are not offered: from its lists, and the one in use with its
 * links. Okta may have challenged it before this broker received the transaction.
 */
export function removeHiddenFactors(
  answer: Members,
  hidden: HiddenFactors,
): { readonly answer: Members; readonly allHidden: boolean } {
  if (isInUse(answer, hidden)) return { answer: withoutFactorInUse(answer), allHidden: false }
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

/** Whether a hidden factor is being verified or enrolled. All security keys are challenged by their type. */
function isInUse({ status, factorType, _embedded }: Members, hidden: HiddenFactors): boolean {
  const { factor } = record(_embedded)
  const challengedType = status === 'MFA_CHALLENGE' ? factorType : undefined
  return isHidden(record(factor).factorType, hidden) || isHidden(challengedType, hidden)
}

function withoutFactorInUse({ _links, _embedded, ...answer }: Members): Members {
  const { next, resend, ...links } = record(_links)
  const { factor, factors, challenge, ...embedded } = record(_embedded)
  return { ...answer, _embedded: embedded, _links: links }
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
