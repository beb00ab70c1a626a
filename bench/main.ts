import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Redis } from 'ioredis'
import { checkContract } from './contract.ts'
import { type Ask, type Connections, connect, load, unlessRefused } from './load.ts'
import { type Cost, countCommands, measure, medianOf } from './measure.ts'
import {
  cores,
  endAll,
  isPinned,
  pinSelf,
  profiled,
  type Running,
  type Stub,
  startRedis,
  startStub,
} from './processes.ts'
import { type Results, writeReport } from './report.ts'
import { ALL_PATHS, TARGETS, type Target } from './targets.ts'
import { askingFor, ONCE, type PathName } from './visitors.ts'

/**
 * `npm run bench`: every server and every path side by side, interleaved round by round, so that a machine that is
 * busy for a while slows all of them; all servers run from the beginning to the end, and have nothing to do in between. Figures are to be read as ratios to the floor of the same run.
 */

const { values: options } = parseArgs({
  options: {
    paths: { type: 'string', default: ALL_PATHS.join() },
    targets: { type: 'string', default: TARGETS.map(({ name }) => name).join() },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '1.5' },
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

const VISITORS = 500
/** As many as requests, where an ask can be sent once. */
const MEASURED_ONCE = 1500
const COUNTED = 40

interface WarmUp {
  readonly seconds: number
  /** Where an ask can be sent once. */
  readonly requests: number
}

/** V8 goes on compiling for seconds, and the more code there is the longer; a server runs for weeks. */
const FROM_COLD: WarmUp = { seconds: 4, requests: 3000 }
const FROM_WARM: WarmUp = { seconds: 0.5, requests: 300 }

interface Started {
  readonly target: Target
  readonly server: Running
  readonly origin: string
  readonly connections: Connections
  readonly redis: Redis
  readonly stub: Stub
}

interface Place extends Started {
  /** Who is signed in here, for the paths that ask for no more than that. */
  readonly signedIn: readonly Ask[]
}

pinSelf()
if (options.profile !== undefined) mkdirSync(options.profile, { recursive: true })
const logs = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
try {
  const results = await run()
  writeReport(results, { dry: options.dry || options.profile !== undefined })
  rmSync(logs, { recursive: true }) // after a failure they stay: the error names the one to read
} finally {
  await endAll()
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
    for (const one of started) {
      const { target, origin } = one
      const signedIn = await unlessRefused(target.name, () => target.prepare(origin, 'S', VISITORS))
      const place = { ...one, signedIn }
      for (const path of paths.filter((some) => target.paths.includes(some))) {
        const name = `${path} ${target.name}`
        if (round === 1) {
          await unlessRefused(name, async () => checkContract(origin, path, await oneAsk(place, path)))
          commands.set(name, await unlessRefused(name, () => commandsOf(place, path)))
        }
        const warmUp = round === 1 ? FROM_COLD : FROM_WARM
        const cost = await unlessRefused(name, () => costOf(place, path, warmUp))
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

async function costOf(place: Place, path: PathName, warmUp: WarmUp): Promise<Cost> {
  const { server, connections, stub } = place
  const isOnce = ONCE.has(path)
  const asks = await asksFor(place, path, warmUp.requests + MEASURED_ONCE)
  const [first, rest] = isOnce ? [asks.slice(0, warmUp.requests), asks.slice(warmUp.requests)] : [asks, asks]
  await load({ connections, asks: first, ...boundsFor(path, first, warmUp.seconds) })
  const work = () =>
    measure({ servers: [server], stub, connections, asks: rest, ...boundsFor(path, rest, seconds) })
  const { profile } = options
  if (profile === undefined) return work()
  return profiled(server.child, join(profile, `${path}-${place.target.name}.cpuprofile`), work)
}

async function commandsOf(place: Place, path: PathName): Promise<number> {
  const { redis, connections } = place
  const asks = (await asksFor(place, path, COUNTED)).slice(0, COUNTED)
  return countCommands(redis, {
    connections,
    asks,
    requests: asks.length,
    seconds: Number.POSITIVE_INFINITY,
  })
}

function boundsFor(path: PathName, asks: readonly Ask[], forSeconds: number) {
  return ONCE.has(path)
    ? { requests: asks.length, seconds: Number.POSITIVE_INFINITY }
    : { requests: Number.POSITIVE_INFINITY, seconds: forSeconds }
}

function asksFor({ target, origin, signedIn }: Place, path: PathName, once: number): Promise<readonly Ask[]> {
  if (path === 'S' || path === 'F' || path === 'G') return Promise.resolve(askingFor(path, signedIn))
  return target.prepare(origin, path, ONCE.has(path) ? once : VISITORS)
}

async function oneAsk(place: Place, path: PathName): Promise<Ask> {
  const [ask] = await asksFor({ ...place, signedIn: place.signedIn.slice(0, 1) }, path, 1)
  if (ask === undefined) throw new Error(`nobody asks for ${path}`)
  return ask
}
