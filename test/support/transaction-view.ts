import type { PageAnswer } from './browser.ts'

/** Reads a response of the Authentication API. Throws if something is missing. */

export function handleOf({ json }: Pick<PageAnswer, 'json'>): string {
  if (typeof json.stateToken !== 'string') throw new Error(`no stateToken in a ${json.status} answer`)
  return json.stateToken
}

/** The href under a path of keys, such as `_links.next` or `_embedded.factors.0._links.verify`. */
export function hrefAt({ json }: Pick<PageAnswer, 'json'>, path: string): string {
  const link = valueAt(json, path)
  const href = typeof link === 'object' && link !== null && 'href' in link ? link.href : undefined
  if (typeof href !== 'string') throw new Error(`no link at ${path} in a ${json.status} answer`)
  return href
}

/** The verify link of the factor of this type. */
export function verifyHref(answer: Pick<PageAnswer, 'json'>, factorType: string): string {
  const factors = valueAt(answer.json, '_embedded.factors')
  if (!Array.isArray(factors)) throw new Error(`no factors in a ${answer.json.status} answer`)
  const index = factors.findIndex((factor: { factorType?: string }) => factor.factorType === factorType)
  return hrefAt(answer, `_embedded.factors.${index}._links.verify`)
}

/** The status and code of an error response, such as `[403, 'E0000068']`. */
export function errorOf({ status, json }: Pick<PageAnswer, 'status' | 'json'>): [number, unknown] {
  return [status, json.errorCode]
}

/** The causes of an error response. */
export function causesOf({ json }: Pick<PageAnswer, 'json'>): unknown[] {
  if (!Array.isArray(json.errorCauses)) throw new Error(`no errorCauses in a ${json.errorCode} answer`)
  return json.errorCauses.map((cause: { errorSummary?: unknown }) => cause.errorSummary)
}

/** The key path of the factor with this type (and provider) in the response. */
export function factorAt({ json }: Pick<PageAnswer, 'json'>, factorType: string, provider?: string): string {
  const factors = valueAt(json, '_embedded.factors')
  const index = Array.isArray(factors)
    ? factors.findIndex(
        (factor: { factorType?: string; provider?: string }) =>
          factor.factorType === factorType && (provider === undefined || factor.provider === provider),
      )
    : -1
  if (index < 0) throw new Error(`no ${factorType} in a ${json.status} answer`)
  return `_embedded.factors.${index}`
}

export function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => {
    if (typeof at !== 'object' || at === null) return undefined
    return Object.getOwnPropertyDescriptor(at, key)?.value
  }, value)
}
