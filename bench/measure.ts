import type { Redis } from 'ioredis'
import { type Ask, load, percentile } from './load.ts'
import type { Running } from './processes.ts'

/** What one path of one server cost in one round. */
export interface Cost {
  readonly requests: number
  /** Microseconds of the server's processor time, user and system, a request. */
  readonly cpuUs: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly redisCommands: number
  readonly rssMb: number
}

export interface MeasureOptions {
  readonly running: Running
  readonly redis: Redis
  readonly asks: readonly Ask[]
  readonly connections: number
  readonly requests: number
  readonly seconds: number
}

export async function measure({ running, redis, asks, ...limits }: MeasureOptions): Promise<Cost> {
  const commandsBefore = await commandsSoFar(redis)
  const before = await running.usage()
  const { requests, seconds, latencies } = await load({
    origin: `http://127.0.0.1:${running.port}`,
    asks,
    ...limits,
  })
  const after = await running.usage()
  const commands = (await commandsSoFar(redis)) - commandsBefore - 1 // our own look
  return {
    requests,
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    requestsPerSecond: requests / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    redisCommands: commands / requests,
    rssMb: after.rssBytes / 1_048_576,
  }
}

async function commandsSoFar(redis: Redis): Promise<number> {
  const info = await redis.info('stats')
  return Number(/total_commands_processed:(\d+)/.exec(info)?.[1])
}

/** Field by field the median of several rounds. */
export function medianOf(rounds: readonly Cost[]): Cost {
  const median = (pick: (cost: Cost) => number): number => {
    const values = rounds.map(pick).sort((one, other) => one - other)
    return values[Math.floor(values.length / 2)] ?? Number.NaN
  }
  return {
    requests: rounds.reduce((sum, { requests }) => sum + requests, 0),
    cpuUs: median(({ cpuUs }) => cpuUs),
    requestsPerSecond: median(({ requestsPerSecond }) => requestsPerSecond),
    p50Ms: median(({ p50Ms }) => p50Ms),
    p99Ms: median(({ p99Ms }) => p99Ms),
    redisCommands: median(({ redisCommands }) => redisCommands),
    rssMb: median(({ rssMb }) => rssMb),
  }
}
