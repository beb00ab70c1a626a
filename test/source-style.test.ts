import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import { parseSync } from '@swc/core'

/** What the formatter does not check. */
const ROOT = join(import.meta.dirname, '..')
const MAX_COMMENT_COLUMNS = 100

interface Source {
  readonly path: string
  readonly text: string
}

function projectSources(): Source[] {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0')
  return listed
    .filter((path) => /^\.(ts|tsx|mts|mjs|js)$/.test(extname(path)) && !path.endsWith('.d.mts'))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

test('comments end at column 100', () => {
  const sources = projectSources()
  expect(sources.length).toBeGreaterThan(300)
  expect(sources.flatMap(longComments)).toEqual([])
  const long = 'x'.repeat(MAX_COMMENT_COLUMNS)
  const starts = ['// ', ' * ', 'run() // ', "const url = 'http://"]
  const text = starts.map((start) => start + long).join('\n')
  expect(longComments({ path: 'a.ts', text })).toEqual(['a.ts:1', 'a.ts:2', 'a.ts:3'])
})

/** A word that is longer cannot be wrapped, nor can a suppression. */
function longComments({ path, text }: Source): string[] {
  return text.split('\n').flatMap((line, index) => {
    const [, comment] = /(?:^\s*\*|(?:^|\s)(?:\/\/|\/\*\*?)) (.*)$/.exec(line) ?? []
    const isLong = [...line].length > MAX_COMMENT_COLUMNS
    return comment === undefined || !isLong || comment.startsWith('biome-ignore')
      ? []
      : [`${path}:${index + 1}`]
  })
}

test('no spread of a literal, which would only keep the formatter from breaking a line', () => {
  expect(projectSources().flatMap(literalSpreads)).toEqual([])
  const found = (text: string) => literalSpreads({ path: 'a.ts', text }).length
  expect(['x = { ...{ a, b }, c }', 'x = [...[1, 2], 3]', 'f(...[1, 2])'].map(found)).toEqual([1, 1, 1])
  expect(['x = { ...(a ? { b } : {}) }', 'x = [...[1].map(f)]', 'f = (...[, b]) => b'].map(found)).toEqual([
    0, 0, 0,
  ])
})

// biome-ignore lint/suspicious/noExplicitAny: a node of any kind
type Node = Readonly<Record<string, any>>

function literalSpreads({ path, text }: Source): string[] {
  const found: string[] = []
  const tsx = /\.[jt]sx$/.test(path)
  const isLiteral = (node?: Node) => node?.type === 'ObjectExpression' || node?.type === 'ArrayExpression'
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const node: Node = value
    const spread = node.type === 'SpreadElement' ? node.arguments : node.spread && node.expression
    if (isLiteral(spread)) found.push(path)
    for (const member of Object.values(node)) visit(member)
  }
  visit(parseSync(text, { syntax: 'typescript', tsx, target: 'es2022' }).body)
  return found
}
