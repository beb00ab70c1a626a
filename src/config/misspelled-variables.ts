import type { Environment } from './env-reader.ts'
import { isSecret, VARIABLE_NAMES } from './variables.ts'

/**
 * Finds unknown variables whose names are close to that of a known variable that is not set. More distant names are
 * ignored: platforms set variables of their own (Kubernetes sets `REDIS_PORT` for a service called redis), which must
 * not prevent the start.
 */
export function misspelledVariables(env: Environment): string[] {
  const isSet = (key: string) => (env[key]?.trim() ?? '') !== ''
  return Object.keys(env)
    .filter((key) => isSet(key) && !NAMES.includes(key) && !FOREIGN.has(key))
    .flatMap((key) => {
      const plain = key.replace(/_FILE$/, '')
      if (key !== plain && NOT_SECRET.has(plain))
        return [`${key}: ${plain} is not a secret and cannot be read from a file`]
      const meant = NAMES.find((name) => resembles(key, name))
      return meant === undefined || isSet(meant) ? [] : [`${key}: is unknown; did you mean ${meant}?`]
    })
}

/** Of the conventional proxy variables, the broker reads only `HTTPS_PROXY` and `NO_PROXY`. */
export function ignoredProxyVariables(env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => PROXY.test(name) && name !== 'HTTPS_PROXY' && name !== 'NO_PROXY')
    .filter((name) => (env[name]?.trim() ?? '') !== '')
    .map((name) => `${name}: is ignored. Only HTTPS_PROXY and NO_PROXY are read, in upper case`)
}

const PROXY = /^(https?|all|no|socks[45]?|ftp)_proxy$/i

const NAMES: readonly string[] = [
  ...VARIABLE_NAMES,
  ...VARIABLE_NAMES.filter(isSecret).map((name) => `${name}_FILE`),
]
const NOT_SECRET: ReadonlySet<string> = new Set(
  VARIABLE_NAMES.filter((name) => !isSecret(name) && !['PORT', 'HOST', 'NODE_ENV'].includes(name)),
)

/** Close to a known name, but used by other programs. */
const FOREIGN: ReadonlySet<string> = new Set(['HTTP_PROXY', 'GATEHOUSE_OPS_PORT'])
/** Other programs also read these in lower case. */
const CONVENTIONAL_PROXY = /^(HTTPS|NO)_PROXY$/

function resembles(key: string, name: string): boolean {
  if (name.length < 7) return false // PORT, HOST: too many names are close to them
  if (key.replace(/^GATEHOUSE_/, '').toUpperCase() === name)
    return key !== name.toLowerCase() || !CONVENTIONAL_PROXY.test(name)
  return isWithinEdits(name.length < 10 ? 1 : 2, key, name)
}

/** Damerau–Levenshtein distance: an edit inserts, deletes or changes a character, or swaps two neighbours. */
function isWithinEdits(edits: number, from: string, to: string): boolean {
  if (from === to) return true
  if (edits === 0) return false
  let at = 0
  while (from[at] === to[at]) at += 1
  const [a, b] = [from.slice(at), to.slice(at)]
  const isSwapped = a[0] === b[1] && a[1] === b[0]
  return (
    isWithinEdits(edits - 1, a.slice(1), b) ||
    isWithinEdits(edits - 1, a, b.slice(1)) ||
    isWithinEdits(edits - 1, a.slice(1), b.slice(1)) ||
    (isSwapped && isWithinEdits(edits - 1, a.slice(2), b.slice(2)))
  )
}
