import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { isSecret, VARIABLE_NAMES, VARIABLES, type Values, type VariableName } from './variables.ts'

/** Returns the text of a file, or throws. */
export type ReadFile = (path: string) => string

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads every variable. Problems begin with the name of a variable, and contain no value. */
export function readEnvironment(env: Environment, readFile: ReadFile = (path) => readFileSync(path, 'utf8')) {
  const sources = VARIABLE_NAMES.map((name) => sourceOf(name, env, readFile))
  const values: Record<string, unknown> = {}
  const problems = sources.flatMap(({ name, label, path, text, problem }) => {
    const { error, data } = VARIABLES.shape[name].safeParse(text)
    const issues = error?.issues.map((issue) => (text === undefined ? missing(name) : reasonOf(issue))) ?? []
    const reason = /^(["']).*\1$/s.test(text ?? path ?? '') ? IN_QUOTES : problem
    values[name] = data // undefined if it is not valid
    return (reason ? [reason] : issues).map((each) => `${label}: ${each}`)
  })
  return { sources, values: values as Partial<Values>, problems }
}

const IN_QUOTES = 'is in quotes: in env files of Docker and in secret files, they would be part of the value'

/**
 * `label` is the variable to name in a problem: `name`, or the one with `_FILE`. Without `path` and
 * `text`, it is not set.
 */
function sourceOf(name: VariableName, env: Environment, readFile: ReadFile) {
  const given = (variable: string) => env[variable]?.trim() || undefined
  const text = given(name)
  const label = isSecret(name) ? `${name}_FILE` : name
  const path = label.endsWith('_FILE') || label === 'NODE_EXTRA_CA_CERTS' ? given(label) : undefined
  if (path === undefined) return { name, label: name, text }
  if (isSecret(name) && text !== undefined)
    return { name, label: name, text, problem: `is set together with ${label}: keep one of them` }
  try {
    const content = readFile(path).trim()
    return content
      ? { name, label, path, text: content }
      : { name, label, path, problem: 'the file is empty' }
  } catch (error) {
    return { name, label, path, problem: `the file cannot be read (${Object(error).code})` }
  }
}

export const missing = (name: VariableName) => `is required${isSecret(name) ? ` (or ${name}_FILE)` : ''}`

/** The messages of zod have names and types, but no value. */
function reasonOf({ path, message }: z.core.$ZodIssue): string {
  const [entry] = path
  if (typeof entry === 'number') return `entry ${entry + 1} ${message}`
  return path.length > 0 ? `${path.join('.')}: ${message}` : message
}
