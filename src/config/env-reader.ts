import { Refusal } from './refusal.ts'
import { isSecret, type VariableName } from './variables.ts'

/** Gives the text of a file, or throws. */
export type ReadFile = (path: string) => string

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads variables one by one and gathers what is wrong with them; never throws, never repeats a value. */
export interface EnvReader {
  /** Each begins with the name of the variable at fault. */
  readonly problems: readonly string[]
  /** What is sound, but seldom intended; each begins with the name of the variable. */
  readonly notes: readonly string[]
  /** Set and not empty, directly or through `_FILE`. */
  isSet(name: VariableName): boolean
  /** Undefined when it is not set or not sound; in the second case there is a problem. */
  optional<T>(name: VariableName, parse: (text: string) => T): T | undefined
  /** As `optional`, but not being set is a problem. */
  required<T>(name: VariableName, parse: (text: string) => T): T | undefined
  /** The text of the file that a variable such as `REDIS_CA_FILE` names. */
  fileOf<T>(name: VariableName, parse: (content: string) => T): T | undefined
  refuse(name: VariableName, ...reasons: readonly string[]): void
}

export function createEnvReader({ env, readFile }: { env: Environment; readFile: ReadFile }): EnvReader {
  const problems: string[] = []
  const notes: string[] = []
  const read = (key: string) => env[key]?.trim() || undefined
  const cameFromFile = (name: VariableName) => isSecret(name) && read(`${name}_FILE`) !== undefined
  const labelOf = (name: VariableName) => (cameFromFile(name) ? `${name}_FILE` : name)
  const report = (label: string, reasons: readonly string[]) => {
    problems.push(...reasons.map((reason) => `${label}: ${reason}`))
  }

  const parsed = <T>(name: VariableName, text: string | undefined, parse: (text: string) => T) => {
    if (text === undefined) return undefined
    if (isSecret(name) && text.includes(PLACEHOLDER)) {
      report(labelOf(name), ['still holds the placeholder of the example'])
      return undefined
    }
    const quotes = isInQuotes(text) ? [IN_QUOTES] : []
    try {
      const value = parse(text)
      notes.push(...quotes.map((note) => `${labelOf(name)}: ${note}`))
      return value
    } catch (error) {
      // Only our own sentences are shown: an error of the platform may quote the value.
      report(labelOf(name), [
        ...(error instanceof Refusal ? error.reasons : ['is not understood']),
        ...quotes,
      ])
      return undefined
    }
  }

  const contentOf = (label: string, path: string): string | undefined => {
    try {
      const content = readFile(path).trim()
      if (content === '') report(label, ['the file is empty'])
      return content || undefined
    } catch (error) {
      report(label, [`the file cannot be read${codeOf(error)}`, ...(isInQuotes(path) ? [IN_QUOTES] : [])])
      return undefined
    }
  }

  const textOf = (name: VariableName): string | undefined => {
    const direct = read(name)
    const path = isSecret(name) ? read(`${name}_FILE`) : undefined
    if (path === undefined) return direct
    if (direct === undefined) return contentOf(`${name}_FILE`, path)
    report(name, [`is set, and so is ${name}_FILE: keep one of them`])
    return undefined
  }

  const isSet = (name: VariableName) => read(name) !== undefined || cameFromFile(name)

  return {
    problems,
    notes,
    isSet,
    optional: (name, parse) => parsed(name, textOf(name), parse),
    required(name, parse) {
      if (!isSet(name)) report(name, [isSecret(name) ? `is required (or ${name}_FILE)` : 'is required'])
      return parsed(name, textOf(name), parse)
    },
    fileOf(name, parse) {
      const path = read(name)
      return parsed(name, path === undefined ? undefined : contentOf(name, path), parse)
    },
    refuse: (name, ...reasons) => report(labelOf(name), reasons),
  }
}

/** What every made-up secret of `.env.example` and of `deploy/` begins with: known to everybody, and never meant. */
const PLACEHOLDER = 'replace-with-'

const IN_QUOTES =
  'is in quotes, which are part of the value: env files of Docker, and secret files, are read as they are'

/** The whole value, or an entry of a list. */
function isInQuotes(text: string): boolean {
  return [text, ...text.split(',')].some((part) => /^(["']).*\1$/s.test(part.trim()))
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^E[A-Z]+$/.test(code) ? ` (${code})` : ''
}
