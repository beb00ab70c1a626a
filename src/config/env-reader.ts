import { isDeepStrictEqual } from 'node:util'
import { InvalidValue } from './config-error.ts'
import { createSecret, type Secret } from './secret.ts'
import { definitionOf, type SecretName, type VariableName } from './variables.ts'

/** Returns the text of a file, or throws. */
export type ReadFile = (path: string) => string

export type Environment = Readonly<Record<string, string | undefined>>

export interface EnvReaderOptions {
  readonly env: Environment
  readonly readFile: ReadFile
}

/** Reads variables one by one and collects their problems. It never throws and never repeats a value. */
export class EnvReader {
  /** Each begins with the name of the variable. */
  readonly problems: string[] = []
  /** About valid but unusual values; each begins with the name of the variable. */
  readonly notes: string[] = []
  /** The secrets that came from files; for `watchSecretFiles`. */
  readonly secretFiles: SecretFile[] = []
  readonly #options: EnvReaderOptions

  constructor(options: EnvReaderOptions) {
    this.#options = options
  }

  /** Set and not empty, directly or through `_FILE`. */
  isSet(name: VariableName): boolean {
    return this.#valueOf(name) !== undefined || this.#secretPathOf(name) !== undefined
  }

  /** Undefined if the variable is not set or not valid. Adds a problem unless it is optional and not set. */
  read<T>(name: VariableName, parse: (text: string) => T): T | undefined {
    const { required, requiredWith, secret } = definitionOf(name)
    if (!this.isSet(name) && (required || (requiredWith && this.isSet(requiredWith)))) {
      this.refuse(name, secret ? `is required (or ${name}_FILE)` : 'is required')
    }
    const text = this.#textOf(name)
    if (text === undefined) return undefined
    if (secret && text.includes(PLACEHOLDER)) {
      this.refuse(name, 'is still the placeholder of the example')
      return undefined
    }
    const quotes = isInQuotes(text) ? [IN_QUOTES] : []
    try {
      const value = parse(text)
      this.notes.push(...quotes.map((note) => `${this.#labelOf(name)}: ${note}`))
      return value
    } catch (error) {
      // only reasons of an InvalidValue are shown: an error of the platform may quote the value
      this.refuse(name, ...(error instanceof InvalidValue ? error.reasons : ['cannot be parsed']), ...quotes)
      return undefined
    }
  }

  /** A secret that `read` builds from the variables `names`. It can be reloaded if one of them comes from a file. */
  secret<T>(names: readonly SecretName[], read: (reader: EnvReader) => T | undefined): Secret<T> | undefined {
    const value = read(this)
    if (value === undefined) return undefined
    const secret = createSecret(value)
    const paths = names.flatMap((name) => this.#secretPathOf(name) ?? [])
    if (paths.length === 0) return secret

    const reload = () => {
      const reader = new EnvReader(this.#options)
      const next = read(reader)
      if (next === undefined || reader.problems.length > 0) {
        return { changed: false, problems: reader.problems }
      }
      const changed = !isDeepStrictEqual(next, secret.current())
      if (changed) secret.replace(next)
      return { changed, problems: [] }
    }
    const variables = names.filter((name) => this.#secretPathOf(name)).map((name) => `${name}_FILE`)
    this.secretFiles.push({ variables, paths, reload })
    return secret
  }

  refuse(name: VariableName, ...reasons: readonly string[]): void {
    this.#report(this.#labelOf(name), reasons)
  }

  #textOf(name: VariableName): string | undefined {
    const direct = this.#valueOf(name)
    if (definitionOf(name).file) return direct && this.#contentOf(name, direct)
    const path = this.#secretPathOf(name)
    if (path === undefined) return direct
    if (direct === undefined) return this.#contentOf(`${name}_FILE`, path)
    this.#report(name, [`is set together with ${name}_FILE: keep one of them`])
    return undefined
  }

  #contentOf(label: string, path: string): string | undefined {
    try {
      const content = this.#options.readFile(path).trim()
      if (content === '') this.#report(label, ['the file is empty'])
      return content || undefined
    } catch (error) {
      const quotes = isInQuotes(path) ? [IN_QUOTES] : []
      this.#report(label, [`the file cannot be read${codeOf(error)}`, ...quotes])
      return undefined
    }
  }

  #valueOf(name: string): string | undefined {
    return this.#options.env[name]?.trim() || undefined
  }

  #secretPathOf(name: VariableName): string | undefined {
    return definitionOf(name).secret ? this.#valueOf(`${name}_FILE`) : undefined
  }

  #labelOf(name: VariableName): string {
    return this.#secretPathOf(name) === undefined ? name : `${name}_FILE`
  }

  #report(label: string, reasons: readonly string[]): void {
    this.problems.push(...reasons.map((reason) => `${label}: ${reason}`))
  }
}

/** A secret and the files that it was read from. */
export interface SecretFile {
  /** The variables that name the files, such as `AUTHN_API_TOKEN_FILE`, in the order of `paths`. */
  readonly variables: readonly string[]
  readonly paths: readonly string[]
  /** Reads the files again. A new valid value replaces the old one; if there are problems, the old value stays. */
  reload(): { readonly changed: boolean; readonly problems: readonly string[] }
}

/** Every placeholder for a secret in `.env.example` and `deploy/` begins with it. */
const PLACEHOLDER = 'replace-with-'

const IN_QUOTES =
  'is in quotes, which become part of the value: in env files of Docker and in secret files, quotes are not removed'

/** The whole value, or an entry of a list. */
function isInQuotes(text: string): boolean {
  return [text, ...text.split(',')].some((part) => /^(["']).*\1$/s.test(part.trim()))
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^E[A-Z]+$/.test(code) ? ` (${code})` : ''
}
