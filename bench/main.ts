import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Ask } from './load.ts'
import { type Cost, measure, medianOf } from './measure.ts'
import { end, endAll, isPinned, pinSelf, profiled, type Running, startNode, startRedis } from './processes.ts'
import { type Results, writeReport } from './report.ts'
import { ALL_PATHS, TARGETS, type Target } from './targets.ts'
import type { PathName } from './visitors.ts'

/**
 * `npm run bench`: every server and every path side by side, interleaved round by round, so that a machine that is
 * busy for a while slows all of them. Figures are to be read as ratios to the floor of the same run.
 */

const { values: options } = parseArgs({
  options: {
    paths: { type: 'string', default: ALL_PATHS.join() },
    targets: { type: 'string', default: TARGETS.map(({ name }) => name).join() },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '64' },
    /** Only prints; leaves the figures of the documentation as they are. */
    dry: { type: 'boolean', default: false },
    /** A folder for CPU profiles of every path; the figures of such a run say nothing. */
    profile: { type: 'string' },
  },
})
const paths = ALL_PATHS.filter((path) => options.paths.split(',').includes(path))
const targets = TARGETS.filter(({ name }) => options.targets.split(',').includes(name))
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const connections = Number(options.connections)

const VISITORS = 500
/** Every visitor's transaction ends with the measured request, so there are as many as requests. */
const VERIFIES = 1500
const WARM_UP_SECONDS = 1.5

pinSelf()
const logs = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
try {
  const results = await run()
  writeReport(results, { dry: options.dry })
} finally {
  await endAll()
}
process.exit()

async function run(): Promise<Results> {
  const redis = await startRedis()
  const stub = await startNode(fileURLToPath(new URL('./upstream-stub.js', import.meta.url)), {
    env: {},
    place: 'rest',
    logFile: join(logs, 'stub.log'),
  })
  const upstream = `http://127.0.0.1:${stub.port}`
  const env = { AUTHN_BASE_URL: upstream, PAM_BASE_URL: upstream, REDIS_URL: redis.url }
  const costs = new Map<string, Cost[]>()

  for (let round = 0; round <= rounds; round++) {
    for (const target of targets) {
      const running = await target.start({ env, logFile: join(logs, `${target.name}.log`) })
      for (const path of paths.filter((one) => target.paths.includes(one))) {
        await warmUp(target, running, path)
        const asks = await asksFor(target, running, path)
        const work = () =>
          measure({
            running,
            redis: redis.client,
            asks,
            connections,
            seconds: path === 'V' ? Number.POSITIVE_INFINITY : seconds,
            requests: path === 'V' ? VERIFIES : Number.POSITIVE_INFINITY,
          })
        const { profile } = options
        const cost =
          profile === undefined
            ? await work()
            : await profiled(running.child, join(profile, `${path}-${target.name}.cpuprofile`), work)
        // the first round only shows that everything works, and fills the file cache
        if (round > 0)
          costs.set(`${path} ${target.name}`, [...(costs.get(`${path} ${target.name}`) ?? []), cost])
        process.stderr.write(`round ${round} ${path} ${target.name}: ${cost.cpuUs.toFixed(1)} µs\n`)
      }
      await end(running.child)
      await redis.client.flushall()
    }
  }
  return {
    at: new Date().toISOString(),
    node: process.version,
    isPinned,
    connections,
    rounds,
    rows: paths.flatMap((path) =>
      targets.flatMap(({ name, label }) => {
        const measured = costs.get(`${path} ${name}`)
        return measured === undefined ? [] : [{ path, target: name, label, cost: medianOf(measured) }]
      }),
    ),
  }
}

async function warmUp(target: Target, running: Running, path: PathName): Promise<void> {
  const { load } = await import('./load.ts')
  const asks = await asksFor(target, running, path)
  await load({
    origin: `http://127.0.0.1:${running.port}`,
    asks,
    connections,
    seconds: WARM_UP_SECONDS,
    requests: path === 'V' ? asks.length : Number.POSITIVE_INFINITY,
  })
}

async function asksFor({ prepare }: Target, running: Running, path: PathName): Promise<readonly Ask[]> {
  const count = path === 'V' ? VERIFIES : VISITORS
  const asks = await prepare(`http://127.0.0.1:${running.port}`, path, count)
  if (asks === undefined) throw new Error(`no way to prepare ${path}`)
  return asks
}
