import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Express } from 'express'

export type Listener = { url: string; close(): Promise<void> }

/** Resolves once the port is open; rejects when it is taken. close() ends open connections too. */
export async function listen(
  app: Express,
  { port, host }: { port: number; host: string },
): Promise<Listener> {
  // Longer than a client keeps an idle connection, so that none is closed under a request.
  const server = createServer({ keepAliveTimeout: 75_000 }, app)
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  const named = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return {
    url: `http://${named.includes(':') ? `[${named}]` : named}:${address.port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
