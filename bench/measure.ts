import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { type Connections, load, type PreparedRequest, percentile } from './load.ts'
import type { ServerProcess, Stub } from './processes.ts'

/** The cost of one path on one server in one round. */
export interface Cost {
  readonly requests: number
  /** Shed requests (503), not included in `requests`. */
  readonly shed: number
  /** CPU time of the server per request in microseconds, user and system. */
  readonly cpuUs: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly upstreamCalls: number
  readonly rssMb: number
}

export interface MeasureOptions {
  /** CPU time and memory are added up over all servers. */
  readonly servers: readonly ServerProcess[]
  readonly stub: Stub
  readonly connections: Connections
  readonly concurrency?: number
  readonly allowShed?: boolean
  readonly prepared: readonly PreparedRequest[]
  readonly requests: number
  readonly seconds: number
}

export async function measure({ servers, stub, ...work }: MeasureOptions): Promise<Cost> {
  const before = await snapshot(servers, stub)
  const { requests, shed, seconds, latencies } = await load(work)
  const after = await snapshot(servers, stub)
  return {
    requests,
    shed,
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    requestsPerSecond: requests / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    upstreamCalls: (after.calls - before.calls) / requests,
    rssMb: after.rssBytes / 1_048_576,
  }
}

async function snapshot(servers: readonly ServerProcess[], stub: Stub) {
  const usages = await Promise.all(servers.map((server) => server.usage()))
  return {
    cpuUs: usages.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
    rssBytes: usages.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
    calls: await stub.calls(),
  }
}

/**
 * Redis commands per request, counted with MONITOR; a script is one command. Not part of a measurement, because MONITOR
 * costs Redis more than the commands.
 */
export async function countCommands(
  redis: Redis,
  work: Omit<MeasureOptions, 'servers' | 'stub'>,
): Promise<number> {
  const monitor = await redis.monitor()
  let commands = 0
  const monitorEnd = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, [name, argument]: string[], source: string) => {
      if (argument === END) resolve()
      else if (source !== 'lua' && name?.toLowerCase() !== 'info') commands += 1
    })
  })
  const { requests } = await load(work)
  await pause(TRAILING_COMMANDS_MS)
  await redis.echo(END)
  await monitorEnd
  monitor.disconnect()
  return commands / requests
}

const END = 'bench:over'
/** Time for commands that a server sends without waiting for them, such as the refund of an attempt. */
const TRAILING_COMMANDS_MS = 200

/** The median of each field over several rounds; `requests` and `shed` are totals. */
export function medianOf(rounds: readonly Cost[]): Cost {
  const median = (pick: (cost: Cost) => number): number => {
    const values = rounds.map(pick).sort((a, b) => a - b)
    return values[Math.floor(values.length / 2)] ?? Number.NaN
  }
  return {
    requests: rounds.reduce((sum, { requests }) => sum + requests, 0),
    shed: rounds.reduce((sum, { shed }) => sum + shed, 0),
    cpuUs: median(({ cpuUs }) => cpuUs),
    requestsPerSecond: median(({ requestsPerSecond }) => requestsPerSecond),
    p50Ms: median(({ p50Ms }) => p50Ms),
    p99Ms: median(({ p99Ms }) => p99Ms),
    upstreamCalls: median(({ upstreamCalls }) => upstreamCalls),
    rssMb: median(({ rssMb }) => rssMb),
  }
}
