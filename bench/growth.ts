import { parseArgs } from 'node:util'
import { type GrowthResults, writeGrowthReport } from './growth/report.ts'
import * as series from './growth/series.ts'
import { cores, isPinned, killAll, pinSelf } from './processes.ts'

/**
 * `npm run bench:growth`: measures Gatehouse with growing numbers of sessions, connections, groups and more. Takes about
 * 15 minutes, or two with `--short`, which only shows that everything works.
 */

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    /** The duration of the steady load for the memory series. */
    minutes: { type: 'string' },
    /** Prints the results and does not update the docs. */
    dry: { type: 'boolean', default: false },
  },
})

const FULL = {
  sessions: [1000, 100_000, 1_000_000],
  connections: [64, 1000, 5000],
  groups: [1, 100, 10_000],
  concurrentSignIns: [64, 128, 256, 512],
  seconds: 3,
  minutes: 10,
}
const SHORT: typeof FULL = {
  sessions: [1000, 20_000],
  connections: [64, 1000],
  groups: [1, 1000],
  concurrentSignIns: [64, 256],
  seconds: 1,
  minutes: 0.5,
}
const plan = options.short ? SHORT : FULL
const seconds = Number(options.seconds ?? plan.seconds)
const minutes = Number(options.minutes ?? plan.minutes)

pinSelf()
try {
  const results = await run()
  writeGrowthReport(results, { dry: options.dry })
} finally {
  await killAll()
}
process.exit()

async function run(): Promise<GrowthResults> {
  return {
    at: new Date().toISOString(),
    node: process.version,
    cores,
    isPinned,
    isShort: options.short || seconds < FULL.seconds || minutes < FULL.minutes,
    seconds,
    minutes,
    keys: await logDuration('keys per user', series.keysPerUser()),
    sessions: await logDuration('sessions', series.measureSessions(plan.sessions, seconds)),
    connections: await logDuration('connections', series.measureConnections(plan.connections, seconds)),
    groups: await logDuration('groups', series.measureGroups(plan.groups, seconds)),
    processes: await logDuration('processes', series.measureProcesses([1, 2], seconds)),
    bodies: await logDuration('bodies', series.measureResponseSizes([2, 10, 50], seconds)),
    slow: await logDuration('slow upstream', series.measureSlowUpstream(plan.concurrentSignIns, seconds)),
    memory: await logDuration('memory', series.measureMemory(minutes)),
  }
}

async function logDuration<Result>(name: string, work: Promise<Result>): Promise<Result> {
  const startedAt = performance.now()
  const result = await work
  process.stderr.write(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`)
  return result
}
