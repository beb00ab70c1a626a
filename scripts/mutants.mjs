/**
 * `npm run mutants [-- MODULE…]`: makes one change at a time to the code of each module, and runs the tests that must fail
 * (docs/testing.md). Prints the score of each module and the mutants that survived. Exits with 1 if a module scores below the
 * bound, or if scripts/mutants/on-purpose.json lists a mutant that does not survive.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { Stryker } from '@stryker-mutator/core'

const REQUIRED_PERCENT = 90
const SURVIVES = new Set(['Survived', 'NoCoverage'])

const read = (name) => JSON.parse(readFileSync(new URL(`mutants/${name}.json`, import.meta.url), 'utf8'))
const modules = Object.entries(read('modules'))
const onPurpose = read('on-purpose')

const wanted = process.argv.slice(2).filter((each) => !each.startsWith('--'))
/** Reuses results of the module's last incremental run that later changes do not affect, for use while writing tests. */
const incremental = process.argv.includes('--incremental')
const chosen = modules.filter(
  ([name]) => wanted.length === 0 || wanted.some((one) => name === one || name.startsWith(`${one}/`)),
)
if (chosen.length === 0) {
  console.error(`Unknown module. Modules: ${modules.map(([name]) => name).join(', ')}`)
  process.exit(2)
}

// With many mutants, a test waits for an event that never occurs.
const WAIT_MS = 3000
process.env.UNTIL_TIMEOUT_MS = String(WAIT_MS) // read by test/support/until.ts

const rows = []
for (const [name, module] of chosen) {
  const startedMs = Date.now()
  const mutants = await new Stryker(optionsOf(name, module)).runMutationTest()
  const row = { name, ...judge(module, mutants), seconds: Math.round((Date.now() - startedMs) / 1000) }
  rows.push(row)
  printSurvivors(row)
}
printTable(rows)
if (!incremental) writeScores(rows)
process.exitCode = rows.every(({ percent, stale }) => percent >= REQUIRED_PERCENT && stale.length === 0)
  ? 0
  : 1

function optionsOf(name, { sources, tests, everyTest, timeoutMs = 20_000 }) {
  return {
    mutate: sources,
    testRunner: 'jest',
    plugins: ['@stryker-mutator/jest-runner'],
    testRunnerNodeArgs: ['--experimental-vm-modules'],
    jest: {
      projectType: 'custom',
      configFile: 'scripts/mutants/jest.config.mjs',
      config: {
        testMatch: tests.map((path) => `<rootDir>/${path}`),
        testTimeout: 3 * WAIT_MS,
        setupFiles: ['<rootDir>/scripts/mutants/fixed-draws.mjs'],
      },
      enableFindRelatedTests: false,
    },
    coverageAnalysis: everyTest ? 'all' : 'perTest',
    concurrency: 1,
    // Node 20 does not free modules of a vm context, so a process that has run tests often is replaced.
    maxTestRunnerReuse: 25,
    timeoutMS: timeoutMs, // endless loops end sooner, by their number of iterations
    tempDirName: `test-results/mutants/${name}`,
    ignorePatterns: ['build', 'dist', 'test-results'],
    disableTypeChecks: false,
    tsconfigFile: 'none', // TypeScript 7 has no API to read it with
    incremental,
    incrementalFile: `test-results/mutants/${name}.json`,
    reporters: ['dots'],
    warnings: { slow: false }, // about mutants in tables of rules, which need every test of the module
    logLevel: 'warn',
  }
}

function judge({ sources }, mutants) {
  const survivors = mutants.filter(({ status }) => SURVIVES.has(status)).map(describeMutant)
  const killed = mutants.filter(({ status }) => status === 'Killed' || status === 'Timeout').length
  const count = killed + survivors.length // a mutant that fails to load counts neither way
  const onList = onPurpose
    .filter(({ file }) => sources.includes(file))
    .flatMap(({ file, line, changes }) => changes.map((change) => ({ file, line, change })))
  const isListed = (survivor) => onList.some((listed) => isSame(listed, survivor))
  return {
    mutants: count,
    percent: (100 * killed) / count,
    unlisted: survivors.filter((survivor) => !isListed(survivor)),
    listed: survivors.filter(isListed),
    stale: onList.filter((listed) => !survivors.some((survivor) => isSame(listed, survivor))),
  }
}

function isSame(a, b) {
  return a.file === b.file && a.line === b.line && a.change === b.change
}

/** Where a mutant is and what it changes, as scripts/mutants/on-purpose.json spells it. */
function describeMutant({ fileName, location: { start, end }, replacement, status }) {
  const file = relative(process.cwd(), fileName)
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line)
  const line = lines[0].trim()
  lines.push(lines.pop().slice(0, end.column - 1))
  lines[0] = lines[0].slice(start.column - 1)
  const change = `${lines.join(' ')} → ${replacement}`.replace(/\s+/g, ' ')
  return { file, at: start.line, line, change, isCovered: status !== 'NoCoverage' }
}

function printSurvivors({ name, percent, unlisted, stale }) {
  console.log(`\n${name}: ${percent.toFixed(1)} %`)
  for (const { file, at, line, change, isCovered } of unlisted) {
    console.log(`  ${file}:${at}${isCovered ? '' : ' (no test runs it)'}\n    ${line}\n    ${change}`)
  }
  for (const { file, line, change } of stale) {
    console.log(`  ${file}: in on-purpose.json, but does not survive\n    ${line}\n    ${change}`)
  }
}

function printTable(rows) {
  console.log('\n| module | mutants | score | survive on purpose | survive otherwise | seconds |')
  console.log('|---|---|---|---|---|---|')
  for (const { name, mutants, percent, listed, unlisted, seconds } of rows) {
    console.log(
      `| ${name} | ${mutants} | ${percent.toFixed(1)} % | ${listed.length} | ${unlisted.length} | ${seconds} |`,
    )
  }
}

/** Updates the scores of these modules in docs/mutation-scores.json, in the order of modules.json. */
function writeScores(rows) {
  const path = new URL('../docs/mutation-scores.json', import.meta.url)
  const scores = JSON.parse(readFileSync(path, 'utf8'))
  for (const { name, mutants, percent, listed } of rows) {
    scores[name] = { mutants, percent: Math.round(percent * 10) / 10, survivingOnPurpose: listed.length }
  }
  const lines = modules
    .filter(([name]) => scores[name] !== undefined)
    .map(([name]) => {
      const { mutants, percent, survivingOnPurpose } = scores[name]
      return `  "${name}": { "mutants": ${mutants}, "percent": ${percent}, "survivingOnPurpose": ${survivingOnPurpose} }`
    })
  writeFileSync(path, `{\n${lines.join(',\n')}\n}\n`)
}
