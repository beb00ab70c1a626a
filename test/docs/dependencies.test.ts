import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { productionPackages } from '../../scripts/production-bom.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/dependencies.md')
const lock = JSON.parse(read('package-lock.json'))

/** The cells of the table whose head begins so; throws when the page has none. */
function table(head: string): string[][] {
  const lines = page.split('\n')
  const at = lines.findIndex((line) => line.startsWith(head))
  if (at === -1) throw new Error(`docs/dependencies.md has no table ${head}`)
  const rows = lines.slice(at + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end === -1 ? undefined : end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const direct = table('| package | version | why it is here |')
const fromOutside = table('| package | version | brought by |')
const groups = table('| package group |')

test('docs/dependencies.md has every direct dependency with the version that is locked and a reason', () => {
  expect(direct.map(([name]) => name)).toEqual(
    Object.keys(JSON.parse(read('package.json')).dependencies).sort(),
  )
  for (const [name = '', version, why] of direct) {
    expect([name, version]).toEqual([name, lock.packages[`node_modules/${name}`].version])
    expect([name, why === '']).toEqual([name, false])
  }
})

/** A bump turns this red, so that the new version is looked up before it is written down. */
test('it names every package that runs in production once, in the version that is locked, and no other', () => {
  const named = [
    ...[...direct, ...fromOutside].map(([name, version]) => `${name}@${version}`),
    ...groups.flatMap(([, packages = '']) => packages.split(', ').map((each) => each.replace(' ', '@'))),
  ]
  expect(named.sort()).toEqual([...productionPackages(lock)].sort())
})

test('it says of each of them what was found, and when it was looked up', () => {
  for (const row of [...direct, ...fromOutside, ...groups]) {
    expect([row[0], row.at(-1) === '']).toEqual([row[0], false])
  }
  expect(page).toMatch(/\*\*On 20\d\d-\d\d-\d\d\*\* each of the \d+ packages was looked up/)
})

test('it counts them as they are', () => {
  const { size } = productionPackages(lock)
  expect(page).toContain(`${size} run in production`)
  expect(page).toContain(`each of the ${size} packages was looked up`)
})
