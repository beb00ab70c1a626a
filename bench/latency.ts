import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { connect, load, type PreparedRequest, send } from './load.ts'
import { quantile } from './measure.ts'
import { publish, table, verdict } from './output.ts'
import { ONCE, prepare } from './prepare-requests.ts'
import { ask, runBenchmark, startNode } from './processes.ts'
import { startRedis } from './redis.ts'
import { PATH_NAMES } from './report.ts'
import { BROKER, FLOOR, type Target } from './targets.ts'

/**
 * `npm run bench:latency`: what the broker adds to the time that a user waits, at a usual load: 20
 * sign-ins (password, push poll and code) and 200 page views (session checks and lists of groups)
 * per second, which arrive whether the server has responded or not.
 */

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' }, // of load, for each delay
    dry: { type: 'boolean', default: false },
  },
})
const seconds = Number(options.seconds)

const PER_SECOND = { P: 20, V: 20, K: 20, S: 100, G: 100 } as const
type Path = keyof typeof PER_SECOND
const PATHS = ['P', 'V', 'K', 'S', 'G'] as const satisfies readonly Path[]
const VISITORS = 500
/**
 * All requests of this time come first, one after the other on a few connections: V8 has optimized
 * a path after some thousands.
 */
const WARM_UP_SECONDS = 250
const [SHORT_MS, LONG_MS] = [1, 5] // of commands on their way to Redis
const [MAX_P50_MS, MAX_P99_MS] = [2, 8] // what the broker may add

type Requests = Record<Path, readonly PreparedRequest[]>
type Latencies = Record<Path, number[]> // in milliseconds
type Measured = Record<'direct' | 'throughServer', Latencies>

await runBenchmark(async ({ stubUrl, env, logs }) => {
  const redis = await startRedis()
  const proxy = await startNode(fileURLToPath(new URL('./redis-proxy.js', import.meta.url)), {
    env: { REDIS_PORT: new URL(redis.url).port },
    place: 'rest',
    logFile: join(logs, 'proxy.log'),
  })
  const start = async (target: Target) => {
    const throughProxy = { ...env, REDIS_URL: `redis://127.0.0.1:${proxy.port}` }
    const server = await target.start({ env: throughProxy, logFile: join(logs, `${target.name}.log`) })
    const origin = `http://127.0.0.1:${server.port}`
    await warmUp(origin)
    return async (delayMs: number): Promise<Measured> => {
      const requests = await prepareAll(origin, seconds)
      const direct = await openLoop(stubUrl, directly(requests))
      await ask(proxy.child, 'delayMs', delayMs)
      const throughServer = await openLoop(origin, requests)
      await ask(proxy.child, 'delayMs', 0)
      return { direct, throughServer }
    }
  }
  const measured = [await (await start(FLOOR))(0)]
  const measure = await start(BROKER)
  for (const delayMs of [0, SHORT_MS, LONG_MS]) measured.push(await measure(delayMs))
  const head = [
    'added ms',
    'fewest Redis round trips',
    `p50 (${MAX_P50_MS})`,
    `p99 (${MAX_P99_MS})`,
    'floor',
    ...[SHORT_MS, LONG_MS].map((delayMs) => `${delayMs} ms to Redis: more p50, p99`),
    'goals',
  ]
  const rows = PATHS.map((path) => rowOf(path, measured))
  const how = `${seconds} s for each delay, after the requests of ${WARM_UP_SECONDS} s`
  publish('latency', how, [table(head, rows)], options.dry)
  return true
})

function rowOf(path: Path, measured: readonly Measured[]): string[] {
  const at = (share: number) => {
    const [bare = Number.NaN, without = Number.NaN, short = Number.NaN, long = Number.NaN] = measured.map(
      ({ direct, throughServer }) => quantile(throughServer[path], share) - quantile(direct[path], share),
    )
    return { bare, without, short: short - without, long: long - without }
  }
  const [fastest, p50, p99] = [at(0), at(0.5), at(0.99)]
  const roundTrips = Math.round(fastest.long / LONG_MS)
  const [mostShort, mostLong] = [(roundTrips + 1) * SHORT_MS, (roundTrips + 1) * LONG_MS]
  const isMet = p50.without <= MAX_P50_MS && p99.without <= MAX_P99_MS
  return [
    PATH_NAMES[path],
    String(roundTrips),
    p50.without.toFixed(1),
    p99.without.toFixed(1),
    `${p50.bare.toFixed(1)}, ${p99.bare.toFixed(1)}`,
    `${p50.short.toFixed(1)}, ${p99.short.toFixed(1)} (${mostShort})`,
    `${p50.long.toFixed(1)}, ${p99.long.toFixed(1)} (${mostLong})`,
    verdict(isMet && p50.short <= mostShort && p50.long <= mostLong),
  ]
}

async function warmUp(origin: string): Promise<void> {
  const connections = await connect(origin, 4)
  const all = await prepareAll(origin, WARM_UP_SECONDS)
  for (const path of PATHS) {
    const requests = PER_SECOND[path] * WARM_UP_SECONDS
    await load({ connections, prepared: all[path], requests, seconds: Number.POSITIVE_INFINITY })
  }
}

async function prepareAll(origin: string, forSeconds: number): Promise<Requests> {
  const all = (path: Path) => prepare(origin, path, ONCE.has(path) ? PER_SECOND[path] * forSeconds : VISITORS)
  return { S: await all('S'), G: await all('G'), P: await all('P'), V: await all('V'), K: await all('K') }
}

function directly(requests: Requests): Requests {
  return { ...requests, G: requests.G.map((request) => ({ ...request, path: '/v1/teams/bench/groups' })) }
}

/**
 * Sends each request at a random time, as many users do. Resolves with the time that the responses
 * took.
 */
async function openLoop(origin: string, requests: Requests): Promise<Latencies> {
  const pool = new Pool(origin)
  const latencies: Latencies = { P: [], V: [], K: [], S: [], G: [] }
  const sendOne = async (path: Path, n: number) => {
    await pause(1000 * seconds * Math.random())
    const request = requests[path][n % requests[path].length]
    if (request === undefined) throw new Error(`no request was prepared for ${path}`)
    const sentAt = performance.now()
    await send(pool, request)
    latencies[path].push(performance.now() - sentAt)
  }
  const sending = (path: Path) =>
    Array.from({ length: PER_SECOND[path] * seconds }, (_, n) => sendOne(path, n))
  await Promise.all(PATHS.flatMap(sending))
  await pool.close()
  return latencies
}
