import { parseArgs } from 'node:util'
import { publish } from './output.ts'
import { runBenchmark } from './processes.ts'
import { startRedis } from './redis.ts'
import { capacityTable, compareBuilds, goalsTable, performanceTable } from './report.ts'
import { runRounds } from './rounds.ts'
import { ALL_PATHS, otherBuild, TARGETS } from './targets.ts'

/**
 * `npm run bench`: compares all servers on all paths, or this build with another one. Read the
 * results as ratios within a run.
 */

const { values: options } = parseArgs({
  options: {
    paths: { type: 'string', default: ALL_PATHS.join() },
    targets: { type: 'string' },
    rounds: { type: 'string' },
    /** Of each measurement. */
    seconds: { type: 'string' },
    /**
     * The folder of another checkout that is built. Only its broker and this one are measured, and
     * nothing is written.
     */
    against: { type: 'string' },
    dry: { type: 'boolean', default: false },
  },
})
const { against, dry } = options
const paths = ALL_PATHS.filter((path) => options.paths.split(',').includes(path))
const names = (options.targets ?? (against ? 'broker' : TARGETS.map(({ name }) => name).join())).split(',')
const rounds = Number(options.rounds ?? (against ? 15 : 3))
const seconds = Number(options.seconds ?? (against ? 0.3 : 1.5))

await runBenchmark(async (setup) => {
  const redis = await startRedis()
  const targets = [
    ...TARGETS.filter(({ name }) => names.includes(name)),
    ...(against === undefined ? [] : [otherBuild(against)]),
  ].map((target) => ({ ...target, redis }))
  const costs = await runRounds({ ...setup, targets, paths, rounds, seconds })
  if (against !== undefined) {
    const { report, isCheapEnough } = compareBuilds(costs)
    process.stdout.write(report)
    return isCheapEnough
  }
  const how = `the cheapest of ${rounds} rounds of ${seconds} s`
  publish('performance', how, [performanceTable(costs), goalsTable(costs)], dry)
  publish('capacity', how, [capacityTable(costs)], dry)
  return true
})
