import { cheapestOf, pairedRatio, quantile } from './measure.ts'
import { table, verdict } from './output.ts'
import type { PathName } from './prepare-requests.ts'
import type { Costs } from './rounds.ts'
import { ALL_PATHS, BOUND_BROKER, BROKER, TARGETS } from './targets.ts'

export const PATH_NAMES: Record<PathName, string> = {
  S: '**S** session check',
  F: '**F** forward-auth',
  R: '**R** forward-auth with a role',
  J: '**J** forward-auth with a JWT',
  P: '**P** password',
  V: '**V** verify a code, open a session',
  K: '**K** push poll',
  G: '**G** list of 100 groups',
  B: '**B** session check of a bound session',
  C: '**C** renewal of a bound cookie',
}

/**
 * The servers than which Gatehouse must be cheaper in the same run, or how many times as much it
 * may cost; `broker`: as another path of its own.
 */
const GOALS: readonly (readonly [PathName, string, PathName?, number?])[] = [
  ['S', 'plain'],
  ['S', 'express-openid-connect'],
  ['F', 'plain'],
  ['F', 'express-openid-connect'],
  ['G', 'plain'],
  ['R', 'broker', 'F', 1.2],
  ['J', 'broker', 'F', 1.2],
  ['P', 'plain', 'P', 1.2],
  ['V', 'plain', 'V', 1.2],
  ['K', 'plain', 'K', 1.2],
]

const BROKERS = [BROKER.name, BOUND_BROKER.name]

/** The path with which the floor is comparable; undefined: none. */
const FLOOR_OF: Partial<Record<PathName, PathName | undefined>> = { R: 'F', J: 'F', B: 'S', C: undefined }

/** In the cheapest round; NaN if not measured. */
const cpuOf = (costs: Costs, path: PathName, target: string) =>
  cheapestOf(costs(path, target))?.cpuUs ?? Number.NaN

export function performanceTable(costs: Costs): string {
  const rows = ALL_PATHS.flatMap((path) =>
    TARGETS.flatMap(({ name }) => {
      const [first] = costs(path, name)
      const cost = cheapestOf(costs(path, name))
      const floorPath = path in FLOOR_OF ? FLOOR_OF[path] : path
      if (cost === undefined || first === undefined) return []
      return [
        [
          `${PATH_NAMES[path]}: ${BROKERS.includes(name) ? 'Gatehouse' : name}`,
          cost.cpuUs.toFixed(0),
          floorPath === undefined ? '–' : (cost.cpuUs / cpuOf(costs, floorPath, 'floor')).toFixed(2),
          `+${(100 * (first.cpuUs / cost.cpuUs - 1)).toFixed(0)} %`,
          cost.requestsPerSecond.toFixed(0),
          cost.redisUs.toFixed(1),
        ],
      ]
    }),
  )
  return table(['', 'CPU µs per request', '× floor', 'first round', 'requests/s', 'Redis CPU µs'], rows)
}

export function goalsTable(costs: Costs): string {
  const rows = GOALS.map(([path, other, otherPath = path, most = 1]) => ({
    goal:
      most === 1
        ? `${path}: cheaper than ${other}`
        : `${path}: at most ${most} × ${other === 'broker' ? otherPath : other}`,
    ratio: cpuOf(costs, path, 'broker') / cpuOf(costs, otherPath, other),
    most,
  })).filter(({ ratio }) => !Number.isNaN(ratio))
  return table(
    ['goal for the CPU time of Gatehouse', 'ratio', ''],
    rows.map(({ goal, ratio, most }) => [goal, ratio.toFixed(2), verdict(ratio <= most)]),
  )
}

/** Planned utilization of a core. */
export const UTILIZATION = 0.7

/** How many requests of each kind one core can serve, if it serves no other kind. */
export function capacityTable(costs: Costs): string {
  const us = (path: PathName) => cpuOf(costs, path, 'broker')
  const operations: readonly (readonly [string, number])[] = [
    ['session checks (S)', us('S')],
    ['forward-auth requests (F)', us('F')],
    ['pages of groups (G)', us('G')],
    ['sign-ins with password and code (P + V)', us('P') + us('V')],
    ['sign-ins with password and push, three polls (P + 3 K + V)', us('P') + 3 * us('K') + us('V')],
  ]
  return table(
    ['', 'CPU µs', `per second, on one core at ${100 * UTILIZATION} % load`],
    operations.map(([operation, each]) => [
      operation,
      each.toFixed(0),
      Math.floor((UTILIZATION * 1e6) / each).toLocaleString('en'),
    ]),
  )
}

/**
 * A build may cost at most this much of the one before, on each path; so may a request with many
 * records in Redis.
 */
export const MAX_GROWTH = 1.1

/** How this build compares with the other one: the costs are those of each start of both. */
export function compareBuilds(starts: readonly Costs[]): {
  readonly report: string
  readonly isCheapEnough: boolean
} {
  const compared = ALL_PATHS.map((path) => ({
    path,
    ratios: starts.map((costs) => pairedRatio(costs(path, 'broker'), costs(path, 'other-build'))),
  })).filter(({ ratios }) => !ratios.some(Number.isNaN))
  const lowest = (path: PathName, target: string) =>
    Math.min(...starts.map((costs) => cpuOf(costs, path, target))).toFixed(0)
  const isMet = (ratios: readonly number[]) => quantile(ratios, 0.5) <= MAX_GROWTH
  const rows = compared.map(({ path, ratios }) => [
    PATH_NAMES[path],
    lowest(path, 'broker'),
    lowest(path, 'other-build'),
    quantile(ratios, 0.5).toFixed(2),
    `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
    verdict(isMet(ratios)),
  ])
  const head = [
    'lowest CPU µs',
    'this build',
    'the other one',
    `median ratio of ${starts.length} starts`,
    'all ratios',
    `at most ${MAX_GROWTH}`,
  ]
  return {
    report: `${table(head, rows)}\n`,
    isCheapEnough: compared.every(({ ratios }) => isMet(ratios)),
  }
}
