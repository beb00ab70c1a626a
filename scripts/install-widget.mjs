/**
 * Installs Okta's sign-in widget into `tools/widget`, unless it is installed. It is not part of the main install, because
 * only its demo (`npm run demo:widget`) and its tests need these 130 MB.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../tools/widget', import.meta.url))
const SCRIPT = `${FOLDER}/node_modules/@okta/okta-signin-widget/dist/js/okta-sign-in.classic.min.js`

export function widgetIsInstalled() {
  const isThere = existsSync(SCRIPT)
  console.log(isThere ? `ok       sign-in widget: ${SCRIPT}` : 'missing  sign-in widget')
  return isThere
}

/** @returns whether the widget is installed now */
export function installWidget() {
  if (widgetIsInstalled()) return true
  console.log('\nInstalling Okta’s sign-in widget into tools/widget: about 130 MB\n')
  return spawnSync('npm', ['ci', '--prefix', FOLDER, '--ignore-scripts'], { stdio: 'inherit' }).status === 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = installWidget() ? 0 : 1
