import { existsSync, readFileSync } from 'node:fs'

/** Above src/ and dist/, and above build/src/ of the scripts' build. */
const FILE = ['../../package.json', '../../../package.json']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url))

/** The version in package.json; `unknown` if there is none. */
export const VERSION: string = FILE === undefined ? 'unknown' : JSON.parse(readFileSync(FILE, 'utf8')).version
