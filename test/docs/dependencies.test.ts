import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('docs/architecture.md has a row for every direct dependency', () => {
  const [, section = ''] = read('docs/architecture.md').split('## Dependencies')
  const rows = [...(section.split('\n## ')[0]?.matchAll(/^\| ([\w./@-]+) \| \S/gm) ?? [])].map(
    ([, name]) => name,
  )
  expect(rows.slice(1)).toEqual(Object.keys(JSON.parse(read('package.json')).dependencies).sort())
})
