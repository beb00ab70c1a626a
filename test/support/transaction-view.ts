import type { PageAnswer } from './browser.ts'

/** Reads an answer of the sign-in API as a page would, and fails with a plain word when something is not there. */

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

export function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => {
    if (typeof at !== 'object' || at === null) return undefined
    return Object.getOwnPropertyDescriptor(at, key)?.value
  }, value)
}
