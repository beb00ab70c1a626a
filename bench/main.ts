import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Redis } from 'ioredis'
import { checkContract } from './contract.ts'
import { type Connections, connect, load, type PreparedRequest, retryUnexpected } from './load.ts'
import { type Cost, countCommands, measure, medianOf } from './measure.ts'
import { ONCE, type PathName, withPath } from './prepare-requests.ts'
import {
  cores,
  isPinned,
  killAll,
  pinSelf,
  profiled,
  type ServerProcess,
  type Stub,
  startRedis,
  startStub,
} from './processes.ts'
import { type Results, writeReport } from './report.ts'
import { ALL_PATHS, TARGETS, type Target } from './targets.ts'

/**
 * `npm run bench`: compares all servers on all paths. The rounds are interleaved, so that a machine that is busy for a
 * while slows all servers. All servers run from start to end and are idle between their turns. Read the results as
 * ratios to the floor of the same run.
 */

const { values: options } = parseArgs({
  options: {
    paths: { type: 'string', default: ALL_PATHS.join() },
    targets: { type: 'string', default: TARGETS.map(({ name }) => name).join() },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '1.5' },
    connections: { type: 'string', default: '64' },
    /** Prints the results and does not update the docs. */
    dry: { type: 'boolean', default: false },
    /** A folder for a CPU profile of each path. Profiling distorts the results. */
    profile: { type: 'string' },
  },
})
const paths = ALL_PATHS.filter((path) => options.paths.split(',').includes(path))
const targets = TARGETS.filter(({ name }) => options.targets.split(',').includes(name))
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)

const VISITORS = 500
/** The number of requests on paths whose requests can be sent only once. */
const MEASURED_ONCE = 1500
const COUNTED = 40

interface WarmUp {
  readonly seconds: number
  /** On paths whose requests can be sent only once. */
  readonly requests: number
}

/** V8 compiles for several seconds, longer for more code; a production server is warm. */
const FROM_COLD: WarmUp = { seconds: 4, requests: 3000 }
const FROM_WARM: WarmUp = { seconds: 0.5, requests: 300 }

interface Started {
  readonly target: Target
  readonly server: ServerProcess
  readonly origin: string
  readonly connections: Connections
  readonly redis: Redis
  readonly stub: Stub
}

interface PreparedTarget extends Started {
  /** Requests of signed-in users, for the paths that only need a session. */
  readonly signedIn: readonly PreparedRequest[]
}

pinSelf()
if (options.profile !== undefined) mkdirSync(options.profile, { recursive: true })
const logs = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
try {
  const results = await run()
  writeReport(results, { dry: options.dry || options.profile !== undefined })
  rmSync(logs, { recursive: true }) // kept after a failure: the error names the log to read
} finally {
  await killAll()
}
process.exit()

async function run(): Promise<Results> {
  const redis = await startRedis()
  const stub = await startStub({ env: {}, logFile: join(logs, 'stub.log') })
  const env = { AUTHN_BASE_URL: stub.url, PAM_BASE_URL: stub.url, REDIS_URL: redis.url }
  const costs = new Map<string, Cost[]>()
  const commands = new Map<string, number>()

  const started: Started[] = []
  for (const target of targets) {
    const server = await target.start({ env, logFile: join(logs, `${target.name}.log`) })
    const origin = `http://127.0.0.1:${server.port}`
    const connections = await connect([origin], Number(options.connections))
    started.push({ target, server, origin, connections, redis: redis.client, stub })
  }

  for (let round = 1; round <= rounds; round++) {
    for (const target of started) {
      const { target: server, origin } = target
      const signedIn = await retryUnexpected(server.name, () => server.prepare(origin, 'S', VISITORS))
      const running = { ...target, signedIn }
      for (const path of paths.filter((candidate) => server.paths.includes(candidate))) {
        const name = `${path} ${server.name}`
        if (round === 1) {
          await retryUnexpected(name, async () =>
            checkContract(origin, path, await oneRequest(running, path)),
          )
          commands.set(name, await retryUnexpected(name, () => commandsOf(running, path)))
        }
        const warmUp = round === 1 ? FROM_COLD : FROM_WARM
        const cost = await retryUnexpected(name, () => costOf(running, path, warmUp))
        costs.set(name, [...(costs.get(name) ?? []), cost])
        process.stderr.write(`round ${round} ${name}: ${cost.cpuUs.toFixed(1)} µs\n`)
      }
      await redis.client.flushall()
    }
  }
  for (const { connections } of started) await connections.close()
  return {
    at: new Date().toISOString(),
    node: process.version,
    cores,
    isPinned,
    connections: Number(options.connections),
    rounds,
    seconds,
    rows: paths.flatMap((path) =>
      targets.flatMap(({ name }) => {
        const measured = costs.get(`${path} ${name}`)
        const redisCommands = commands.get(`${path} ${name}`) ?? Number.NaN
        return measured === undefined ? [] : [{ path, target: name, redisCommands, cost: medianOf(measured) }]
      }),
    ),
  }
}

async function costOf(running: PreparedTarget, path: PathName, warmUp: WarmUp): Promise<Cost> {
  const { server, connections, stub } = running
  const isOnce = ONCE.has(path)
  const prepared = await requestsFor(running, path, warmUp.requests + MEASURED_ONCE)
  const [first, rest] = isOnce
    ? [prepared.slice(0, warmUp.requests), prepared.slice(warmUp.requests)]
    : [prepared, prepared]
  await load({ connections, prepared: first, ...boundsFor(path, first, warmUp.seconds) })
  const work = () =>
    measure({ servers: [server], stub, connections, prepared: rest, ...boundsFor(path, rest, seconds) })
  const { profile } = options
  if (profile === undefined) return work()
  return profiled(server.child, join(profile, `${path}-${running.target.name}.cpuprofile`), work)
}

async function commandsOf(running: PreparedTarget, path: PathName): Promise<number> {
  const { redis, connections } = running
  const prepared = (await requestsFor(running, path, COUNTED)).slice(0, COUNTED)
  return countCommands(redis, {
    connections,
    prepared,
    requests: prepared.length,
    seconds: Number.POSITIVE_INFINITY,
  })
}

function boundsFor(path: PathName, prepared: readonly PreparedRequest[], forSeconds: number) {
  return ONCE.has(path)
    ? { requests: prepared.length, seconds: Number.POSITIVE_INFINITY }
    : { requests: Number.POSITIVE_INFINITY, seconds: forSeconds }
}

function requestsFor(
  { target, origin, signedIn }: PreparedTarget,
  path: PathName,
  onceCount: number,
): Promise<readonly PreparedRequest[]> {
  if (path === 'S' || path === 'F' || path === 'G') return Promise.resolve(withPath(path, signedIn))
  return target.prepare(origin, path, ONCE.has(path) ? onceCount : VISITORS)
}

async function oneRequest(running: PreparedTarget, path: PathName): Promise<PreparedRequest> {
  const [request] = await requestsFor({ ...running, signedIn: running.signedIn.slice(0, 1) }, path, 1)
  if (request === undefined) throw new Error(`no request was prepared for ${path}`)
  return request
}
