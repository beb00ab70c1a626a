import { parseArgs } from 'node:util'
import { type GrowthResults, writeGrowthReport } from './growth/report.ts'
import * as series from './growth/series.ts'
import { cores, endAll, isPinned, pinSelf } from './processes.ts'

/**
 * `npm run bench:growth`: what becomes of Gatehouse when there is more of everything. About 15 minutes; with `--short`
 * two, which shows that it works.
 */

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    /** Of steady load, for the memory. */
    minutes: { type: 'string' },
    /** Only prints; leaves the documentation as it is. */
    dry: { type: 'boolean', default: false },
  },
})

const FULL = {
  sessions: [1000, 100_000, 1_000_000],
  connections: [64, 1000, 5000],
  groups: [1, 100, 10_000],
  signInsUnderWay: [64, 128, 256, 512],
  seconds: 3,
  minutes: 10,
}
const SHORT: typeof FULL = {
  sessions: [1000, 20_000],
  connections: [64, 1000],
  groups: [1, 1000],
  signInsUnderWay: [64, 256],
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
  await endAll()
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
    keys: await said('keys of one person', series.keysOfOnePerson()),
    sessions: await said('sessions', series.moreSessions(plan.sessions, seconds)),
    connections: await said('connections', series.moreConnections(plan.connections, seconds)),
    groups: await said('groups', series.moreGroups(plan.groups, seconds)),
    processes: await said('processes', series.moreProcesses([1, 2], seconds)),
    bodies: await said('bodies', series.largerAnswers([2, 10, 50], seconds)),
    slow: await said('slow upstream', series.slowUpstream(plan.signInsUnderWay, seconds)),
    memory: await said('memory', series.memoryOver(minutes)),
  }
}

async function said<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const startedAt = performance.now()
  const result = await work
  process.stderr.write(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`)
  return result
}
