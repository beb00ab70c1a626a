import { Client, type Dispatcher } from 'undici'

export interface PreparedRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: string
  readonly expected: number
}

export interface Answer {
  readonly text: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/**
 * Sends a request and reads the response. A response with another status than expected ends the
 * run.
 */
export async function send(
  server: Dispatcher,
  { method, path, headers, body, expected }: PreparedRequest,
): Promise<Answer> {
  const answer = await server.request({ method, path, headers, body: body ?? null })
  const text = await answer.body.text()
  if (answer.statusCode === expected) return { text, headers: answer.headers }
  throw new Error(`${method} ${path} responded ${answer.statusCode}: ${text.slice(0, 300)}`)
}

export interface LoadOptions {
  /** One request at a time on each. */
  readonly connections: readonly Client[]
  readonly prepared: readonly PreparedRequest[]
  /** The run ends after `requests` requests or `seconds` seconds, whichever comes first. */
  readonly requests: number
  readonly seconds: number
}

/** Opens `count` connections and sends one request on each, before anything is measured. */
export async function connect(origin: string, count: number): Promise<Client[]> {
  const options = { pipelining: 1, keepAliveTimeout: 60_000 }
  const clients = Array.from({ length: count }, () => new Client(origin, options))
  await Promise.all(
    clients.map(async (client) => (await client.request({ method: 'GET', path: '/' })).body.dump()),
  )
  return clients
}

/** Sends the prepared requests in turn over all connections, and returns their number. */
export async function load({ connections, prepared, requests, seconds }: LoadOptions): Promise<number> {
  const endsAt = performance.now() + seconds * 1000
  let next = 0
  const worker = async (client: Client) => {
    while (next < requests && performance.now() < endsAt) {
      const request = prepared[next++ % prepared.length]
      if (request !== undefined) await send(client, request)
    }
  }
  await Promise.all(connections.map(worker))
  return next
}
