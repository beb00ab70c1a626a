/** What the upstream offered in a transaction: the only steps that are sent to it (DESIGN §1). Pure: no package, no input or output. */

/** A step that the upstream offered: where it leads, by which methods. */
export interface OfferedStep {
  /** The upstream's own path, in the spelling of `normalizePath`. */
  readonly path: string
  /** The upstream's own query with its `?`, or empty: only redirects are sent with it. */
  readonly query: string
  /** From `hints.allow`; empty when the link gave no hints, then any method is meant. */
  readonly methods: readonly string[]
  /** The whole link, where it is one for the browser to be sent to; undefined: a call. */
  readonly href?: string | undefined
}

/** An enrolment picture; the last segment of its path is a token of the upstream. */
export const PICTURE = /^(\/api\/v1\/users\/[^/]+\/factors\/[^/]+\/qr\/)([^/]+)$/

/** Adds steps to those offered before: one entry for a path and query, with the methods of all. */
export function mergeSteps(before: readonly OfferedStep[], added: readonly OfferedStep[]): OfferedStep[] {
  const merged = new Map<string, OfferedStep>()
  for (const step of [...before, ...added]) {
    const key = step.path + step.query
    const known = merged.get(key)
    merged.delete(key) // the newest mention stands last
    merged.set(
      key,
      known === undefined ? step : { ...step, methods: joinMethods(known.methods, step.methods) },
    )
  }
  return [...merged.values()]
}

/** The offered step of a path that this method may take; undefined: it was not offered. */
export function findStep(
  offered: readonly OfferedStep[],
  method: string,
  path: string,
): OfferedStep | undefined {
  return offered.findLast(
    (step) => step.path === path && (step.methods.length === 0 || step.methods.includes(method)),
  )
}

/** The link that the browser is sent to by our route of this path; undefined: none was offered. */
export function findRedirect(offered: readonly OfferedStep[], path: string): string | undefined {
  return findStep(offered, 'GET', path)?.href
}

function joinMethods(one: readonly string[], other: readonly string[]): string[] {
  return one.length === 0 || other.length === 0 ? [] : [...new Set([...one, ...other])]
}

const PLAIN_PATH = /^[\w/.~-]*$/

/** One spelling for all spellings of a path, to compare by: a colon in it may come percent-encoded or not. */
export function normalizePath(path: string): string {
  if (PLAIN_PATH.test(path)) return path
  return path
    .split('/')
    .map((segment) => {
      try {
        return encodeURIComponent(decodeURIComponent(segment))
      } catch {
        return segment // a stray percent sign: no route of ours reads it either
      }
    })
    .join('/')
}
