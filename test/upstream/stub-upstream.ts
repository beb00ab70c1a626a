import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net'
import { createUpstreamClient, type UpstreamClientOptions } from '../../src/upstream/upstream-client.ts'

/** A server on a free port of this host, and everything that has to be closed after it. */
export interface Stub {
  readonly origin: string
  readonly port: number
  /** Requests that arrived; of a raw one: connections. */
  arrived(): number
  connections(): number
  close(): Promise<void>
}

export async function stubUpstream(answer: RequestListener): Promise<Stub> {
  let arrived = 0
  let connections = 0
  const server = createServer((req, res) => {
    arrived += 1
    answer(req, res)
  })
  server.on('connection', () => {
    connections += 1
  })
  const port = await listen(server)
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    arrived: () => arrived,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** For answers that no HTTP server would send: gets the socket once a request's head has arrived on it. */
export async function rawUpstream(onRequest: (socket: Socket) => void): Promise<Stub> {
  const sockets = new Set<Socket>()
  let arrived = 0
  let connections = 0
  const server = createSocketServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (bytes) => {
      if (!/^(GET|POST) /.test(bytes.toString('latin1'))) return
      arrived += 1
      onRequest(socket)
    })
  })
  const port = await listen(server)
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    arrived: () => arrived,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** A port that was free a moment ago: nobody listens there. */
export async function deadPort(): Promise<number> {
  const stub = await stubUpstream(() => undefined)
  await stub.close()
  return stub.port
}

export function clientFor(baseUrl: string, options: Partial<UpstreamClientOptions> = {}) {
  return createUpstreamClient({
    baseUrl,
    connectTimeoutMs: 60_000,
    totalTimeoutMs: 60_000,
    maxResponseBytes: 100_000,
    maxConnections: 4,
    breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 1000 },
    ...options,
  })
}

export function listen(server: Server | ReturnType<typeof createSocketServer>): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)) // TCP: of this form
  })
}
