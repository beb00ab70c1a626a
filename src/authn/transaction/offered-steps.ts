/** The steps that Okta offered in a transaction. Pure: no packages, no I/O. */

export interface OfferedStep {
  /** Okta's path, normalized by `normalizePath`. */
  readonly path: string
  /** Okta's query with its `?`, or empty. Only redirects use it. */
  readonly query: string
  /** From `hints.allow`; empty if the link has no hints, which allows every method. */
  readonly methods: readonly string[]
  /** The whole link if it is a redirect for the browser; undefined for a call. */
  readonly href?: string | undefined
}

/** The path of an enrollment picture (QR code). Its last segment is one of Okta's tokens. */
export const PICTURE = /^(\/api\/v1\/users\/[^/]+\/factors\/[^/]+\/qr\/)([^/]+)$/

/** Adds steps to those offered before. Each path and query has one entry, with all its methods. */
export function mergeSteps(before: readonly OfferedStep[], added: readonly OfferedStep[]): OfferedStep[] {
  const merged = new Map<string, OfferedStep>()
  for (const step of [...before, ...added]) {
    const key = step.path + step.query
    const known = merged.get(key)
    merged.delete(key) // so that the newest entry is the last one
    merged.set(
      key,
      known === undefined ? step : { ...step, methods: mergeMethods(known.methods, step.methods) },
    )
  }
  return [...merged.values()]
}

export function findStep(
  offered: readonly OfferedStep[],
  method: string,
  path: string,
): OfferedStep | undefined {
  return offered.findLast(
    (step) => step.path === path && (step.methods.length === 0 || step.methods.includes(method)),
  )
}

/** The redirect that Okta offered for this path, if any. */
export function findRedirect(offered: readonly OfferedStep[], path: string): string | undefined {
  return findStep(offered, 'GET', path)?.href
}

function mergeMethods(one: readonly string[], other: readonly string[]): string[] {
  return one.length === 0 || other.length === 0 ? [] : [...new Set([...one, ...other])]
}

const PLAIN_PATH = /^[\w/.~-]*$/

/** A path in one form for comparison: Okta and browsers may percent-encode a character, such as a colon, or not. */
export function normalizePath(path: string): string {
  if (PLAIN_PATH.test(path)) return path
  return path
    .split('/')
    .map((segment) => {
      try {
        return encodeURIComponent(decodeURIComponent(segment))
      } catch {
        return segment // a stray percent sign: no route matches it
      }
    })
    .join('/')
}
