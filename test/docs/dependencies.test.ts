import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { productionPackages } from '../../scripts/production-bom.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/dependencies.md')
const lock = JSON.parse(read('package-lock.json'))
const rowsOf = (columns: number) =>
  page
    .split('\n')
    .filter((line) => /^\| [a-z]/.test(line) && !line.startsWith('| package '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length === columns + 2)

test('docs/dependencies.md has every direct dependency with the version that is locked, a reason and a finding', () => {
  const direct = Object.keys(JSON.parse(read('package.json')).dependencies)
  const rows = rowsOf(4).slice(0, direct.length)
  expect(rows.map(([, name]) => name)).toEqual(direct.sort())
  for (const [, name = '', version, why, known] of rows) {
    expect([name, version]).toEqual([name, lock.packages[`node_modules/${name}`].version])
    expect([name, why === '', known === '']).toEqual([name, false, false])
  }
})

test('those that it names beside them are there in that version', () => {
  const direct = Object.keys(JSON.parse(read('package.json')).dependencies)
  const others = rowsOf(4).slice(direct.length)
  expect(others.length).toBeGreaterThan(0)
  const packages = productionPackages(lock)
  for (const [, name, version] of others) expect([...packages]).toContain(`${name}@${version}`)
})

test('it counts them as they are', () => {
  expect(page).toContain(`${productionPackages(lock).size} run in production`)
})
