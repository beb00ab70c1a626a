import type { Cost } from '../measure.ts'
import { table, writeResults } from '../output.ts'
import { lineChart } from '../svg.ts'
import { MAX_CONCURRENCY, UPSTREAM_MS } from './parameters.ts'
import type {
  KeyKind,
  MemorySample,
  Point,
  ProcessesPoint,
  ResponseSizePoint,
  SessionsPoint,
  SlowPoint,
} from './series.ts'

export interface GrowthResults {
  readonly at: string
  readonly node: string
  readonly cores: number
  readonly isPinned: boolean
  readonly isShort: boolean
  readonly seconds: number
  readonly minutes: number
  readonly keys: readonly KeyKind[]
  readonly sessions: readonly SessionsPoint[]
  readonly connections: readonly Point[]
  readonly groups: readonly Point[]
  readonly processes: readonly ProcessesPoint[]
  readonly bodies: readonly ResponseSizePoint[]
  readonly slow: readonly SlowPoint[]
  readonly memory: readonly MemorySample[]
}

/** Prints the tables, and writes the results unless it is a dry run. */
export function writeGrowthReport(results: GrowthResults, { dry }: { dry: boolean }): void {
  process.stdout.write(`${growthTables(results)}\n`)
  if (!dry) writeResults('performance-growth.json', results)
}

/** For docs/scale.md. */
export function growthTables(results: GrowthResults): string {
  const { sessions, connections, groups, processes, bodies, slow, memory, keys } = results
  return [
    conditions(results),
    '### Sessions in Redis',
    '![Latency of a session check by the number of sessions](images/growth-sessions.svg)',
    table(
      ['sessions', ...COST_HEAD, 'Redis bytes per session'],
      sessions.map(({ size, cost, bytesPerSession }) => [
        count(size),
        ...cells(cost),
        count(Math.round(bytesPerSession)),
      ]),
    ),
    'Keys in Redis after one user has signed in with a code, while another waits for a push:',
    table(
      ['keys', 'number', 'bytes in total', 'expire after'],
      keys.map(({ kind, count: many, bytes, seconds }) => [
        `\`${kind}:\``,
        count(many),
        count(bytes),
        duration(seconds),
      ]),
    ),
    '### Connections',
    `Session checks, at most ${MAX_CONCURRENCY} in flight.`,
    '![Latency of a session check by the number of connections](images/growth-connections.svg)',
    table(
      ['connections', ...COST_HEAD, 'resident set, MB'],
      connections.map((point) => [...pointRow(point), point.cost.rssMb.toFixed(0)]),
    ),
    '### Groups',
    'A page of at most 100 groups, by the size of the directory.',
    table(['groups', ...COST_HEAD], groups.map(pointRow)),
    '### Processes',
    processesWords(results),
    table(
      ['processes', 'session checks/s', 'CPU µs', 'p99 ms', 'sign-ins/s (P)', 'CPU µs', 'p99 ms'],
      processes.map(({ size, sessionChecks, signIns }) => [
        count(size),
        ...[sessionChecks, signIns].flatMap(({ requestsPerSecond, cpuUs, p99Ms }) => [
          count(Math.round(requestsPerSecond)),
          cpuUs.toFixed(0),
          p99Ms.toFixed(1),
        ]),
      ]),
    ),
    '### Larger responses',
    'A password step whose response has this number of factors.',
    table(
      ['factors', 'bytes of the upstream response', ...COST_HEAD],
      bodies.map(({ size, responseBytes, cost }) => [count(size), count(responseBytes), ...cells(cost)]),
    ),
    '### A slow upstream',
    `The upstream responds after ${UPSTREAM_MS} ms.`,
    '![Latency of a sign-in and of a session check by the number of sign-ins in flight](images/growth-slow-upstream.svg)',
    table(
      ['sign-ins in flight', ...COST_HEAD, 'refused', 'session check at the same time, p99 ms'],
      slow.map(({ size, cost, sessionCheckP99Ms }) => [
        count(size),
        ...cells(cost),
        `${((100 * cost.shed) / (cost.requests + cost.shed)).toFixed(1)} %`,
        sessionCheckP99Ms.toFixed(1),
      ]),
    ),
    '### Memory over time',
    '![Memory over minutes of steady load](images/growth-memory.svg)',
    memoryWords(memory),
  ].join('\n\n')
}

/** The load, Redis and the stub need their own cores. */
const CORES_FOR_TWO = 4

