import { isDeepStrictEqual } from 'node:util'
import type { SecretFile } from './config.ts'
import type { EnvReader } from './env-reader.ts'
import { createSecret, type Secret } from './secret.ts'
import type { SecretName } from './variables.ts'

/** Takes secrets in, and remembers how to read again those that came from files. */
export interface WatchedSecrets {
  readonly files: readonly SecretFile[]
  /** `read` asks a reader for the variables of `names` and makes one value of them; undefined: not set, or a problem. */
  take<T>(names: readonly SecretName[], read: (reader: EnvReader) => T | undefined): Secret<T> | undefined
}

export interface WatchedSecretsParts {
  readonly reader: EnvReader
  /** A reader of the same environment that has found no problem yet. */
  readonly newReader: () => EnvReader
  /** The path in `<NAME>_FILE`, if that is set. */
  readonly pathOf: (name: SecretName) => string | undefined
}

export function createWatchedSecrets({ reader, newReader, pathOf }: WatchedSecretsParts): WatchedSecrets {
  const files: SecretFile[] = []
  return {
    files,
    take(names, read) {
      const value = read(reader)
      if (value === undefined) return undefined
      const secret = createSecret(value)
      const found = names.flatMap((name) => {
        const path = pathOf(name)
        return path === undefined ? [] : [{ variable: `${name}_FILE`, path }]
      })
      if (found.length > 0) {
        files.push({
          variables: found.map(({ variable }) => variable),
          paths: found.map(({ path }) => path),
          reload() {
            const again = newReader()
            const next = read(again)
            if (next === undefined || again.problems.length > 0) {
              return { changed: false, problems: again.problems }
            }
            const changed = !isDeepStrictEqual(next, secret.current())
            if (changed) secret.replace(next)
            return { changed, problems: [] }
          },
        })
      }
      return secret
    },
  }
}
