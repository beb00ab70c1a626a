import { type LoadOptions, load } from './load.ts'
import type { ServerProcess } from './processes.ts'
import type { RedisServers } from './redis.ts'

/** The cost of one path on one server, in one round or in a slice of it. */
export interface Cost {
  /** CPU time of the server per request in microseconds, user and system. */
  readonly cpuUs: number
  /** The same of Redis, all servers together. */
  readonly redisUs: number
  readonly requestsPerSecond: number
}

export interface MeasureOptions extends LoadOptions {
  readonly server: ServerProcess
  readonly redis: RedisServers
}

export async function measure({ server, redis, ...work }: MeasureOptions): Promise<Cost> {
  const snapshot = async () => ({
    cpuUs: await server.cpuUs(),
    redisSeconds: (await redis.sumOf('used_cpu_user')) + (await redis.sumOf('used_cpu_sys')),
    atMs: performance.now(),
  })
  const before = await snapshot()
  const requests = await load(work)
  const after = await snapshot()
  return {
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    redisUs: (1e6 * (after.redisSeconds - before.redisSeconds)) / requests,
    requestsPerSecond: (1000 * requests) / (after.atMs - before.atMs),
  }
}

/** The cost of a round. */
export function meanOf(slices: readonly Cost[]): Cost {
  const mean = (name: keyof Cost) => slices.reduce((sum, slice) => sum + slice[name], 0) / slices.length
  return { cpuUs: mean('cpuUs'), redisUs: mean('redisUs'), requestsPerSecond: mean('requestsPerSecond') }
}

/** The cheapest round: whatever else the machine does can only add to it. */
export function cheapestOf(costs: readonly Cost[]): Cost | undefined {
  return costs.toSorted((one, other) => one.cpuUs - other.cpuUs)[0]
}

/**
 * How many times as expensive `costs` are as `others` of the same rounds: the median of the ratios
 * of each round. Both are measured right after each other, so a machine that is busy for a while
 * slows both, and a disturbed round is an outlier.
 */
export function pairedRatio(costs: readonly Cost[], others: readonly Cost[]): number {
  const ratios = costs.map(({ cpuUs }, round) => cpuUs / (others[round]?.cpuUs ?? Number.NaN))
  return quantile(ratios, 0.5)
}

/** The value that `share` of the values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
