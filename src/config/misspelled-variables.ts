import type { Environment } from './environment.ts'
import { isSecret, VARIABLE_NAMES } from './variables.ts'

const NAMES = VARIABLE_NAMES.flatMap((name) => (isSecret(name) ? [name, `${name}_FILE`] : name))

/** Proxies that other programs read, and the port of a Service in Kubernetes. */
const FOREIGN = /^(https?|no)_proxy$|^HTTP_PROXY$|^GATEHOUSE_OPS_PORT$/

/**
 * Finds unknown variables whose names are close to that of a known variable that is not set. More
 * distant names are ignored: platforms set variables of their own (Kubernetes sets `REDIS_PORT` for
 * a service called redis), which must not prevent the start.
 */
export function misspelledVariables(env: Environment): string[] {
  const set = Object.keys(env).filter((name) => env[name]?.trim())
  return set.flatMap((key) => {
    const meant = [0, 1, 2].flatMap((edits) => NAMES.find((name) => resembles(key, name, edits)) ?? [])[0]
    return FOREIGN.test(key) || meant === undefined || set.includes(meant)
      ? []
      : [`${key}: is unknown; did you mean ${meant}?`]
  })
}

/** Names such as PORT and HOST are too short: many names are close to them. */
const maxEdits = ({ length }: string) => (length < 7 ? 0 : length < 10 ? 1 : 2)

function resembles(key: string, name: string, edits: number): boolean {
  if (key === name) return true
  const isLong = name.length >= 7 && edits <= maxEdits(name)
  return isLong && isWithin(edits, key.replace(/^GATEHOUSE_/, '').toUpperCase(), name)
}

/**
 * Damerau–Levenshtein distance: an edit inserts, deletes or changes a character, or swaps two
 * neighbours.
 */
function isWithin(edits: number, from: string, to: string): boolean {
  if (from === to || edits === 0) return from === to
  if (from[0] === to[0]) return isWithin(edits, from.slice(1), to.slice(1))
  const changed = from[0] === to[1] && from[1] === to[0] ? 2 : 1
  const after = (inFrom: number, inTo: number) => isWithin(edits - 1, from.slice(inFrom), to.slice(inTo))
  return after(1, 0) || after(0, 1) || after(changed, changed)
}
