import type { Cost } from './measure.ts'
import { table, writeResults } from './output.ts'
import type { PathName } from './prepare-requests.ts'
import { barChart } from './svg.ts'
import type { TargetName } from './targets.ts'

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
  readonly redisCommands: number
  readonly cost: Cost
}

export const PATH_NAMES: Record<PathName, string> = {
  S: 'session check',
  F: 'forward-auth',
  P: 'password',
  V: 'verify a code, open a session',
  K: 'push poll',
  G: 'list of 100 groups',
}

/** The CPU time that Gatehouse may cost at most, relative to another server in the same run. */
interface Goal {
  readonly path: PathName
  readonly description: string
  readonly isMet: (ratioTo: (other: TargetName) => number) => boolean
}

const upTo = (path: PathName, most: number): Goal => ({
  path,
  description: `at most ${most.toFixed(1)}× the floor`,
  isMet: (ratioTo) => ratioTo('floor') <= most,
})

const GOALS: readonly Goal[] = [
  upTo('S', 2.5),
  { path: 'S', description: 'cheaper than fastify', isMet: (ratioTo) => ratioTo('fastify') < 1 },
  upTo('F', 2),
  {
    path: 'F',
    description: 'cheaper than mod_auth_openidc (4× the floor, measured once)',
    isMet: (ratioTo) => ratioTo('floor') < 4,
  },
  upTo('P', 3),
  upTo('V', 3),
  upTo('K', 3),
  upTo('G', 2.5),
]

/** Prints the tables, and writes the results unless it is a dry run. */
export function writeReport(results: Results, { dry }: { dry: boolean }): void {
  process.stdout.write(`${performanceTables(results)}\n`)
  if (!dry) writeResults('performance.json', { ...results, goals: goalsOf(results) })
}

/** For docs/performance.md. */
export function performanceTables(results: Results): string {
  const { rows } = results
  const figures = table(
    [
      '',
      'CPU µs per request',
      '× floor',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'Redis commands',
      'upstream calls',
    ],
    rows.map(({ path, target, cost, redisCommands }) => [
      `**${path}** ${PATH_NAMES[path]}: ${TARGET_NAMES[target]}`,
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
    ['goal for the CPU time of Gatehouse', '× floor', ''],
    goalsOf(results).map(({ path, description, ratio, met }) => [
      `${path}: ${description}`,
      ratio.toFixed(2),
      met ? 'met' : '**not met**',
    ]),
  )
  return [
    conditions(results),
    figures,
    goals,
    `Memory (resident set) after all paths: ${memoryOf(rows)}.`,
  ].join('\n\n')
}

/** Planned utilization of a core. */
const UTILIZATION = 0.7

/** For docs/scale.md: how many requests of each kind one core can serve, if it serves no other kind. */
export function capacityTable(results: Results): string {
  const us = (path: PathName) => cpuOf(results.rows, path, 'broker')
  const operations: readonly (readonly [string, number])[] = [
    ['session checks (S)', us('S')],
    ['forward-auth requests (F)', us('F')],
    ['pages of groups (G)', us('G')],
    ['sign-ins with password and code (P + V)', us('P') + us('V')],
    ['sign-ins with password and push, three polls (P + 3 K + V)', us('P') + 3 * us('K') + us('V')],
  ]
  const rows = operations
    .filter(([, each]) => !Number.isNaN(each))
    .map(([operation, each]) => [
      operation,
      each.toFixed(0),
      Math.floor((UTILIZATION * 1e6) / each).toLocaleString('en'),
    ])
  return [
    conditions(results),
    table(['', 'CPU µs', `per second, on one core at ${100 * UTILIZATION} % load`], rows),
  ].join('\n\n')
}

function conditions({ at, node, cores, isPinned, connections, rounds, seconds }: Results): string {
  const pinning = isPinned ? 'server pinned to one of them' : 'no pinning'
  const isShort = rounds < 3 || seconds < 1
  return [
    `${at.slice(0, 10)}, Node ${node.slice(1)}, ${cores} cores, ${pinning}, ${connections} connections,`,
    `median of ${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s.`,
    ...(isShort ? ['**A short run: its numbers are noise.**'] : []),
  ].join(' ')
}

function memoryOf(rows: readonly Row[]): string {
  const peak = new Map<TargetName, number>()
  for (const { target, cost } of rows) peak.set(target, Math.max(peak.get(target) ?? 0, cost.rssMb))
  return [...peak].map(([target, mb]) => `${TARGET_NAMES[target]} ${mb.toFixed(0)} MB`).join(' · ')
}

function goalsOf({ rows }: Results) {
  return GOALS.filter(
    ({ path }) => !Number.isNaN(cpuOf(rows, path, 'broker') / cpuOf(rows, path, 'floor')),
  ).map(({ path, description, isMet }) => {
    const ratioTo = (other: TargetName) => cpuOf(rows, path, 'broker') / cpuOf(rows, path, other)
    return { path, description, ratio: ratioTo('floor'), met: isMet(ratioTo) }
  })
}

/** For docs/performance.md. */
export function performanceChart({ rows }: Results): string {
  const paths = [...new Set(rows.map(({ path }) => path))]
  return barChart({
    title: 'CPU time per request, as a multiple of the floor (less is better)',
    groups: paths.map((path) => ({
      label: `${path} ${PATH_NAMES[path]}`,
      bars: rows
        .filter((row) => row.path === path)
        .map(({ target, cost }) => ({
          name: TARGET_NAMES[target],
          value: cost.cpuUs / cpuOf(rows, path, 'floor'),
        })),
    })),
  })
}

const TARGET_NAMES: Record<TargetName, string> = {
  floor: 'floor',
  broker: 'Gatehouse',
  fastify: 'fastify',
  plain: 'same packages, plain setup',
  'express-openid-connect': 'express-openid-connect',
}

/** NaN if not measured. */
function cpuOf(rows: readonly Row[], path: PathName, target: TargetName): number {
  return rows.find((row) => row.path === path && row.target === target)?.cost.cpuUs ?? Number.NaN
}
