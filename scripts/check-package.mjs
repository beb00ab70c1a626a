/**
 * `npm run package:check`: installs the tarball of `npm pack` as a portal would, from the registry
 * into an empty folder, and runs the examples of examples/testing, also with Vitest, on this Node
 * and on Node 24. Then installs copies of the starters from both tarballs and runs their tests.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { STARTERS } from './examples.mjs'
import { pack, portalCommands, writePortal } from './package/packed-project.mjs'

const project = fileURLToPath(new URL('..', import.meta.url))
const stdio = ['ignore', 'ignore', 'inherit']
const DEVELOPMENT = [
  '@jest/globals',
  '@playwright/test',
  '@swc/core',
  '@swc/jest',
  '@types/node',
  'jest',
  'typescript',
]

const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-portal-'))
try {
  writePortal(folder)
  const tools = [...DEVELOPMENT.map((name) => `${name}@${devDependencies[name]}`), 'vitest@4']
  const install = ['install', '--save-dev', '--no-audit', '--no-fund', pack(folder), 'node@24', ...tools]
  execFileSync('npm', install, { cwd: folder, stdio })
  writeVitestExample()
  for (const node of [process.execPath, join(folder, 'node_modules/node/bin/node')]) runAll(node)
  checkStarters(join(folder, 'starters'))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/**
 * As docs/sandbox.md says: the example for Jest, with another import. Jest does not look for
 * `.mts`.
 */
function writeVitestExample() {
  const example = readFileSync(join(folder, 'sign-in.test.ts'), 'utf8')
  mkdirSync(join(folder, 'vitest'))
  writeFileSync(join(folder, 'vitest/sign-in.test.mts'), example.replace("'@jest/globals'", "'vitest'"))
}

function runAll(node) {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
  const chromium = execFileSync('sh', ['-c', 'command -v chromium google-chrome'], { encoding: 'utf8' })
  const commands = {
    ...portalCommands({ portalPort: 20_000 + (process.pid % 10_000), chromium: chromium.split('\n')[0] }),
    'Vitest example': { args: ['node_modules/vitest/vitest.mjs', 'run', '--dir', 'vitest'], env: {} },
  }
  const { PATH, HOME } = process.env
  for (const [what, { args, env }] of Object.entries(commands)) {
    const options = { cwd: folder, env: { PATH, HOME, ...env }, encoding: 'utf8' }
    const { status, stdout, stderr } = spawnSync(node, args, options)
    console.log(`${status === 0 ? 'ok    ' : 'FAILED'}  Node ${version}: ${what}`)
    if (status === 0) continue
    console.log(stdout, stderr)
    process.exitCode = 1
  }
}

/** As examples/README.md says. */
function checkStarters(copies) {
  for (const name of STARTERS) {
    const copy = join(copies, name)
    cpSync(join(folder, 'node_modules/gatehouse/examples', name), copy, { recursive: true })
    const all = ['--workspaces', '--include-workspace-root', '--pack-destination', copy]
    execFileSync('npm', ['pack', '--silent', ...all], { cwd: project, stdio })
    execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: copy, stdio })
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: copy, stdio })
  }
  const env = { ...process.env, STARTERS_FOLDER: copies }
  const { status } = spawnSync('npx', ['jest', 'test/examples/starters'], {
    cwd: project,
    env,
    stdio: 'inherit',
  })
  if (status !== 0) process.exitCode = 1
}
