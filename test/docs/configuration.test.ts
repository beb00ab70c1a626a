import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { isScalar, parseAllDocuments, visit } from 'yaml'
import { attemptLimits } from '../../src/authn/throttling/attempt-limits.ts'
import { defaultTunables } from '../../src/config/tunables.ts'
import { isSecret, VARIABLE_NAMES } from '../../src/config/variables.ts'
import { OPS_LIMITS } from '../../src/ops/admin-routes.ts'
import { EVENT_HOOK_LIMITS } from '../../src/org-events/org-event-routes.ts'
import { APP_LIMITS } from '../../src/pam/app-routes.ts'
import { parseRedisUrl } from '../../src/store/redis-url.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/configuration.md')
const { limits, ...others } = defaultTunables()

/** The cells of the rows below a heading whose first cell is a name in code. */
function rowsBelow(heading: string): string[][] {
  const [section = ''] = page.split(`\n## ${heading}\n`)[1]?.split('\n## ') ?? []
  return [...section.matchAll(/^\| (`.*) \|$/gm)].map(([, row = '']) => row.split(/ ?\| ?/))
}

function leavesOf(group: object, prefix = ''): [string, unknown][] {
  return Object.entries(group).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && value.attempts === undefined
      ? leavesOf(value, `${prefix}${name}.`)
      : [[prefix + name, value] as [string, unknown]],
  )
}

test('docs/configuration.md has a row for every variable, and marks the secrets', () => {
  const titles = VARIABLE_NAMES.map((name) => `\`${name}\`${isSecret(name) ? ' **S**' : ''}`)
  expect(rowsBelow('Variables').map(([title]) => title)).toEqual(titles)
})

test('docs/configuration.md has a row for every tunable with its value', () => {
  const rows = rowsBelow('Tunables').map(([path, value]) => [path, value])
  expect(rows.sort()).toEqual(
    leavesOf(others)
      .map(([path, value]) => [`\`${path}\``, String(value)])
      .sort(),
  )
})

// shows: V2.1.3
test('docs/configuration.md has the windows of every limit', () => {
  const UNITS: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3600, d: 86_400 }
  const windows = rowsBelow('Limits').flatMap(([path = '', ...cells]) =>
    cells.slice(0, 3).flatMap((cell, at) => {
      const [, attempts, count, unit = ''] = /^(\d+) in (\d+) (\w+)$/.exec(cell) ?? []
      if (attempts === undefined) return []
      const window = { attempts: Number(attempts), perSeconds: Number(count) * (UNITS[unit] ?? 0) }
      return [[/[\w.]+/.exec(path)?.[0], ['burst', 'sustained', 'inARow'][at], window]]
    }),
  )
  const ofCalls = { ...APP_LIMITS, ...OPS_LIMITS, ...EVENT_HOOK_LIMITS }
  const expected = leavesOf({ ...limits, ...attemptLimits(limits), ...ofCalls }).map(([path, window]) => {
    const [, limit = path, name = 'burst'] = /^(.*)\.(burst|sustained|inARow)$/.exec(path) ?? []
    return [limit, name, window]
  })
  expect(windows.sort()).toEqual(expected.sort())
})

test('docs/configuration.md marks the limits that are tunables', () => {
  const marked = rowsBelow('Limits').flatMap(([title = '']) => /^`(.+)` \*\*T\*\*$/.exec(title)?.[1] ?? [])
  const tunable = leavesOf(limits).map(([path]) => path.replace(/\.(burst|sustained|inARow)$/, ''))
  expect(marked.sort()).toEqual([...new Set(tunable)].sort())
})

test('docs/configuration.md has the forms of REDIS_URL, each of which is read, and the users of the sentinels', () => {
  const [section = ''] = page.split('\n## Redis\n')[1]?.split('\n## ') ?? []
  const urls = [...section.matchAll(/`(rediss?[+:][^`…]+)`/g)].map(([, url = '']) => parseRedisUrl(url))
  expect(new Set(urls.map(({ form }) => form))).toEqual(new Set(['standalone', 'sentinel', 'cluster']))
  expect(urls.map(({ sentinel }) => sentinel?.credentials)).toContainEqual({
    username: 'watch',
    password: 'secret',
  })
})

/** As Compose and Helm read it: `on` is a boolean in YAML 1.1. */
function valuesOfVariables(yaml: string): unknown[] {
  const found: unknown[] = []
  for (const document of parseAllDocuments(yaml, { version: '1.1', merge: true }))
    visit(document, {
      Pair(_, { key, value }) {
        if (isScalar(key) && isScalar(value) && VARIABLE_NAMES.some((name) => name === key.value))
          found.push(value.value)
      },
    })
  return found
}

test('in YAML, docs, chart and Compose write the value of each variable as text, numbers and on in quotes', () => {
  expect(valuesOfVariables('env: { STEP_UP: on, PORT: 80, RECOVERY: "on" }')).toEqual([true, 80, 'on'])
  const pages = readdirSync('docs').filter((name) => name.endsWith('.md'))
  const blocks = pages.flatMap((name) => [...read(`docs/${name}`).matchAll(/```ya?ml\n(.*?)```/gs)])
  const files = ['deploy/helm/gatehouse/values.yaml', 'deploy/compose.yaml'].map(read)
  const found = [...blocks.map(([, block = '']) => block), ...files].flatMap(valuesOfVariables)
  expect(found.length).toBeGreaterThan(10)
  expect(found.filter((value) => typeof value !== 'string')).toEqual([])
})
