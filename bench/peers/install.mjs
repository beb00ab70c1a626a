/** Installs the packages that the bench compares with, separately from the main install, unless they are installed. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
/** npm writes this file last. */
const INSTALLED = `${FOLDER}/node_modules/.package-lock.json`

if (!existsSync(INSTALLED)) {
  const { status } = spawnSync('npm', ['ci', '--prefix', FOLDER, '--ignore-scripts'], { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
