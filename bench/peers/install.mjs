/** Installs what the bench compares with, apart from the main install; what is there already stays as it is. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
/** npm writes it last. */
const INSTALLED = `${FOLDER}/node_modules/.package-lock.json`

if (!existsSync(INSTALLED)) {
  const { status } = spawnSync('npm', ['ci', '--prefix', FOLDER, '--ignore-scripts'], { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
