import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { isSecret, VARIABLE_NAMES, VARIABLES, type Values, type VariableName } from './variables.ts'

/** Returns the text of a file, or throws. */
export type ReadFile = (path: string) => string

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads every variable. Problems and notes begin with the name of a variable, and contain no value. */
export function readEnvironment(env: Environment, readFile: ReadFile = (path) => readFileSync(path, 'utf8')) {
  const sources = VARIABLE_NAMES.map((name) => sourceOf(name, env, readFile))
  const values: Record<string, unknown> = {}
  const problems: string[] = []
  const notes: string[] = []
  for (const { name, label, path, text, problem } of sources) {
    const { error, data } = VARIABLES.shape[name].safeParse(text)
    const reasons = problem === undefined ? error?.issues.map((issue) => reasonOf(issue, name)) : [problem]
    if (reasons === undefined) values[name] = data
    else problems.push(...reasons.map((reason) => `${label}: ${reason}`))
    if (isInQuotes(text ?? path ?? '')) (reasons ? problems : notes).push(`${label}: ${IN_QUOTES}`)
  }
  return {
    sources,
    /** Only the valid ones. */
    values: values as Partial<Values>,
    problems,
    notes,
  }
}

/** `label` is the variable to name in a problem: `name`, or the one with `_FILE`. Without `path` and `text`, it is not set. */
function sourceOf(name: VariableName, env: Environment, readFile: ReadFile) {
  const given = (variable: string) => env[variable]?.trim() || undefined
  const text = given(name)
  const label = isSecret(name) ? `${name}_FILE` : name
  const path = label.endsWith('_FILE') ? given(label) : undefined
  if (path === undefined) return { name, label: name, text }
  if (isSecret(name) && text !== undefined)
    return { name, label: name, text, problem: `is set together with ${label}: keep one of them` }
  try {
    const content = readFile(path).trim()
    if (content === '') return { name, label, path, problem: 'the file is empty' }
    return { name, label, path, text: content }
  } catch (error) {
    return { name, label, path, problem: `the file cannot be read (${Object(error).code})` }
  }
}

export const missing = (name: VariableName) => `is required${isSecret(name) ? ` (or ${name}_FILE)` : ''}`

function reasonOf(issue: z.core.$ZodIssue, name: VariableName): string {
  if (issue.code === 'invalid_type') return missing(name)
  const [entry] = issue.path
  const at = typeof entry === 'number' ? `entry ${entry + 1} ` : ''
  return at + (issue.code === 'invalid_value' ? `must be ${issue.values.join(' or ')}` : issue.message)
}

const IN_QUOTES =
  'is in quotes, which become part of the value: in env files of Docker and in secret files, quotes are not removed'

/** The whole value, or an entry of a list. */
const isInQuotes = (text: string) =>
  [text, ...text.split(',')].some((part) => /^(["']).*\1$/s.test(part.trim()))
