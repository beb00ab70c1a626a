import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { readAsvsList } from '../../scripts/docs/asvs-list.ts'
import { checkNamedTest } from '../support/named-tests.ts'

const root = new URL('../../', import.meta.url)
const rows = readAsvsList(new URL('docs/asvs.json', root).pathname).chapters.flatMap(
  (chapter) => chapter.rows,
)

function readTest(path: string): string | undefined {
  const url = new URL(path, root)
  return existsSync(url) ? readFileSync(url, 'utf8') : undefined
}

/** That each row has a test or a reason, its schema ensures (scripts/docs/asvs-list.ts). */
test('docs/asvs.json has one row for each requirement that it names, with tests that exist', () => {
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  const problems = rows.flatMap(({ id, tests }) =>
    Object.entries(tests).flatMap(([path, titles]) =>
      titles.flatMap((one) => checkNamedTest(path, one, readTest).map((problem) => `${id}: ${problem}`)),
    ),
  )
  expect(problems).toEqual([])
})
