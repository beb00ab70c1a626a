import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { bornExpress } from './born-express.ts'
import { answerMalformed } from './refuse-malformed.ts'

/** One HTTP listener with bounded patience, that can be stopped without cutting anybody off. */
export interface Listener {
  /** Resolves with the port in use once it listens; rejects when the port can't be had. */
  listen(port: number, host: string): Promise<number>
  /** Takes no new connection, lets running requests finish, and after `graceMs` cuts what is left. */
  drain(graceMs: number): Promise<void>
}

export interface ListenerOptions {
  readonly maxHeaderBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly connectionsCheckIntervalMs: number
  readonly keepAliveTimeoutMs: number
}

export function createListener(handle: RequestListener, options: ListenerOptions): Listener {
  let draining = false
  const running = new Set<ServerResponse>()
  const server = createServer(
    {
      maxHeaderSize: options.maxHeaderBytes,
      requireHostHeader: false, // Host is neither checked nor used
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: options.connectionsCheckIntervalMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      ...bornExpress(handle),
    },
    (req, res) => {
      if (draining) sendElsewhere(res)
      running.add(res)
      res.once('close', () => {
        running.delete(res)
        if (draining) server.closeIdleConnections() // the headers of this answer were out before the drain began
      })
      handle(req, res)
    },
  )
  server.on('clientError', answerMalformed)

  return {
    listen: (port, host) => listen(server, port, host),

    async drain(graceMs) {
      draining = true
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      server.closeIdleConnections()
      for (const res of running) sendElsewhere(res)
      const cut = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(cut)
    },
  }
}

/** The next request of this connection goes to another replica; without it a kept connection outlives the drain. */
function sendElsewhere(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: 1024 }, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port) // listening on TCP: an address of this form
    })
  })
}
