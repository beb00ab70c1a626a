import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { attemptLimits } from '../../src/authn/throttling/attempt-limits.ts'
import { defaultTunables } from '../../src/config/tunables.ts'
import { isSecret, VARIABLE_NAMES } from '../../src/config/variables.ts'
import { OPS_LIMITS } from '../../src/ops/admin-routes.ts'
import { EVENT_HOOK_LIMITS } from '../../src/org-events/org-event-routes.ts'
import { APP_LIMITS } from '../../src/pam/app-routes.ts'

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
