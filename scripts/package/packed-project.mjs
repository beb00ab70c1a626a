import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../..', import.meta.url))

/**
 * `npm pack` into this folder. Returns the path of the tarball. `--ignore-scripts` packs what is
 * built; without it, `prepack` builds it anew, which no other process may need at that time.
 */
export function pack(folder, ...options) {
  const output = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, ...options], {
    cwd: project,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return join(folder, output.trim())
}

/** Writes a portal into this folder: sandbox/test/package/consumer, and examples/testing. */
export function writePortal(folder) {
  cpSync(join(project, 'sandbox/test/package/consumer'), folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  cpSync(join(project, 'examples/testing'), folder, { recursive: true })
}

/** Installs the tarball without network: its dependencies are those of this project. */
export function installOffline(folder, tarball) {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, 'gatehouse'), { recursive: true })
  for (const name of readdirSync(join(project, 'node_modules')))
    if (!/^(\.|gatehouse$)/.test(name)) symlinkSync(join(project, 'node_modules', name), join(modules, name))
  execFileSync('tar', ['xzf', tarball, '-C', join(modules, 'gatehouse'), '--strip-components=1'])
}

/** The commands of a portal's developers: node's arguments and environment variables. */
export function portalCommands({ portalPort, chromium }) {
  const tsc = (...args) => ({ args: ['node_modules/typescript/bin/tsc', ...args], env: {} })
  const strict = [
    '--ignoreConfig',
    'types.ts',
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--target',
    'es2022',
  ]
  return {
    'types with moduleResolution nodenext': tsc(...strict, '--module', 'nodenext'),
    'types with moduleResolution bundler': tsc(
      ...strict,
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
    ),
    'types of the examples': tsc('-p', '.'),
    'Jest example': {
      args: ['node_modules/jest/bin/jest.js'],
      env: { NODE_OPTIONS: '--experimental-vm-modules' },
    },
    'proof run': {
      args: ['node_modules/gatehouse/sandbox/dist/prove/main.js', '--sandbox', '--only', 'R2'],
      env: {},
    },
    'Playwright example': {
      args: ['node_modules/@playwright/test/cli.js', 'test'],
      env: { PORTAL_URL: `http://localhost:${portalPort}`, CHROMIUM: chromium },
    },
  }
}
