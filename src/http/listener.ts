import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextCheck } from 'node:timers/promises'
import { type Connections, createConnections } from './connections.ts'
import { expressPrototypes } from './express-prototypes.ts'
import { refuseExpectation, refuseMalformed } from './refuse-malformed.ts'
import type { Telemetry } from './request-context.ts'

/** An HTTP listener with time limits, which can be stopped without cutting a request off. */
export interface Listener {
  /** Resolves with the port in use once it listens; rejects if the port is not available. */
  listen(port: number, host: string): Promise<number>
  /** From now on, every response asks the client to use a new connection, which may be another replica's. */
  disableKeepAlive(): void
  /** Accepts no new connection, lets running requests finish, and after `graceMs` cuts those that are left. */
  drain(graceMs: number): Promise<void>
}

export interface ListenerOptions {
  readonly maxHeaderBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly connectionsCheckIntervalMs: number
  readonly keepAliveTimeoutMs: number
  /** How long a response may go without its client reading any of it; Node may take twice as long. */
  readonly writeTimeoutMs: number
}

/** `telemetry`: where requests are logged and measured that Node refuses before `handle` sees them. */
export function createListener(
  handle: RequestListener,
  options: ListenerOptions,
  telemetry?: Telemetry,
): Listener {
  const connections = createConnections()
  const server = createServer(
    {
      maxHeaderSize: options.maxHeaderBytes,
      requireHostHeader: false, // Host is neither checked nor used
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: options.connectionsCheckIntervalMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      ...expressPrototypes(handle),
    },
    connections.trackResponses(handle),
  )
  // Node drops the lines beyond this number without a word, X-Forwarded-For among them; maxHeaderSize is the limit
  server.maxHeadersCount = 0
  server.on('connection', connections.trackConnection)
  server.on('checkExpectation', connections.trackResponses(refuseExpectation(telemetry)))
  const refuse = refuseMalformed(telemetry)
  server.on('clientError', (error: Error, socket: Socket) => {
    const last = connections.lastPendingResponse(socket)
    refuse(error, socket, last?.req.complete === false ? last : undefined)
  })
  // nothing was sent or received for so long; on an idle connection, Node has set keepAliveTimeoutMs instead
  server.setTimeout(options.writeTimeoutMs, (socket: Socket) => {
    const isOurTurn = connections.lastPendingResponse(socket) !== undefined && socket.writableLength === 0
    if (isOurTurn) socket.setTimeout(options.writeTimeoutMs)
    else socket.destroy()
  })
  return {
    listen: (port, host) => listen(server, port, host),
    disableKeepAlive: connections.disableKeepAlive,
    drain: createDrain(server, connections),
  }
}

/** So many connections wait in the system until they are accepted; Linux takes no more than `net.core.somaxconn`. */
const BACKLOG = 1024

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port) // listening on TCP: an address of this form
    })
  })
}

/** If no connection has brought a request for so long since the listener closed, idle ones are closed. */
const SETTLE_MS = 1000

function createDrain(server: Server, { disableKeepAlive }: Connections): Listener['drain'] {
  let accepted = 0
  server.on('connection', () => {
    accepted += 1
  })

  /**
   * Connections and requests that the system has already are accepted first: a busy process would reset them when it closes.
   * libuv accepts one connection in a turn of the event loop.
   */
  const arrived = async () => {
    for (let before = -1, turns = 0; accepted > before && turns <= BACKLOG; turns++) {
      before = accepted
      await nextCheck()
    }
  }

  return async (graceMs) => {
    disableKeepAlive()
    await arrived()
    // not the HTTP server's own: that one cuts idle connections at once, also those whose request is on its way
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
    const closeIdle = setTimeout(
      async () => {
        await arrived()
        server.closeIdleConnections()
        closeIdle.refresh() // once more: a response that had begun before could not ask its client to leave
      },
      Math.min(graceMs, SETTLE_MS),
    )
    server.on('request', () => closeIdle.refresh())
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(closeIdle)
    clearTimeout(cut)
  }
}
