import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

interface Module {
  readonly sources: readonly string[]
  readonly tests: readonly string[]
}
interface Survivors {
  readonly file: string
  readonly line: string
  readonly changes: readonly string[]
  readonly reason: string
}

const modules: Record<string, Module> = JSON.parse(read('scripts/mutants/modules.json'))
const onPurpose: Survivors[] = JSON.parse(read('scripts/mutants/on-purpose.json'))
const sources = Object.values(modules).flatMap((module) => module.sources)

test('all files of the mutation testing modules exist, and each source is in one module', () => {
  const named = [...sources, ...Object.values(modules).flatMap(({ tests }) => tests)]
  expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
  expect(sources).toEqual([...new Set(sources)])
})

test.each(Object.entries(modules))('%s has sources and tests', (_name, module) => {
  expect([module.sources.length > 0, module.tests.length > 0]).toEqual([true, true])
})

test('each mutant in on-purpose.json has an existing line and a reason', () => {
  for (const { file, line, changes, reason } of onPurpose) {
    expect(sources).toContain(file)
    const lines = read(file)
      .split('\n')
      .map((text) => text.trim())
    expect([file, lines.includes(line) ? line : 'is not there']).toEqual([file, line])
    expect([line, changes.length > 0, reason.length > 0]).toEqual([line, true, true])
  }
})