function processesWords({ cores }: GrowthResults): string {
  const tooFew =
    cores < CORES_FOR_TWO
      ? [
          `With ${cores} cores, no core is left for the second process: the table only shows that two processes work.`,
        ]
      : []
  return [
    'The load generator, Redis and the upstream stub run on the same machine; the servers are not pinned.',
    ...tooFew,
  ].join(' ')
}

const COST_HEAD = ['CPU µs per request', 'requests/s', 'p50 ms', 'p99 ms']

function cells({ cpuUs, requestsPerSecond, p50Ms, p99Ms }: Cost): string[] {
  return [cpuUs.toFixed(0), count(Math.round(requestsPerSecond)), p50Ms.toFixed(1), p99Ms.toFixed(1)]
}

const pointRow = ({ size, cost }: Point) => [count(size), ...cells(cost)]
const count = (value: number) => value.toLocaleString('en')

function duration(seconds: number): string {
  if (seconds > 172_800) return `${Math.round(seconds / 86_400)} days`
  if (seconds > 7200) return `${Math.round(seconds / 3600)} hours`
  return seconds > 120 ? `${Math.round(seconds / 60)} minutes` : `${seconds} s`
}

function conditions({ at, node, cores, isPinned, seconds, isShort }: GrowthResults): string {
  const pinning = isPinned ? 'server pinned to one of them unless noted' : 'no pinning'
  return [
    `${at.slice(0, 10)}, Node ${node.slice(1)}, ${cores} cores, ${pinning}; ${seconds} s per measurement.`,
    ...(isShort ? ['**A short run: its numbers are noise.**'] : []),
  ].join(' ')
}

/** The heap varies with garbage collection, so its minimum is compared. */
function memoryWords(samples: readonly MemorySample[]): string {
  const last = samples.at(-1)?.minute ?? 0
  const within = (from: number, to: number) =>
    samples.filter(({ minute }) => minute >= last * from && minute <= last * to)
  const [early, late] = [within(0.2, 0.4), within(0.8, 1)]
  const lowest = (some: readonly MemorySample[]) => Math.min(...some.map(({ heapMb }) => heapMb))
  const highest = (some: readonly MemorySample[]) => Math.max(...some.map(({ rssMb }) => rssMb))
  return [
    `During ${last.toFixed(1)} minutes of session checks, forward-auth, groups, passwords and whole sign-ins:`,
    `the lowest heap size was ${lowest(early).toFixed(0)} MB in the second fifth and ${lowest(late).toFixed(0)} MB in the last fifth;`,
    `the highest resident set was ${highest(early).toFixed(0)} MB and ${highest(late).toFixed(0)} MB.`,
  ].join(' ')
}

/** For docs/scale.md: file names without extension → SVG. */
export function growthCharts({ sessions, connections, slow, memory }: GrowthResults): Record<string, string> {
  return {
    'growth-sessions': latencyChart('Session check, ms, by sessions in Redis', 'sessions', sessions),
    'growth-connections': latencyChart('Session check, ms, by connections', 'connections', connections),
    'growth-slow-upstream': lineChart({
      title: `Upstream responds after ${UPSTREAM_MS} ms: latency, ms, by sign-ins in flight`,
      xLabel: 'sign-ins in flight',
      xScale: 'log',
      lines: [
        { name: 'sign-in p50', points: slow.map(({ size, cost }) => [size, cost.p50Ms]) },
        { name: 'sign-in p99', points: slow.map(({ size, cost }) => [size, cost.p99Ms]) },
        {
          name: 'session check p99',
          points: slow.map(({ size, sessionCheckP99Ms }) => [size, sessionCheckP99Ms]),
        },
      ],
    }),
    'growth-memory': lineChart({
      title: 'Memory under steady load, MB',
      xLabel: 'minutes',
      xScale: 'linear',
      lines: [
        { name: 'resident set', points: memory.map(({ minute, rssMb }) => [minute, rssMb]) },
        { name: 'heap in use', points: memory.map(({ minute, heapMb }) => [minute, heapMb]) },
      ],
    }),
  }
}

function latencyChart(title: string, xLabel: string, points: readonly Point[]): string {
  return lineChart({
    title,
    xLabel,
    xScale: 'log',
    lines: [
      { name: 'p50', points: points.map(({ size, cost }) => [size, cost.p50Ms]) },
      { name: 'p99', points: points.map(({ size, cost }) => [size, cost.p99Ms]) },
    ],
  })
}
