/** Reads docs/conformance.md: one table row for each row and sentence of the two API specifications. */

export interface ConformanceRow {
  readonly id: string
  readonly text: string
  readonly sandbox: string
  readonly broker: string
}

/** The source of a test file, by its path from the project's root; undefined: there is no such file. */
export type ReadTest = (path: string) => string | undefined

const HEADER = ['id', 'what the specification says', 'sandbox', 'broker']
const ID = /^([AP])-([1-9]\d*)\.([1-9]\d*)$/
const LOOKS_LIKE_A_ROW = /^\s*\|?\s*[A-Z]-\d/
const TEST = /^`(test\/[\w/.-]+\.test\.ts)` › (.+)$/
/** What may stand in place of a test, with its reason. */
const UNSHOWN = /^(documented only|not yet shown): \S/

/** Everything that is wrong with the page, each as one sentence; none: the page is sound. */
export function checkConformancePage(page: string, readTest: ReadTest): string[] {
  const { rows, problems } = readRows(page)
  if (rows.length === 0) problems.push('there is no row')
  problems.push(...checkIds(rows))
  for (const row of rows) {
    if (row.text === '') problems.push(`${row.id}: says nothing`)
    if (row.sandbox === '—' && row.broker === '—') problems.push(`${row.id}: neither column says anything`)
    for (const column of ['sandbox', 'broker'] as const)
      problems.push(...checkCell(row[column], readTest).map((problem) => `${row.id}, ${column}: ${problem}`))
  }
  return problems
}

/** The rows of every table with our four columns; other tables are left alone. */
export function readRows(page: string): { rows: ConformanceRow[]; problems: string[] } {
  const rows: ConformanceRow[] = []
  const problems: string[] = []
  let inTable = false
  for (const line of page.split('\n')) {
    const cells = cellsOf(line)
    if (cells === undefined) inTable = false
    else if (HEADER.every((name, at) => cells[at] === name) && cells.length === HEADER.length) inTable = true
    else if (inTable && !cells.every((cell) => /^:?-+:?$/.test(cell))) {
      const [id = '', text = '', sandbox = '', broker = ''] = cells
      if (cells.length === HEADER.length) rows.push({ id, text, sandbox, broker })
      else problems.push(`${id}: ${cells.length} columns instead of ${HEADER.length}`)
    }
    if (!inTable && LOOKS_LIKE_A_ROW.test(line)) problems.push(`outside of a table: ${line}`)
  }
  return { rows, problems }
}

/** Cells of a table line, `\|` being a character of its cell; undefined: no table line. */
export function cellsOf(line: string): string[] | undefined {
  const match = /^\|(.*)\|\s*$/.exec(line)
  if (match === null) return undefined
  return (match[1] ?? '').split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}

/** Ids count on from 1: rows within a section, sections within a specification, the sign-in API before PAM. */
function checkIds(rows: readonly ConformanceRow[]): string[] {
  const problems: string[] = []
  let before = { api: 'A', section: 1, number: 0 }
  for (const { id } of rows) {
    const [, api = '', section, number] = ID.exec(id) ?? []
    const here = { api, section: Number(section), number: Number(number) }
    if (api === '') problems.push(`${id}: is no id such as A-3.12`)
    else {
      const expected = successors(before)
      if (!expected.includes(id)) problems.push(`${id}: expected ${expected.join(' or ')}`)
      before = here
    }
  }
  const ids = rows.map(({ id }) => id)
  for (const id of new Set(ids.filter((one, at) => ids.indexOf(one) !== at)))
    problems.push(`${id}: stands there twice`)
  return problems
}

function successors({ api, section, number }: { api: string; section: number; number: number }): string[] {
  const within = `${api}-${section}.${number + 1}`
  if (number === 0) return [within]
  return [within, `${api}-${section + 1}.1`, ...(api === 'A' ? ['P-1.1'] : [])]
}

function checkCell(cell: string, readTest: ReadTest): string[] {
  if (cell === '—') return []
  const parts = cell.split('<br>').map((part) => part.trim())
  return parts.filter((part) => !UNSHOWN.test(part)).flatMap((test) => checkTest(test, readTest))
}

function checkTest(test: string, readTest: ReadTest): string[] {
  return (
    checkNamedTest(test, readTest) ?? [
      `neither a test nor "documented only: …", "not yet shown: …" or "—": ${test}`,
    ]
  )
}

/** What is wrong with a named test, such as "`test/crypto/seal.test.ts` › a title"; undefined: it names none. */
export function checkNamedTest(test: string, readTest: ReadTest): string[] | undefined {
  const [, path, titles] = TEST.exec(test) ?? []
  if (path === undefined || titles === undefined) return undefined
  const source = readTest(path)
  if (source === undefined) return [`there is no file ${path}`]
  return titles
    .split(' › ')
    .filter((title) => !standsIn(source, title))
    .map((title) => `${path} has no test or row named: ${title}`)
}

/** In quotes of any kind, or as the key of a table; a part of a longer title is not enough. */
function standsIn(source: string, title: string): boolean {
  const text = source.replace(/\\u([0-9a-f]{4})/g, (_, hex: string) =>
    String.fromCharCode(Number(`0x${hex}`)),
  )
  const isQuoted = ["'", '"', '`'].some((quote) => text.includes(quote + title + quote))
  return isQuoted || (/^\w+$/.test(title) && new RegExp(`^\\s*${title}: `, 'm').test(source))
}
