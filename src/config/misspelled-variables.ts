import type { Environment } from './environment.ts'
import { isSecret, VARIABLE_NAMES } from './variables.ts'

const NAMES: readonly string[] = VARIABLE_NAMES.flatMap((name) =>
  isSecret(name) ? [name, `${name}_FILE`] : name,
)

/** Close to a known name, but also used by other programs. */
const FOREIGN = /^(PORT|HOST|NODE_ENV)_FILE$|^(HTTP_PROXY|https_proxy|no_proxy|GATEHOUSE_OPS_PORT)$/

const PROXY = /^(https?|all|no|socks[45]?|ftp)_proxy$/i

/**
 * Finds unknown variables whose names are close to that of a known variable that is not set. More distant names are
 * ignored: platforms set variables of their own (Kubernetes sets `REDIS_PORT` for a service called redis), which must
 * not prevent the start.
 */
export function misspelledVariables(env: Environment): string[] {
  const set = namesIn(env)
  return set.flatMap((key) => {
    if (NAMES.includes(key) || FOREIGN.test(key)) return []
    const plain = key.replace(/_FILE$/, '')
    if (NAMES.includes(plain)) return [`${key}: ${plain} is not a secret and cannot be read from a file`]
    const meant = NAMES.find((name) => resembles(key, name))
    return meant === undefined || set.includes(meant) ? [] : [`${key}: is unknown; did you mean ${meant}?`]
  })
}

/** Of the conventional proxy variables, the broker reads only `HTTPS_PROXY` and `NO_PROXY`. */
export const ignoredProxyVariables = (env: Environment): string[] =>
  namesIn(env)
    .filter((name) => PROXY.test(name) && !NAMES.includes(name))
    .map((name) => `${name}: is ignored. Only HTTPS_PROXY and NO_PROXY are read, in upper case`)

const namesIn = (env: Environment) => Object.keys(env).filter((name) => env[name]?.trim())

/** Names such as PORT and HOST are too short: many names are close to them. */
const resembles = (key: string, name: string) =>
  name.length >= 7 &&
  (key.replace(/^GATEHOUSE_/, '').toUpperCase() === name ||
    isWithinEdits(name.length < 10 ? 1 : 2, key, name))

/** Damerau–Levenshtein distance: an edit inserts, deletes or changes a character, or swaps two neighbours. */
function isWithinEdits(edits: number, from: string, to: string): boolean {
  if (from === to || edits === 0) return from === to
  const at = [...from].findIndex((letter, index) => letter !== to[index])
  const [a, b] = at < 0 ? ['', to.slice(from.length)] : [from.slice(at), to.slice(at)]
  const changed = a[0] === b[1] && a[1] === b[0] ? 2 : 1
  return [
    [1, 0],
    [0, 1],
    [changed, changed],
  ].some(([inA, inB]) => isWithinEdits(edits - 1, a.slice(inA), b.slice(inB)))
}
