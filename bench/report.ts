import type { Cost } from './measure.ts'
import { table, writeBlock, writeDoc } from './page.ts'
import { barChart } from './svg.ts'
import type { TargetName } from './targets.ts'
import type { PathName } from './visitors.ts'

export interface Results {
  readonly at: string
  readonly node: string
  readonly cores: number
  readonly isPinned: boolean
  readonly connections: number
  readonly rounds: number
  readonly seconds: number
  readonly rows: readonly Row[]
}

export interface Row {
  readonly path: PathName
  readonly target: TargetName
  readonly label: string
  readonly redisCommands: number
  readonly cost: Cost
}

export const PATH_NAMES: Record<PathName, string> = {
  S: 'session check',
  F: 'forward-auth',
  P: 'password',
  V: 'verify, session opened',
  K: 'push poll',
  G: '100 groups',
}

/** What Gatehouse may cost at most, in processor time, against something else in the same run. */
interface Goal {
  readonly path: PathName
  readonly words: string
  readonly isMet: (ratioTo: (other: TargetName) => number) => boolean
}

const upTo = (path: PathName, most: number): Goal => ({
  path,
  words: `at most ${most.toFixed(1)}× the floor`,
  isMet: (ratioTo) => ratioTo('floor') <= most,
})

const GOALS: readonly Goal[] = [
  upTo('S', 2.5),
  { path: 'S', words: 'cheaper than fastify', isMet: (ratioTo) => ratioTo('fastify') < 1 },
  upTo('F', 2),
  {
    path: 'F',
    words: 'cheaper than mod_auth_openidc (4× the floor, measured once)',
    isMet: (ratioTo) => ratioTo('floor') < 4,
  },
  upTo('P', 3),
  upTo('V', 3),
  upTo('K', 3),
  upTo('G', 2.5),
]

/** Prints the tables; and, unless it is a dry run, leaves them in `docs/performance.md`, with a chart and the figures. */
export function writeReport(results: Results, { dry }: { dry: boolean }): void {
  const markdown = markdownOf(results)
  process.stdout.write(`${markdown}\n`)
  if (dry) return
  writeDoc('performance.json', `${JSON.stringify({ ...results, goals: goalsOf(results) }, null, 2)}\n`)
  writeDoc('images/performance.svg', chartOf(results))
  writeBlock('scale.md', 'capacity', capacityOf(results))
  writeBlock(
    'performance.md',
    'bench',
    `![Processor time a request against the floor](images/performance.svg)\n\n${markdown}`,
  )
}

function markdownOf(results: Results): string {
  const { rows } = results
  const figures = table(
    ['', 'CPU µs a request', '× floor', 'requests/s', 'p50 ms', 'p99 ms', 'Redis commands', 'upstream calls'],
    rows.map(({ path, label, target, cost, redisCommands }) => [
      `**${path}** ${PATH_NAMES[path]}: ${label}`,
      cost.cpuUs.toFixed(0),
      (cost.cpuUs / cpuOf(rows, path, 'floor')).toFixed(2),
      cost.requestsPerSecond.toFixed(0),
      cost.p50Ms.toFixed(1),
      cost.p99Ms.toFixed(1),
      redisCommands.toFixed(1),
      target === 'express-openid-connect' ? '–' : cost.upstreamCalls.toFixed(2),
    ]),
  )
  const goals = table(
    ['goal for Gatehouse’s processor time', '× floor', ''],
    goalsOf(results).map(({ path, words, ratio, met }) => [
      `${path}: ${words}`,
      ratio.toFixed(2),
      met ? 'reached' : '**not reached**',
    ]),
  )
  return [
    conditions(results),
    figures,
    goals,
    `Memory after all paths (resident set): ${memoryOf(rows)}.`,
  ].join('\n\n')
}

/** Of a core that is kept busy to so much, most of the time. */
const BUSY = 0.7

/** What one core carries of each thing that people do, if it did nothing else. */
function capacityOf(results: Results): string {
  const us = (path: PathName) => cpuOf(results.rows, path, 'broker')
  const carried: readonly (readonly [string, number])[] = [
    ['session checks (S)', us('S')],
    ['forward-auth questions of a proxy (F)', us('F')],
    ['pages of groups (G)', us('G')],
    ['sign-ins with password and code (P + V)', us('P') + us('V')],
    ['sign-ins with password and push, three polls (P + 3 K + V)', us('P') + 3 * us('K') + us('V')],
  ]
  const rows = carried
    .filter(([, each]) => !Number.isNaN(each))
    .map(([what, each]) => [what, each.toFixed(0), Math.floor((BUSY * 1e6) / each).toLocaleString('en')])
  return [
    conditions(results),
    table(['', 'CPU µs', `a second, on one core that is busy to ${100 * BUSY} %`], rows),
  ].join('\n\n')
}

function conditions({ at, node, cores, isPinned, connections, rounds, seconds }: Results): string {
  const pinning = isPinned ? 'the server pinned to one of them' : 'nothing pinned'
  const isShort = rounds < 3 || seconds < 1
  return [
    `${at.slice(0, 10)}, Node ${node.slice(1)}, ${cores} cores, ${pinning}, ${connections} connections,`,
    `medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s.`,
    ...(isShort ? ['**A short run: it shows that everything works; its figures are noise.**'] : []),
  ].join(' ')
}

function memoryOf(rows: readonly Row[]): string {
  const most = new Map<string, number>()
  for (const { label, cost } of rows) most.set(label, Math.max(most.get(label) ?? 0, cost.rssMb))
  return [...most].map(([label, mb]) => `${label} ${mb.toFixed(0)} MB`).join(' · ')
}

function goalsOf({ rows }: Results) {
  return GOALS.filter(
    ({ path }) => !Number.isNaN(cpuOf(rows, path, 'broker') / cpuOf(rows, path, 'floor')),
  ).map(({ path, words, isMet }) => {
    const ratioTo = (other: TargetName) => cpuOf(rows, path, 'broker') / cpuOf(rows, path, other)
    return { path, words, ratio: ratioTo('floor'), met: isMet(ratioTo) }
  })
}

function chartOf({ rows }: Results): string {
  const paths = [...new Set(rows.map(({ path }) => path))]
  return barChart({
    title: 'Processor time a request, as a multiple of the floor (less is better)',
    groups: paths.map((path) => ({
      label: `${path} ${PATH_NAMES[path]}`,
      bars: rows
        .filter((row) => row.path === path)
        .map(({ target, cost }) => ({
          name: CHART_NAMES[target],
          value: cost.cpuUs / cpuOf(rows, path, 'floor'),
        })),
    })),
  })
}

const CHART_NAMES: Record<TargetName, string> = {
  floor: 'floor',
  broker: 'Gatehouse',
  fastify: 'fastify',
  plain: 'same packages, plainly',
  'express-openid-connect': 'express-openid-connect',
}

/** NaN where it was not measured. */
function cpuOf(rows: readonly Row[], path: PathName, target: TargetName): number {
  return rows.find((row) => row.path === path && row.target === target)?.cost.cpuUs ?? Number.NaN
}
