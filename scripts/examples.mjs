/**
 * `npm run example -- plain` (or react, express): starts a starter of `examples/`. `npm run check`
 * checks the types of all.
 *
 * In a checkout, the starters get the packages gatehouse and gatehouse-client from the workspaces.
 */
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const STARTERS = ['plain', 'react', 'express']
const PROJECT = fileURLToPath(new URL('..', import.meta.url))

/** @returns whether the packages that the starters import are there */
export function preparePackages() {
  return compile('client') && compile('tsconfig.build.json', '--noCheck') && compile('sandbox', '--noCheck')
}

function compile(project, ...options) {
  const tsc = `${PROJECT}node_modules/typescript/bin/tsc`
  return (
    spawnSync(process.execPath, [tsc, '-p', project, ...options], { cwd: PROJECT, stdio: 'inherit' })
      .status === 0
  )
}

function main([command, name]) {
  const isKnown = command === 'check' || (command === 'start' && STARTERS.includes(name))
  if (!isKnown) {
    console.error(`Usage: npm run example -- ${STARTERS.join(' | ')}`)
    process.exitCode = 64
  } else if (!preparePackages()) process.exitCode = 1
  else if (command === 'check')
    process.exitCode = [...STARTERS, 'adapters'].every((folder) => compile(`examples/${folder}`, '--noEmit'))
      ? 0
      : 1
  else
    spawn('npm', ['--silent', 'start'], { cwd: `${PROJECT}examples/${name}`, stdio: 'inherit' }).on(
      'exit',
      (code) => {
        process.exitCode = code ?? 1
      },
    )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2))
