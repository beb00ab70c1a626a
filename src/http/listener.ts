import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { bornExpress } from './born-express.ts'
import { answerMalformed } from './refuse-malformed.ts'

/** One HTTP listener with bounded patience, that can be stopped without cutting anybody off. */
export interface Listener {
  /** Resolves with the port in use once it listens; rejects when the port can't be had. */
  listen(port: number, host: string): Promise<number>
  /** From now on every answer asks the client to come back by a new connection: the next one may go elsewhere. */
  retire(): void
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
  let retiring = false
  let closesIdle = false
  const connections = new Set<Connection>()
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
      if (retiring) sendElsewhere(res)
      const { socket }: { socket: Connection } = req
      socket[ANSWER] = res
      res.once('close', () => {
        if (socket[ANSWER] === res) socket[ANSWER] = undefined
        if (closesIdle) server.closeIdleConnections() // the headers of this answer were out before we retired
      })
      handle(req, res)
    },
  )
  server.on('clientError', answerMalformed)
  server.on('connection', (socket: Connection) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })

  const retire = () => {
    retiring = true
    for (const { [ANSWER]: res } of connections) if (res !== undefined) sendElsewhere(res)
  }

  return {
    listen: (port, host) => listen(server, port, host),
    retire,

    async drain(graceMs) {
      retire()
      const closed = new Promise<void>((resolve) => {
        // not the HTTP server's own: that one cuts idle connections at once, those whose request is on its way too
        NetServer.prototype.close.call(server, () => resolve())
      })
      const settle = setTimeout(
        () => {
          closesIdle = true
          server.closeIdleConnections()
        },
        Math.min(graceMs, SETTLE_MS),
      )
      const cut = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(settle)
      clearTimeout(cut)
    },
  }
}

/**
 * The answer that a connection waits for, the last of them where a client sends ahead. On the connection, and not in a set
 * of answers: a set that takes something in and out with every request is copied again and again, and what has been
 * thrown away of it kept every request alive until the next full collection (docs/performance.md).
 */
const ANSWER = Symbol('answer')
type Connection = Socket & { [ANSWER]?: ServerResponse | undefined }

/** A connection that has been silent for so long after the last call for new ones has nothing on its way. */
const SETTLE_MS = 1000

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
