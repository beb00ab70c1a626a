import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Cost, pairedRatio } from './measure.ts'
import { publish, table, verdict } from './output.ts'
import { type PathName, prepare } from './prepare-requests.ts'
import { end, runBenchmark, type Setup } from './processes.ts'
import { type RedisServers, startRedis, startRedisCluster } from './redis.ts'
import { MAX_GROWTH, PATH_NAMES, UTILIZATION } from './report.ts'
import { type Costs, runRounds } from './rounds.ts'
import { BROKER, startGatehouse } from './targets.ts'

/**
 * `npm run bench:growth`: whether requests cost more when Redis holds many sessions and
 * transactions, on one Redis and on a cluster of three. Brokers on full and on empty ones take
 * turns.
 */

const { values: options } = parseArgs({
  options: {
    sessions: { type: 'string', default: '1000000' },
    transactions: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '0.5' },
    dry: { type: 'boolean', default: false },
  },
})
const PATHS = ['S', 'P', 'V', 'K'] as const satisfies readonly PathName[]
/** All users of a portal sign in within this time. */
const SIGN_IN_SECONDS = 1800
/** Of each user per second: a fifth of the users view a page every ten seconds. */
const PAGE_VIEWS = 1 / 5 / 10
const PORTALS = [50_000, 5_000_000]
const REPLICAS = 20
const [sessions, transactions] = [Number(options.sessions), Number(options.transactions)]

await runBenchmark(async (setup) => {
  const redises = {
    'one Redis': await startRedis(),
    'one Redis, full': await startRedis(),
    cluster: await startRedisCluster(join(setup.logs, 'empty')),
    'cluster, full': await startRedisCluster(join(setup.logs, 'full')),
  }
  const bytesPerSession = await fill(redises['one Redis, full'], setup)
  await fill(redises['cluster, full'], setup)

  const targets = Object.entries(redises).map(
    ([name, redis]) => ({ ...BROKER, name: `broker on ${name}`, redis }) as const,
  )
  const [rounds, seconds] = [Number(options.rounds), Number(options.seconds)]
  const costs = await runRounds({ ...setup, targets, paths: PATHS, rounds, seconds })
  const how = `${rounds} rounds of ${seconds} s; *full*: ${whole(sessions)} sessions (${whole(bytesPerSession)} bytes each) and ${whole(transactions)} transactions`
  publish('growth', how, [growthTable(costs)], options.dry)
  publish('portals', 'with a full cluster', portalTables(costs, bytesPerSession), options.dry)
  return true
})

/**
 * Copies the records of a session and of a transaction under other keys, and returns the bytes per
 * session.
 */
async function fill(redis: RedisServers, { env, logs }: Setup): Promise<number> {
  const broker = await startGatehouse({
    env: { ...env, REDIS_URL: redis.url },
    logFile: join(logs, 'fill.log'),
  })
  const origin = `http://127.0.0.1:${broker.port}`
  const before = await redis.sumOf('used_memory')
  await prepare(origin, 'S', 1)
  await redis.copy(/:(?:sess|user-sess):/, sessions)
  const bytesPerSession = ((await redis.sumOf('used_memory')) - before) / sessions
  await prepare(origin, 'V', 1)
  await redis.copy(/:txn:/, transactions)
  await end(broker.child)
  return bytesPerSession
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function growthTable(costs: Costs): string {
  const rows = PATHS.flatMap((path) =>
    ['one Redis', 'cluster'].map((redis) => {
      const [empty, full] = [costs(path, `broker on ${redis}`), costs(path, `broker on ${redis}, full`)]
      const ratio = pairedRatio(full, empty)
      return [
        `${PATH_NAMES[path]}: ${redis}`,
        ...[empty, full].map((each) => lowest(each, ({ cpuUs }) => cpuUs).toFixed(0)),
        ratio.toFixed(2),
        verdict(ratio <= MAX_GROWTH),
        ...[empty, full].map((each) => lowest(each, ({ redisUs }) => redisUs).toFixed(1)),
      ]
    }),
  )
  const head = ['lowest CPU µs', 'empty', 'full', 'median ratio', `at most ${MAX_GROWTH}`]
  return table([...head, 'Redis, empty', 'Redis, full'], rows)
}

function lowest(costs: readonly Cost[], pick: (cost: Cost) => number): number {
  return Math.min(...costs.map(pick))
}

/** What a portal needs, by calculation from the CPU time of requests. */
function portalTables(costs: Costs, bytesPerSession: number): string[] {
  const cores = (signIns: number, pageViews: number, pick: (cost: Cost) => number) => {
    const us = (path: PathName) => lowest(costs(path, 'broker on cluster, full'), pick)
    return (signIns * (us('P') + us('V')) + pageViews * us('S')) / (1e6 * UTILIZATION)
  }
  const replicas = (signIns: number, pageViews: number) => cores(signIns, pageViews, ({ cpuUs }) => cpuUs)
  const shards = (signIns: number, pageViews: number) =>
    Math.ceil(cores(signIns, pageViews, ({ redisUs }) => redisUs))
  const rows = PORTALS.map((users) => {
    const [signIns, pageViews] = [users / SIGN_IN_SECONDS, users * PAGE_VIEWS]
    const counts = [Math.ceil(replicas(signIns, pageViews)) + 1, shards(signIns, pageViews)]
    const memory = `${((users * bytesPerSession) / 2 ** 30).toFixed(1)} GB`
    return [...[users, signIns, pageViews, ...counts].map(whole), memory]
  })
  const checks = REPLICAS / replicas(0, 1)
  const sum = `${REPLICAS} replicas at ${100 * UTILIZATION} % load check ${whole(checks)} sessions per second; Redis shards for them: ${shards(0, checks)}.`
  const head = ['users', 'sign-ins/s', 'page views/s', 'replicas, one spare', 'Redis shards']
  return [table([...head, 'sessions in Redis'], rows), sum]
}
