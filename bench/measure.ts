import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { type Ask, type Connections, load, percentile } from './load.ts'
import type { Running, Stub } from './processes.ts'

/** What one path of one server cost in one round. */
export interface Cost {
  readonly requests: number
  /** Beside them; where that is allowed. */
  readonly turnedAway: number
  /** Microseconds of the server's processor time, user and system, a request. */
  readonly cpuUs: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly upstreamCalls: number
  readonly rssMb: number
}

export interface MeasureOptions {
  /** Their processor time and memory are added up. */
  readonly servers: readonly Running[]
  readonly stub: Stub
  readonly connections: Connections
  readonly atOnce?: number
  readonly mayTurnAway?: boolean
  readonly asks: readonly Ask[]
  readonly requests: number
  readonly seconds: number
}

export async function measure({ servers, stub, ...work }: MeasureOptions): Promise<Cost> {
  const before = await look(servers, stub)
  const { requests, turnedAway, seconds, latencies } = await load(work)
  const after = await look(servers, stub)
  return {
    requests,
    turnedAway,
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    requestsPerSecond: requests / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    upstreamCalls: (after.calls - before.calls) / requests,
    rssMb: after.rssBytes / 1_048_576,
  }
}

async function look(servers: readonly Running[], stub: Stub) {
  const usages = await Promise.all(servers.map((server) => server.usage()))
  return {
    cpuUs: usages.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
    rssBytes: usages.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
    calls: await stub.calls(),
  }
}

/**
 * Redis commands a request, by Redis's own word (MONITOR); a script is one, whatever it calls. Apart from what is
 * measured: watching costs Redis more than the commands do.
 */
export async function countCommands(
  redis: Redis,
  work: Omit<MeasureOptions, 'servers' | 'stub'>,
): Promise<number> {
  const watch = await redis.monitor()
  let commands = 0
  const over = new Promise<void>((resolve) => {
    watch.on('monitor', (_time: string, [name, word]: string[], source: string) => {
      if (word === END) resolve()
      else if (source !== 'lua' && name?.toLowerCase() !== 'info') commands += 1
    })
  })
  const { requests } = await load(work)
  await pause(STRAGGLERS_MS)
  await redis.echo(END)
  await over
  watch.disconnect()
  return commands / requests
}

const END = 'bench:over'
/** What a server sends without waiting for it, such as an attempt that is given back. */
const STRAGGLERS_MS = 200

/** Field by field the median of several rounds. */
export function medianOf(rounds: readonly Cost[]): Cost {
  const median = (pick: (cost: Cost) => number): number => {
    const values = rounds.map(pick).sort((one, other) => one - other)
    return values[Math.floor(values.length / 2)] ?? Number.NaN
  }
  return {
    requests: rounds.reduce((sum, { requests }) => sum + requests, 0),
    turnedAway: rounds.reduce((sum, { turnedAway }) => sum + turnedAway, 0),
    cpuUs: median(({ cpuUs }) => cpuUs),
    requestsPerSecond: median(({ requestsPerSecond }) => requestsPerSecond),
    p50Ms: median(({ p50Ms }) => p50Ms),
    p99Ms: median(({ p99Ms }) => p99Ms),
    upstreamCalls: median(({ upstreamCalls }) => upstreamCalls),
    rssMb: median(({ rssMb }) => rssMb),
  }
}
