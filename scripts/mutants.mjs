/**
 * `npm run mutants [-- <folder or file below src> …]`: changes the code in one place at a time, and
 * prints the changes that no test notices (stryker.config.mjs). Without a name: the modules that
 * hold the rules. Options, such as `--incremental`, go to StrykerJS.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const given = process.argv.slice(2)
const names = given.filter((word) => !word.startsWith('-')).map(nameOf)
const options = given.filter((word) => word.startsWith('-'))
const unknown = names.filter((name) => !existsSync(`src/${name}`) && !existsSync(`src/${name}.ts`))
if (unknown.length > 0) {
  console.error(`Not a folder or file of src: ${unknown.join(', ')}`)
  process.exit(64)
}

const { status } = spawnSync('npx', ['stryker', 'run', ...options], {
  stdio: 'inherit',
  env: { ...process.env, MUTATED: names.join() },
})
process.exit(status ?? 1)

function nameOf(word) {
  return word.replace(/^(\.\/)?src\//, '').replace(/(\/|\.ts)$/, '')
}
