import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextCheck } from 'node:timers/promises'
import { type Connections, createConnections } from './connections.ts'
import { expressPrototypes } from './express-prototypes.ts'
import { refuseExpectation, refuseMalformed } from './refuse-malformed.ts'
import type { Telemetry } from './request-context.ts'

/** An HTTP listener with time limits and graceful shutdown. */
export interface Listener {
  /** Resolves with the port; rejects if it is not available. */
  listen(port: number, host: string): Promise<number>
  /** From now on, every response has `Connection: close`, so that the client's next request can reach another replica. */
  disableKeepAlive(): void
  /** Stops accepting connections, lets running requests finish, and closes the remaining connections after `graceMs`. */
  drain(graceMs: number): Promise<void>
}

export interface ListenerOptions {
  readonly maxHeaderBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly connectionsCheckIntervalMs: number
  readonly keepAliveTimeoutMs: number
  /** The time after which a connection is closed if the client reads nothing of its response. Node may take twice as long. */
  readonly writeTimeoutMs: number
}

/** `telemetry` is for requests that Node refuses before they reach `handle`. */
export function createListener(
  handle: RequestListener,
  options: ListenerOptions,
  telemetry?: Telemetry,
): Listener {
  const connections = createConnections()
  const server = createServer(
    {
      maxHeaderSize: options.maxHeaderBytes,
      requireHostHeader: false, // Host is not used
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: options.connectionsCheckIntervalMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      ...expressPrototypes(handle),
    },
    connections.trackResponses(handle),
  )
  // no limit: Node silently drops header lines beyond it, X-Forwarded-For included. maxHeaderSize still applies
  server.maxHeadersCount = 0
  server.on('connection', connections.trackConnection)
  server.on('checkExpectation', connections.trackResponses(refuseExpectation(telemetry)))
  const refuse = refuseMalformed(telemetry)
  server.on('clientError', (error: Error, socket: Socket) => {
    const last = connections.lastPendingResponse(socket)
    refuse(error, socket, last?.req.complete === false ? last : undefined)
  })
  // for active connections; on an idle one, Node uses keepAliveTimeoutMs
  server.setTimeout(options.writeTimeoutMs, (socket: Socket) => {
    const isWaitingForServer =
      connections.lastPendingResponse(socket) !== undefined && socket.writableLength === 0
    if (isWaitingForServer) socket.setTimeout(options.writeTimeoutMs)
    else socket.destroy()
  })
  return {
    listen: (port, host) => listen(server, port, host),
    disableKeepAlive: connections.disableKeepAlive,
    drain: createDrain(server, connections),
  }
}

/** Connections that the system queues until they are accepted. Linux limits it to `net.core.somaxconn`. */
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

/** During a drain, idle connections are closed after this time without a new request. */
const IDLE_CLOSE_MS = 1000

function createDrain(server: Server, { disableKeepAlive }: Connections): Listener['drain'] {
  let accepted = 0
  server.on('connection', () => {
    accepted += 1
  })

  /**
   * Accepts the connections that the system has queued, because closing the listener would reset them. libuv accepts one connection
   * per turn of the event loop.
   */
  const acceptQueued = async () => {
    for (let before = -1, turns = 0; accepted > before && turns <= BACKLOG; turns++) {
      before = accepted
      await nextCheck()
    }
  }

  return async (graceMs) => {
    disableKeepAlive()
    await acceptQueued()
    // not `server.close` of HTTP, which closes idle connections at once, even if a request is on its way
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
    const closeIdle = setTimeout(
      async () => {
        await acceptQueued()
        server.closeIdleConnections()
        closeIdle.refresh() // again, because a response that had already started has no `Connection: close`
      },
      Math.min(graceMs, IDLE_CLOSE_MS),
    )
    server.on('request', () => closeIdle.refresh())
    const closeAll = setTimeout(() => server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(closeIdle)
    clearTimeout(closeAll)
  }
}
