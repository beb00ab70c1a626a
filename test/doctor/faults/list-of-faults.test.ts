import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import * as ALL_FAULTS from './all-faults.ts'
import type { FaultGroups } from './fault.ts'

const idsOf = (groups: FaultGroups<unknown>) =>
  Object.entries(groups).flatMap(([group, faults]) => Object.keys(faults).map((name) => `${group}/${name}`))
const IDS = Object.values(ALL_FAULTS).flatMap(idsOf)
const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

test('there are at least 110 faults, each with an id of its own', () => {
  expect(IDS.length).toBeGreaterThanOrEqual(110)
  expect(new Set(IDS).size).toBe(IDS.length)
})

test('each list of faults is brought about by a test', () => {
  const all = read('test/doctor/faults/all-faults.ts')
  const files = readdirSync(join(import.meta.dirname)).filter((name) => name.endsWith('.ts'))
  const suites = files.filter((name) => name.endsWith('-faults.test.ts'))
  const run = suites.map((name) => read(`test/doctor/faults/${name}`)).join('')
  const isRun = (groups: string) => new RegExp(`[fF]aults\\(\\s*${groups}\\b`).test(run)
  expect(Object.keys(ALL_FAULTS).filter((groups) => !isRun(groups))).toEqual([])
  const lists = files
    .flatMap((name) => [...read(`test/doctor/faults/${name}`).matchAll(/export const (\w+): Faults</g)])
    .map(([, list]) => list ?? '')
  expect(lists.length).toBeGreaterThan(10)
  expect(lists.filter((list) => !new RegExp(`: ${list}\\b`).test(all))).toEqual([])
})

test('docs/operations.md says how many there are', () => {
  const [section = ''] = /^## Doctor$.*?^## /ms.exec(read('docs/operations.md')) ?? []
  expect(section).toContain(`${IDS.length} faults`)
})
