import { record } from '../upstream/read-answer.ts'

/** Factor types that no user may see (`HIDDEN_FACTORS`), even if the org's policies offer them. */
export type HiddenFactors = ReadonlySet<string>

type Members = Readonly<Record<string, unknown>>

/**
 * Removes hidden factors from an answer, so that their steps are not offered: from its lists, and
 * the one in use with its links. Okta may have challenged it before this broker received the
 * transaction.
 */
export function removeHiddenFactors(answer: Members, hidden: HiddenFactors): Members {
  if (!('_embedded' in answer)) return answer
  if (isInUse(answer, hidden)) return withoutFactorInUse(answer)
  const isShown = (entry: unknown) => !isHidden(record(entry).factorType, hidden)
  const shown = Object.entries(record(answer._embedded)).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.filter(isShown) : value,
  ])
  return { ...answer, _embedded: Object.fromEntries(shown) }
}

/**
 * Whether a hidden factor is being verified or enrolled. All security keys are challenged by their
 * type.
 */
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
