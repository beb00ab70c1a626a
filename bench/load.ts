import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'undici'

export interface PreparedRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: string
  readonly expected: number
}

export interface LoadResult {
  readonly requests: number
  readonly shed: number
  readonly seconds: number
  /** Milliseconds, in rising order. */
  readonly latencies: Float64Array
}

export interface LoadOptions {
  /** One request at a time on each. */
  readonly connections: Connections
  /** How many connections are busy at a time. Default: all. */
  readonly concurrency?: number
  readonly prepared: readonly PreparedRequest[]
  /** Counts shed requests (503) separately, with a pause after each. Default: they end the run. */
  readonly allowShed?: boolean
  /** The run ends after `requests` requests or `seconds` seconds, whichever comes first. */
  readonly requests: number
  readonly seconds: number
}

export interface Connections {
  readonly clients: readonly Client[]
  close(): Promise<void>
}

/** Less than the backlog of a listening socket. */
const CONNECT_BATCH = 100

/** Opens `count` connections and sends one request on each, before anything is measured. */
export async function connect(origins: readonly string[], count: number): Promise<Connections> {
  const clients = Array.from(
    { length: count },
    (_, n) => new Client(origins[n % origins.length] ?? '', { pipelining: 1, keepAliveTimeout: 60_000 }),
  )
  for (let n = 0; n < count; n += CONNECT_BATCH) {
    const batch = clients.slice(n, n + CONNECT_BATCH)
    await Promise.all(
      batch.map(async (client) => (await client.request({ method: 'GET', path: '/' })).body.dump()),
    )
  }
  return {
    clients,
    async close() {
      await Promise.all(clients.map((client) => client.close()))
    },
  }
}

/** Sends the prepared requests in turn over all connections. An unexpected response ends the run. */
export async function load({
  connections: { clients },
  concurrency = clients.length,
  allowShed = false,
  prepared,
  requests,
  seconds,
}: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1000
  let next = 0
  let failed = false
  let shed = 0
  const worker = async (own: readonly Client[]) => {
    for (let turn = 0; next < requests && performance.now() < endsAt && !failed; turn++) {
      const [client, request] = [own[turn % own.length], prepared[next % prepared.length]]
      next += 1
      if (client === undefined || request === undefined) return
      const sentAt = performance.now()
      const wasServed = await send(client, request, allowShed)
      if (wasServed) {
        latencies.push(performance.now() - sentAt)
      } else {
        shed += 1
        await pause(SHED_PAUSE_MS)
      }
    }
  }
  const ended = await Promise.allSettled(
    Array.from({ length: concurrency }, (_, first) =>
      worker(clients.filter((_client, n) => n % concurrency === first)).catch((error: unknown) => {
        failed = true
        throw error
      }),
    ),
  )
  const elapsedMs = performance.now() - startedAt
  for (const result of ended) if (result.status === 'rejected') throw result.reason
  return {
    requests: latencies.length,
    shed,
    seconds: elapsedMs / 1000,
    latencies: Float64Array.from(latencies).sort(),
  }
}

/** A response with another status than expected: mostly 503, if the machine stalls for seconds. */
export class UnexpectedResponse extends Error {
  override readonly name = 'UnexpectedResponse'
}

/** Returns false if the request was shed. */
async function send(
  client: Client,
  { method, path, headers, body, expected }: PreparedRequest,
  allowShed: boolean,
): Promise<boolean> {
  const answer = await client.request({ method, path, headers, ...(body === undefined ? {} : { body }) })
  if (answer.statusCode === expected || (allowShed && answer.statusCode === 503)) {
    await answer.body.dump()
    return answer.statusCode === expected
  }
  const text = await answer.body.text()
  throw new UnexpectedResponse(`${method} ${path} responded ${answer.statusCode}: ${text.slice(0, 300)}`)
}

const SHED_PAUSE_MS = 250

const MAX_ATTEMPTS = 4
const RETRY_PAUSE_MS = 2000

/** Repeats the work after an unexpected response. A persistent failure ends the run. */
export async function retryUnexpected<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof UnexpectedResponse) || attempt === MAX_ATTEMPTS) throw error
      process.stderr.write(`${name}, retry: ${error.message}\n`)
      await pause(RETRY_PAUSE_MS)
    }
  }
}

/** The latency that `share` of the requests do not exceed. */
export function percentile(latencies: Float64Array, share: number): number {
  return latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN
}
