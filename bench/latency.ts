import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { type PreparedRequest, send } from './load.ts'
import { quantile } from './measure.ts'
import { publish, table, verdict } from './output.ts'
import { ONCE, prepare } from './prepare-requests.ts'
import { ask, runBenchmark, startNode } from './processes.ts'
import { startRedis } from './redis.ts'
import { PATH_NAMES } from './report.ts'
import { BROKER, FLOOR, type Target } from './targets.ts'

/**
 * `npm run bench:latency`: what the broker adds to the time that a user waits, at a usual load: 20 sign-ins (password, push poll and
 * code) and 200 page views (session checks and lists of groups) per second, which arrive whether the server has responded or not.
 */

const { values: options } = parseArgs({
  options: {
    /** Of load, for each delay. */
    seconds: { type: 'string', default: '20' },
    dry: { type: 'boolean', default: false },
  },
})
const seconds = Number(options.seconds)

const PER_SECOND = { P: 20, V: 20, K: 20, S: 100, G: 100 } as const
type Path = keyof typeof PER_SECOND
const PATHS = ['P', 'V', 'K', 'S', 'G'] as const satisfies readonly Path[]
const VISITORS = 500
/** Of commands on their way to Redis. */
const [SHORT_MS, LONG_MS] = [1, 5]
/** What the broker may add at most. */
const [MAX_P50_MS, MAX_P99_MS] = [2, 8]

type Requests = Record<Path, readonly PreparedRequest[]>
/** In milliseconds. */
type Latencies = Record<Path, number[]>
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
    await openLoop(origin, await prepareAll(origin)) // warms up
    return async (delayMs: number): Promise<Measured> => {
      const requests = await prepareAll(origin)
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
    ...['added ms', 'fewest Redis round trips', `p50 (${MAX_P50_MS})`, `p99 (${MAX_P99_MS})`, 'floor'],
    ...[SHORT_MS, LONG_MS].map((delayMs) => `${delayMs} ms to Redis: more p50, p99`),
    'goals',
  ]
  const rows = PATHS.map((path) => rowOf(path, measured))
  publish('latency', `${seconds} s for each delay`, [table(head, rows)], options.dry)
  return true
})

/** In brackets, what is allowed. */
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

/** Independent of each other, as requests of many users are. */
function arrivalsOf(path: Path) {
  const count = PER_SECOND[path] * seconds
  return Array.from({ length: count }, () => ({ path, atMs: 1000 * seconds * Math.random() }))
}

async function prepareAll(origin: string): Promise<Requests> {
  const all = (path: Path) => prepare(origin, path, ONCE.has(path) ? PER_SECOND[path] * seconds : VISITORS)
  return { S: await all('S'), G: await all('G'), P: await all('P'), V: await all('V'), K: await all('K') }
}

/** The same requests to the upstream. */
function directly(requests: Requests): Requests {
  return { ...requests, G: requests.G.map((request) => ({ ...request, path: '/v1/teams/bench/groups' })) }
}

/** Sends each request when it is due, and returns how long the responses took, in milliseconds. */
async function openLoop(origin: string, requests: Requests): Promise<Latencies> {
  const pool = new Pool(origin)
  const latencies: Latencies = { P: [], V: [], K: [], S: [], G: [] }
  const sent: Record<Path, number> = { P: 0, V: 0, K: 0, S: 0, G: 0 }
  await Promise.all(
    PATHS.flatMap(arrivalsOf).map(async ({ path, atMs }) => {
      await pause(atMs)
      const request = requests[path][sent[path]++ % requests[path].length]
      if (request === undefined) throw new Error(`no request was prepared for ${path}`)
      const sentAt = performance.now()
      await send(pool, request)
      latencies[path].push(performance.now() - sentAt)
    }),
  )
  await pool.close()
  return latencies
}
