/**
 * Installs packages that only some tests and commands need, apart from the main install: each is a folder of `tools/` with its own
 * lock file.
 *
 * `widget`: Okta's sign-in widget, 130 MB, for its demo (`npm run demo:widget`) and its tests.
 * `openapi`: for `npm run openapi` and its tests, 60 MB; openapi-typescript needs TypeScript 5, and the project has 7.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const TOOLS = {
  widget: 'node_modules/@okta/okta-signin-widget/dist/js/okta-sign-in.classic.min.js',
  openapi: 'node_modules/openapi-typescript/package.json',
}

const folderOf = (name) => fileURLToPath(new URL(`../tools/${name}`, import.meta.url))

/** The folders whose packages are missing. */
export function missingTools(names = Object.keys(TOOLS)) {
  return names.filter((name) => {
    const isThere = existsSync(`${folderOf(name)}/${TOOLS[name]}`)
    console.log(`${isThere ? 'ok      ' : 'missing '} tools/${name}`)
    return !isThere
  })
}

/** @returns whether the packages of all these folders are installed now */
export function installTools(names) {
  return missingTools(names).every((name) => {
    console.log(`\nInstalling the packages of tools/${name}\n`)
    const npm = ['ci', '--prefix', folderOf(name), '--ignore-scripts']
    return spawnSync('npm', npm, { stdio: 'inherit' }).status === 0
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.exitCode = installTools(process.argv.slice(2)) ? 0 : 1
