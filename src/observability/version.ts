import { readFileSync } from 'node:fs'

/** The version in package.json; `unknown` if there is none. */
export const VERSION = packageVersion()

function packageVersion(): string {
  // dist/observability/ in the image; build/src/observability/ in the build of the scripts
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const { version }: { version?: unknown } = JSON.parse(
        readFileSync(new URL(path, import.meta.url), 'utf8'),
      )
      if (typeof version === 'string') return version
    } catch {
      // not here
    }
  }
  return 'unknown'
}
