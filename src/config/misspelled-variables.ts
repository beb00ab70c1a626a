import type { Environment } from './environment.ts'
import { isSecret, VARIABLE_NAMES, type VariableName } from './variables.ts'

const NAMES = VARIABLE_NAMES.flatMap((name) => (isSecret(name) ? [name, `${name}_FILE`] : name))

/** Proxies that other programs read, and the port of a Service in Kubernetes. */
const FOREIGN = /^(https?|no)_proxy$|^HTTP_PROXY$|^GATEHOUSE_OPS_PORT$/

/** Names that other programs have for what these variables set. */
const OTHER_NAMES = new Map<string, VariableName>([
  ['API_TOKEN', 'AUTHN_API_TOKEN'],
  ['OKTA_API_TOKEN', 'AUTHN_API_TOKEN'],
  ['OKTA_TOKEN', 'AUTHN_API_TOKEN'],
  ['OKTA_BASE_URL', 'AUTHN_BASE_URL'],
  ['OKTA_ORG_URL', 'AUTHN_BASE_URL'],
])

/** The password of Redis in the configuration of other programs. Here it is in `REDIS_URL`. */
const REDIS_PASSWORD = /^REDIS_(PASSWORD|AUTH)(_FILE)?$/

/**
 * Finds unknown variables that were meant as one that is not set: names close to that of a known
 * variable, names of other programs, and files of variables that are no secrets. More distant names
 * are ignored: platforms set variables of their own (Kubernetes sets `REDIS_PORT` for a service
 * called redis), which must not prevent the start.
 */
export function misspelledVariables(env: Environment): string[] {
  const set = Object.keys(env).filter((name) => env[name]?.trim())
  return set.flatMap((key) => {
    const problem = FOREIGN.test(key) ? undefined : problemOf(key, set, env)
    return problem === undefined ? [] : [`${key}: ${problem}`]
  })
}

function problemOf(key: string, set: readonly string[], env: Environment): string | undefined {
  const isGiven = (name: string) => set.includes(name) || (isSecretName(name) && set.includes(`${name}_FILE`))
  if (REDIS_PASSWORD.test(key))
    return needsPassword(env) ? 'is not read: write the password into REDIS_URL, percent-encoded' : undefined
  const other = OTHER_NAMES.get(key)
  if (other !== undefined) return isGiven(other) ? undefined : suggest(other)
  const meant = [0, 1, 2].flatMap((edits) => NAMES.find((name) => resembles(key, name, edits)) ?? [])[0]
  if (meant !== undefined) return set.includes(meant) ? undefined : suggest(meant)
  const named = VARIABLE_NAMES.find((name) => name.length >= 7 && key === `${name}_FILE`)
  return named === undefined || set.includes(named)
    ? undefined
    : `is not read: only a secret can come from a file. Set ${named}`
}

const suggest = (name: string) => `is unknown; did you mean ${name}?`

const isSecretName = (name: string) => VARIABLE_NAMES.some((each) => each === name && isSecret(each))

/** Neither a file, which may have a password, nor the embedded store, which has none. */
function needsPassword({ REDIS_URL, REDIS_URL_FILE }: Environment): boolean {
  if (REDIS_URL_FILE?.trim()) return false
  return !/^memory:|@/.test(REDIS_URL ?? '')
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
  if (Math.abs(from.length - to.length) > edits) return false // a platform sets hundreds
  if (from[0] === to[0]) return isWithin(edits, from.slice(1), to.slice(1))
  const changed = from[0] === to[1] && from[1] === to[0] ? 2 : 1
  const after = (inFrom: number, inTo: number) => isWithin(edits - 1, from.slice(inFrom), to.slice(inTo))
  return after(1, 0) || after(0, 1) || after(changed, changed)
}
