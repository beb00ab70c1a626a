import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { readDependencyReview } from '../../scripts/docs/dependencies-tables.ts'
import { productionPackages } from '../../scripts/production-bom.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/dependencies.md')
const lock = JSON.parse(read('package-lock.json'))
const { direct, exposed, groups } = readDependencyReview()

test('docs/dependencies.json has every direct dependency in the version that is locked', () => {
  const names = Object.keys(JSON.parse(read('package.json')).dependencies).sort()
  expect(direct.map(({ name, version }) => [name, version])).toEqual(
    names.map((name) => [name, lock.packages[`node_modules/${name}`].version]),
  )
})

/** An update fails here, so that the new version is looked up before it is entered. */
test('docs/dependencies.json has every package that runs in production once, in the version that is locked, and no other', () => {
  const named = [
    ...[...direct, ...exposed].map(({ name, version }) => `${name}@${version}`),
    ...groups.flatMap(({ packages }) => packages.map((each) => each.replace(' ', '@'))),
  ]
  expect(named.sort()).toEqual([...productionPackages(lock)].sort())
})

test('docs/dependencies.md has the date of the review and the number of packages', () => {
  const { size } = productionPackages(lock)
  expect(page).toMatch(
    new RegExp(`\\*\\*On 20\\d\\d-\\d\\d-\\d\\d\\*\\* each of the ${size} packages was looked up`),
  )
  expect(page).toContain(`${size} packages run in production`)
})
