import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { refuseExpectation, refuseMalformed } from './refuse-malformed.ts'
import type { Telemetry } from './request-context.ts'
import { announcesBody } from './unread-body.ts'

export type Listener = ReturnType<typeof createListener>

/** The options of Node's server are for tests. */
export interface ListenerOptions
  extends Pick<ServerOptions, 'headersTimeout' | 'requestTimeout' | 'connectionsCheckingInterval'> {
  readonly maxConnections: number
  readonly keepAliveTimeoutMs: number
  /** A connection with a request on which nothing is sent or received for this time is closed. */
  readonly inactivityTimeoutMs?: number
}

const MAX_HEADER_BYTES = 16_384

/**
 * An HTTP listener with limits and graceful shutdown. `telemetry` is for connections and requests
 * that Node refuses before they reach `handle`.
 */
export function createListener(handle: RequestListener, options: ListenerOptions, telemetry?: Telemetry) {
  const unread = createUnreadBodies()
  let isDraining = false
  /** Connections and requests so far. */
  let arrived = 0
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      requireHostHeader: false, // Host is not used
      headersTimeout: options.headersTimeout ?? 10_000,
      requestTimeout: options.requestTimeout ?? 20_000,
      connectionsCheckingInterval: options.connectionsCheckingInterval ?? 2000,
      keepAliveTimeout: options.keepAliveTimeoutMs,
    },
    (req, res) => {
      unread.add(req, res)
      arrived += 1
      if (isDraining) res.setHeader('Connection', 'close')
      handle(req, res)
    },
  )
  // no limit: Node silently drops header lines beyond it, X-Forwarded-For included. maxHeaderSize
  // still applies
  server.maxHeadersCount = 0
  server.maxConnections = options.maxConnections
  server.timeout = options.inactivityTimeoutMs ?? 60_000
  server.on('connection', () => {
    arrived += 1
  })
  server.on('drop', () => telemetry?.metrics.requestsShed.inc({ reason: 'connections' }))
  server.on('checkExpectation', refuseExpectation(telemetry))
  const refuse = refuseMalformed(telemetry)
  server.on('clientError', (error: Error, socket: Socket) => refuse(error, socket, unread.of(socket)))
  return {
    /** Resolves with the port; rejects if it is not available. */
    listen: (port: number, host: string) => listen(server, port, host),
    /** After `leadMs`, the listener closes, and running requests have `graceMs` to finish. */
    async drain(graceMs: number, leadMs = 0): Promise<void> {
      // every response says so: the client's next request can reach another replica
      isDraining = true
      // the listener itself keeps the process running
      await pause(leadMs, undefined, { ref: false })
      await nothingArrives(() => arrived)
      await close(server, graceMs)
    },
  }
}

/** While requests keep arriving. */
const ARRIVAL_LIMIT_MS = 1000

/**
 * Waits for a turn of the event loop in which nothing arrived. Node accepts one connection in each
 * turn; the others wait in the system, as do bytes on idle connections. Closing the listener and
 * its idle connections resets both, and a proxy must not send a POST again after that.
 */
async function nothingArrives(arrivals: () => number): Promise<void> {
  const deadline = performance.now() + ARRIVAL_LIMIT_MS
  let before: number
  do {
    before = arrivals()
    await turn()
  } while (arrivals() > before && performance.now() < deadline)
}

/**
 * The response to the request of a connection whose body is arriving. An idle connection must not
 * hold one: it is 7 kB.
 */
function createUnreadBodies() {
  const responses = new WeakMap<Socket, ServerResponse>()
  return {
    add(req: IncomingMessage, res: ServerResponse) {
      if (!announcesBody(req)) return
      responses.set(req.socket, res)
      req.once('close', () => responses.get(req.socket) === res && responses.delete(req.socket))
    },
    of(socket: Socket) {
      const response = responses.get(socket)
      return response?.req.complete === false ? response : undefined
    },
  }
}

/**
 * Connections that the system queues until they are accepted. Linux limits it to
 * `net.core.somaxconn`.
 */
const BACKLOG = 1024

const listen = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port) // listening on TCP: an address of this form
    })
  })

async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // of connections whose request ends from now on; Node has closed the idle ones
  server.keepAliveTimeout = 1
  const closeAll = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(closeAll)
}
