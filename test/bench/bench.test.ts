import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { type Cost, quantile } from '../../bench/measure.ts'
import { table } from '../../bench/output.ts'
import { compareBuilds, goalsTable, performanceTable } from '../../bench/report.ts'
import type { Costs } from '../../bench/rounds.ts'

const costsOf =
  (rounds: Record<string, number[]>): Costs =>
  (path, target) =>
    (rounds[`${path} ${target}`] ?? []).map((cpuUs): Cost => ({ cpuUs, redisUs: 5, requestsPerSecond: 1000 }))

test('the cheapest round of each server counts, and the report says how far the first was from it', () => {
  const costs = costsOf({
    'S floor': [10, 30, 30],
    'S broker': [60, 40, 50],
    'S plain': [45, 50, 55],
    'S express-openid-connect': [39, 90, 90],
  })
  expect(performanceTable(costs)).toContain(
    '| **S** session check: Gatehouse | 40 | 4.00 | +50 % | 1000 | 5.0 |',
  )
  expect(goalsTable(costs).split('\n').slice(2)).toEqual([
    '| S: cheaper than plain | 0.89 | met |',
    '| S: cheaper than express-openid-connect | 1.03 | **not met** |',
  ])
})

test('a rule or a JWT may cost a fifth of a forward-auth request', () => {
  const costs = costsOf({
    'F broker': [110, 100],
    'R broker': [120, 130],
    'J broker': [121, 150],
    'F floor': [50],
  })
  expect(goalsTable(costs)).toContain(
    '| R: at most 1.2 × F | 1.20 | met |\n| J: at most 1.2 × F | 1.21 | **not met** |',
  )
  expect(performanceTable(costs)).toContain(
    '| **R** forward-auth with a role: Gatehouse | 120 | 2.40 | +0 % |',
  )
})

test('bound sessions are compared with the floor of a session check; a renewal has none', () => {
  const costs = costsOf({ 'S floor': [50], 'B bound-broker': [110], 'C bound-broker': [260] })
  expect(performanceTable(costs).split('\n').slice(3)).toEqual([
    '| **B** session check of a bound session: Gatehouse | 110 | 2.20 | +0 % | 1000 | 5.0 |',
    '| **C** renewal of a bound cookie: Gatehouse | 260 | – | +0 % | 1000 | 5.0 |',
  ])
})

test('a step of a sign-in may cost a fifth more than with the packages alone', () => {
  const costs = costsOf({ 'P broker': [120], 'P plain': [100], 'V broker': [153], 'V plain': [100] })
  expect(goalsTable(costs).split('\n').slice(2)).toEqual([
    '| P: at most 1.2 × plain | 1.20 | met |',
    '| V: at most 1.2 × plain | 1.53 | **not met** |',
  ])
})

test('a build that costs over a tenth more on one path fails; the median of the starts decides', () => {
  const disturbedRound = { 'S broker': [100, 100, 100], 'S other-build': [60, 100, 95] }
  expect(compareBuilds([costsOf(disturbedRound)])).toMatchObject({ isCheapEnough: true })
  const startOf = (cpuUs: number) =>
    costsOf({ ...disturbedRound, 'F broker': [cpuUs, 2 * cpuUs, 50], 'F other-build': [100, 200, 100] })
  const { report, isCheapEnough } = compareBuilds([startOf(90), startOf(140), startOf(112)])
  expect(isCheapEnough).toBe(false)
  expect(report).toContain('| **F** forward-auth | 50 | 100 | 1.12 | 0.90–1.40 | **not met** |')
  expect(compareBuilds([startOf(90), startOf(140), startOf(109)])).toMatchObject({ isCheapEnough: true })
})

test('quantile: the value that this share of the values do not exceed', () => {
  const values = Array.from({ length: 200 }, (_, n) => 200 - n)
  expect([0, 0.5, 0.99, 1].map((share) => quantile(values, share))).toEqual([1, 101, 199, 200])
})

test('tables have a delimiter row', () => {
  expect(table(['', 'µs'], [['S', '25']])).toBe('|  | µs |\n| --- | ---: |\n| S | 25 |')
})

test('every table has a place on the page', () => {
  const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')
  const places = page.match(/(?<=<!-- measured: )\w+(?= -->\n)/g)?.sort()
  expect(places).toEqual(['capacity', 'growth', 'latency', 'performance', 'portals', 'start'])
})
