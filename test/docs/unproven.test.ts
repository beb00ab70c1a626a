import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const root = new URL('../../', import.meta.url)
const read = (page: string) => readFileSync(new URL(page, root), 'utf8')

const TABLE = 'docs/unproven.md'
const rows = [...read(TABLE).matchAll(/^\| ([A-Z]\d+) \|(.+)\|$/gm)].map(([, id = '', cells = '']) => ({
  id,
  markedIn: cells.slice(cells.lastIndexOf('|') + 1),
}))
const ids = rows.map(({ id }) => id)

const pages = [
  'README.md',
  'client/README.md',
  ...markdownIn('docs', { recursive: false }),
  ...markdownIn('deploy', { recursive: true }),
].filter((page) => page !== TABLE)

function markdownIn(folder: string, { recursive }: { recursive: boolean }): string[] {
  return readdirSync(new URL(folder, root), { recursive })
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.endsWith('.md'))
}

/**
 * Each mark of a page: the ids after it, such as R1 and A4 in "*unproven*, R1, A4", and its line.
 */
function marksIn(text: string) {
  return [...text.matchAll(/unproven(?!\.md)(\*[,:]?\s\(?((?:[A-Z]\d+(?:,\s|\sand\s)?)+))?/gi)].map(
    (mark) => ({
      line: text.slice(0, mark.index).split('\n').length,
      ids: mark[2]?.match(/[A-Z]\d+/g) ?? [],
    }),
  )
}

test('each mark "unproven" in the docs is followed by ids of docs/unproven.md, as in "*unproven*, R1"', () => {
  const wrong = pages.flatMap((page) =>
    marksIn(withoutLinks(read(page)))
      .filter((mark) => mark.ids.length === 0 || mark.ids.some((id) => !ids.includes(id)))
      .map(({ line, ids: named }) => `${page}:${line} names ${named.join(', ') || 'no id'}`),
  )
  expect(wrong).toEqual([])
})

/** A link to the table explains the mark. Its text is no mark. */
function withoutLinks(text: string): string {
  return text.replace(/\[[^\]]*\]\([^)]*unproven\.md[^)]*\)/g, '')
}

test('the ids of the table are unique and in order', () => {
  const inOrder = [...new Set(ids)].sort(
    (a, b) => a.charCodeAt(0) - b.charCodeAt(0) || Number(a.slice(1)) - Number(b.slice(1)),
  )
  expect(ids.length).toBeGreaterThan(40)
  expect(ids).toEqual(inOrder)
})

test('each page that a row names as marked names the id', () => {
  const named = rows.flatMap(({ id, markedIn }) =>
    [...markedIn.matchAll(/\]\(([^)#]+)/g)].map(([, page = '']) => ({ id, page: `docs/${page}` })),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ id, page }) => !new RegExp(`\\b${id}\\b`).test(read(page)))).toEqual([])
})

test.each([
  ['a mark without an id', 'It is *unproven*.', [{ line: 1, ids: [] }]],
  ['a word without emphasis', 'This is unproven, R1.', [{ line: 1, ids: [] }]],
  ['several ids', '(*unproven*, R1, A4)', [{ line: 1, ids: ['R1', 'A4'] }]],
  ['the first word of a sentence', 'x\n*Unproven*, T1.', [{ line: 2, ids: ['T1'] }]],
])('the test sees %s', (_, text, marks) => {
  expect(marksIn(text)).toEqual(marks)
})
