import { Client } from 'undici'

/** One request, ready to be sent. */
export interface Ask {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: string
  readonly expected: number
}

export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  /** Milliseconds, in rising order. */
  readonly latencies: Float64Array
}

export interface LoadOptions {
  readonly origin: string
  readonly asks: readonly Ask[]
  readonly connections: number
  /** Stops after so many requests or so many seconds, whichever comes first. */
  readonly requests: number
  readonly seconds: number
}

/** Sends the asks in turn over so many connections, one at a time on each. An unexpected answer ends the run. */
export async function load({
  origin,
  asks,
  connections,
  requests,
  seconds,
}: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1000
  let next = 0
  const worker = async () => {
    const client = new Client(origin, { pipelining: 1, keepAliveTimeout: 60_000 })
    try {
      while (next < requests && performance.now() < endsAt) {
        const ask = asks[next % asks.length]
        next += 1
        if (ask === undefined) return
        const sentAt = performance.now()
        await send(client, ask)
        latencies.push(performance.now() - sentAt)
      }
    } finally {
      await client.close()
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const elapsedMs = performance.now() - startedAt
  return {
    requests: latencies.length,
    seconds: elapsedMs / 1000,
    latencies: Float64Array.from(latencies).sort(),
  }
}

async function send(client: Client, { method, path, headers, body, expected }: Ask): Promise<void> {
  const answer = await client.request({ method, path, headers, ...(body === undefined ? {} : { body }) })
  if (answer.statusCode === expected) return answer.body.dump()
  const text = await answer.body.text()
  throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`)
}

/** The latency that `share` of the requests did not exceed. */
export function percentile(latencies: Float64Array, share: number): number {
  return latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN
}
