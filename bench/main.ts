import { parseArgs } from 'node:util'
import { publish } from './output.ts'
import { runBenchmark } from './processes.ts'
import { startRedis } from './redis.ts'
import { capacityTable, compareBuilds, goalsTable, performanceTable } from './report.ts'
import { type Costs, runRounds } from './rounds.ts'
import { ALL_PATHS, otherBuild, TARGETS, type Target } from './targets.ts'

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
    /** With `against`: how many times both brokers are started. */
    starts: { type: 'string', default: '7' },
    dry: { type: 'boolean', default: false },
  },
})
const { against, dry } = options
const paths = ALL_PATHS.filter((path) => options.paths.split(',').includes(path))
const names = (options.targets ?? (against ? 'broker' : TARGETS.map(({ name }) => name).join())).split(',')
const rounds = Number(options.rounds ?? (against ? 9 : 3))
const seconds = Number(options.seconds ?? (against ? 0.3 : 1.5))

await runBenchmark(async (setup) => {
  const redis = await startRedis()
  const run = (targets: readonly Target[]) =>
    runRounds({
      ...setup,
      targets: targets.map((target) => ({ ...target, redis })),
      paths,
      rounds,
      seconds,
    })
  const measured = TARGETS.filter(({ name }) => names.includes(name))
  if (against !== undefined) {
    const { report, isCheapEnough } = compareBuilds(
      await startsOf([...measured, otherBuild(against)], Number(options.starts), run),
    )
    process.stdout.write(report)
    return isCheapEnough
  }
  const costs = await run(measured)
  const how = `the cheapest of ${rounds} rounds of ${seconds} s`
  publish('performance', how, [performanceTable(costs), goalsTable(costs)], dry)
  publish('capacity', how, [capacityTable(costs)], dry)
  return true
})

/**
 * The costs of new processes each time. V8 compiles the same code in another way in each process,
 * which is worth several percent until the process ends; the first one to start is not always the
 * same.
 */
async function startsOf(
  targets: readonly Target[],
  starts: number,
  run: (targets: readonly Target[]) => Promise<Costs>,
): Promise<Costs[]> {
  const costs: Costs[] = []
  for (let start = 1; start <= starts; start++)
    costs.push(await run(start % 2 === 0 ? targets.toReversed() : targets))
  return costs
}
