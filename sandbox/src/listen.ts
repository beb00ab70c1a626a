import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'

export type Listener = { url: string; close(): Promise<void> }

/** Rejects if the port is in use. `close` also closes open connections. */
export async function listen(
  app: RequestListener,
  { port, host }: { port: number; host: string },
): Promise<Listener> {
  // Longer than clients keep idle connections, so that the server never closes a connection that a
  // client reuses.
  const server = createServer({ keepAliveTimeout: 75_000 }, app)
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  const hostname = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return {
    url: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${address.port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
