import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextCheck } from 'node:timers/promises'
import { bornExpress } from './born-express.ts'
import { createLinger } from './linger.ts'
import { type RequestRecords, refuseExpectation, refuseMalformed } from './refuse-malformed.ts'
import { noteAnswered } from './wire-bytes.ts'

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
  /** How long an answer that is ready may go without its client taking anything of it; Node may take twice as long. */
  readonly writeTimeoutMs: number
}

/** `records`: where requests are written down that Node refuses before `handle` sees them. */
export function createListener(
  handle: RequestListener,
  options: ListenerOptions,
  records?: RequestRecords,
): Listener {
  let retiring = false
  let closesIdle = false
  let accepted = 0
  let settle: NodeJS.Timeout | undefined
  const connections: Connections = new Map()
  const linger = createLinger()

  /** The request's answer is among those that its connection waits for, until it is closed. */
  const awaited =
    (listener: RequestListener): RequestListener =>
    (req, res) => {
      const answers = connections.get(req.socket) ?? []
      if (answers.length >= MOST_AHEAD) {
        req.socket.destroy() // whatever else has come with it ends here too, and nobody has looked at it
        return
      }
      if (retiring) sendElsewhere(res, answers.at(-1))
      settle?.refresh()
      answers.push(res)
      res.once('close', () => {
        answers.splice(answers.indexOf(res), 1)
        if (req.complete) noteAnswered(req.socket)
        else linger(req)
        if (closesIdle) server.closeIdleConnections() // the headers of this answer were out before we retired
      })
      listener(req, res)
    }

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
    awaited(handle),
  )
  // Node drops the lines beyond this number without a word, X-Forwarded-For among them; maxHeaderSize is the limit
  server.maxHeadersCount = 0
  server.on('checkExpectation', awaited(refuseExpectation(records)))
  const refuse = refuseMalformed(records)
  server.on('clientError', (error: Error, socket: Socket) => {
    const last = connections.get(socket)?.at(-1)
    refuse(error, socket, last?.req.complete === false ? last : undefined)
  })
  server.on('connection', (socket: Socket) => {
    accepted += 1
    const answers: ServerResponse[] = []
    connections.set(socket, answers)
    socket.once('close', () => {
      connections.delete(socket)
      for (const res of [...answers]) closeUnsent(res)
    })
  })
  // nothing came or went for so long; on an idle connection Node has set keepAliveTimeoutMs instead
  server.setTimeout(options.writeTimeoutMs, (socket: Socket) => {
    const isAwaited = (connections.get(socket)?.length ?? 0) > 0
    if (isAwaited && socket.writableLength === 0)
      socket.setTimeout(options.writeTimeoutMs) // it is our turn
    else socket.destroy()
  })

  const retire = () => {
    retiring = true
    for (const answers of connections.values()) {
      const last = answers.at(-1)
      if (last !== undefined) sendElsewhere(last)
    }
  }

  /**
   * Connections and requests that the system has already are taken first: a busy process would reset them when it closes. libuv
   * accepts one connection in a turn of the event loop.
   */
  const arrived = async () => {
    for (let before = -1, turns = 0; accepted > before && turns <= BACKLOG; turns++) {
      before = accepted
      await nextCheck()
    }
  }

  return {
    listen: (port, host) => listen(server, port, host),
    retire,

    async drain(graceMs) {
      retire()
      await arrived()
      const closed = new Promise<void>((resolve) => {
        // not the HTTP server's own: that one cuts idle connections at once, those whose request is on its way too
        NetServer.prototype.close.call(server, () => resolve())
      })
      clearTimeout(settle)
      settle = setTimeout(
        async () => {
          await arrived()
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
 * So many requests of one connection may be without an answer. Each of them holds a place (`shed-load.ts`) until its
 * answer is out, and one small packet can bear a thousand. Who sends ahead at all seldom sends more than one or two.
 */
const MOST_AHEAD = 8

/**
 * The answers that each connection waits for, oldest first: more than one where a client sends ahead. Not one set of all
 * answers: with an addition and a removal at every request V8 copies such a set over and over, and its discarded copies kept
 * every request alive until the next full collection (docs/performance.md).
 */
type Connections = Map<Socket, ServerResponse[]>

/**
 * When a connection ends, Node tells only the answer whose turn it is. Those behind it would never close, and whoever
 * waits for that, to give a place back or to write a log line, would wait for ever.
 */
function closeUnsent(res: ServerResponse): void {
  if (res.socket !== null || res.writableFinished) return
  res.destroy()
  res.emit('close')
}

/** So many connections wait in the system until they are accepted; Linux takes no more than `net.core.somaxconn`. */
const BACKLOG = 1024

/** When no connection has brought a request for so long since the listener closed, those that are kept have nothing on their way. */
const SETTLE_MS = 1000

/**
 * The next request of this connection goes to another replica; without it a kept connection outlives the drain. An answer
 * that goes out before this one may not say it: the connection would end with that one.
 */
function sendElsewhere(res: ServerResponse, ahead?: ServerResponse): void {
  if (ahead?.headersSent === false) ahead.setHeader('Connection', 'keep-alive')
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port) // listening on TCP: an address of this form
    })
  })
}
