import { setTimeout as pause } from 'node:timers/promises'
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
  readonly turnedAway: number
  readonly seconds: number
  /** Milliseconds, in rising order. */
  readonly latencies: Float64Array
}

export interface LoadOptions {
  /** One request at a time on each. */
  readonly connections: Connections
  /** How many of them are busy at a time; the others stand by. Default: all. */
  readonly atOnce?: number
  readonly asks: readonly Ask[]
  /** Requests that are turned away (503) are counted apart, and whoever sent one waits a moment. Default: they end the run. */
  readonly mayTurnAway?: boolean
  /** Stops after so many requests or so many seconds, whichever comes first. */
  readonly requests: number
  readonly seconds: number
}

export interface Connections {
  readonly clients: readonly Client[]
  close(): Promise<void>
}

/** How many connect at once: fewer than a listening socket holds back. */
const CONNECT_AT_ONCE = 100

/** Opens so many connections before anything is measured; each has had an answer, whichever. */
export async function connect(origins: readonly string[], count: number): Promise<Connections> {
  const clients = Array.from(
    { length: count },
    (_, n) => new Client(origins[n % origins.length] ?? '', { pipelining: 1, keepAliveTimeout: 60_000 }),
  )
  for (let n = 0; n < count; n += CONNECT_AT_ONCE) {
    const some = clients.slice(n, n + CONNECT_AT_ONCE)
    await Promise.all(
      some.map(async (client) => (await client.request({ method: 'GET', path: '/' })).body.dump()),
    )
  }
  return {
    clients,
    async close() {
      await Promise.all(clients.map((client) => client.close()))
    },
  }
}

/** Sends the asks in turn over all connections. An unexpected answer ends the run. */
export async function load({
  connections: { clients },
  atOnce = clients.length,
  mayTurnAway = false,
  asks,
  requests,
  seconds,
}: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1000
  let next = 0
  let failed = false
  let turnedAway = 0
  const worker = async (own: readonly Client[]) => {
    for (let turn = 0; next < requests && performance.now() < endsAt && !failed; turn++) {
      const [client, ask] = [own[turn % own.length], asks[next % asks.length]]
      next += 1
      if (client === undefined || ask === undefined) return
      const sentAt = performance.now()
      const wasTaken = await send(client, ask, mayTurnAway)
      if (wasTaken) {
        latencies.push(performance.now() - sentAt)
      } else {
        turnedAway += 1
        await pause(TURNED_AWAY_MS)
      }
    }
  }
  const ended = await Promise.allSettled(
    Array.from({ length: atOnce }, (_, first) =>
      worker(clients.filter((_client, n) => n % atOnce === first)).catch((error: unknown) => {
        failed = true
        throw error
      }),
    ),
  )
  const elapsedMs = performance.now() - startedAt
  for (const one of ended) if (one.status === 'rejected') throw one.reason
  return {
    requests: latencies.length,
    turnedAway,
    seconds: elapsedMs / 1000,
    latencies: Float64Array.from(latencies).sort(),
  }
}

/** An answer that was not to be: 503 most of all, which a machine that stands still for seconds earns. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** Says whether it was taken in. */
async function send(
  client: Client,
  { method, path, headers, body, expected }: Ask,
  mayTurnAway: boolean,
): Promise<boolean> {
  const answer = await client.request({ method, path, headers, ...(body === undefined ? {} : { body }) })
  if (answer.statusCode === expected || (mayTurnAway && answer.statusCode === 503)) {
    await answer.body.dump()
    return answer.statusCode === expected
  }
  const text = await answer.body.text()
  throw new Refused(`${method} ${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`)
}

const TURNED_AWAY_MS = 250

const TRIES = 4
const CALM_DOWN_MS = 2000

/** Does it again where an answer was refused; a server that really refuses does so every time, and that ends the run. */
export async function unlessRefused<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Refused) || attempt === TRIES) throw error
      process.stderr.write(`${what}, once more: ${error.message}\n`)
      await pause(CALM_DOWN_MS)
    }
  }
}

/** The latency that `share` of the requests did not exceed. */
export function percentile(latencies: Float64Array, share: number): number {
  return latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN
}
