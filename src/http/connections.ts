import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The open connections of a listener, and the pending responses of each. */
export interface Connections {
  trackConnection(socket: Socket): void
  /** Wraps a request listener: each response is pending until it is closed. */
  trackResponses(listener: RequestListener): RequestListener
  /** The pending response to the latest request. */
  lastPendingResponse(socket: Socket): ServerResponse | undefined
  /** From now on, every response has `Connection: close`, so that the client's next request can reach another replica. */
  disableKeepAlive(): void
}

export function createConnections(): Connections {
  const pending: PendingResponses = new Map()
  const awaitRestOfBody = createBodyGracePeriod()
  let isKeepAliveDisabled = false

  return {
    lastPendingResponse: (socket) => pending.get(socket)?.at(-1),

    trackConnection(socket) {
      const responses: ServerResponse[] = []
      pending.set(socket, responses)
      socket.once('close', () => {
        pending.delete(socket)
        for (const res of [...responses]) closeUnsent(res)
      })
    },

    trackResponses: (listener) => (req, res) => {
      const responses = pending.get(req.socket) ?? []
      if (responses.length >= MAX_PENDING) {
        req.socket.destroy() // drops all its requests
        return
      }
      if (isKeepAliveDisabled) sendConnectionClose(res, responses.at(-1))
      responses.push(res)
      res.once('close', () => {
        responses.splice(responses.indexOf(res), 1)
        if (req.complete) noteResponse(req.socket)
        else awaitRestOfBody(req)
      })
      listener(req, res)
    },

    disableKeepAlive() {
      isKeepAliveDisabled = true
      for (const responses of pending.values()) {
        const last = responses.at(-1)
        if (last !== undefined) sendConnectionClose(last)
      }
    },
  }
}

/**
 * By connection, oldest first. Not one set of all responses: V8 copies a set whose entries come and go with every request, and the
 * discarded copies kept every request alive until the next full collection (docs/performance.md).
 */
type PendingResponses = Map<Socket, ServerResponse[]>

/**
 * Pipelined requests per connection. Each holds capacity (`load-shedding.ts`) until its response is sent, and one small packet can
 * contain a thousand. Clients that pipeline seldom send more than two.
 */
const MAX_PENDING = 8

/**
 * When a connection ends, Node closes only the response that it is sending. The pipelined ones behind it would never emit `close`, which
 * releases capacity and writes the log line.
 */
function closeUnsent(res: ServerResponse): void {
  if (res.socket !== null || res.writableFinished) return
  res.destroy()
  res.emit('close')
}

/** An `ahead` response, which is sent before this one, must not have the header: the connection would end with it. */
function sendConnectionClose(res: ServerResponse, ahead?: ServerResponse): void {
  if (ahead?.headersSent === false) ahead.setHeader('Connection', 'keep-alive')
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

/**
 * After an early response, waits for the rest of the request body, which is discarded. Most proxies have already sent it, and treat a
 * closed connection as a server error. If too many connections wait, the oldest is closed.
 */
function createBodyGracePeriod(): (req: IncomingMessage) => void {
  const waiting = new Set<Socket>()

  return (req) => {
    const { socket } = req
    if (socket.destroyed) return
    waiting.add(socket)
    const [oldest] = waiting
    if (waiting.size > MAX_WAITING) oldest?.destroy()
    // reads the data that has already arrived first: after a pause of this process, that may be the whole body
    const timer = setTimeout(() => setImmediate(destroyIfIncomplete), GRACE_PERIOD_MS)
    const destroyIfIncomplete = () => {
      if (!req.complete) socket.destroy()
    }
    const stop = () => {
      clearTimeout(timer)
      waiting.delete(socket)
      req.off('end', stop)
      socket.off('close', stop)
      noteResponse(socket)
    }
    req.once('end', stop)
    socket.once('close', stop)
  }
}

const MAX_WAITING = 1000
const GRACE_PERIOD_MS = 1000

/** `bytesRead` of each connection at the end of its last request. */
const bytesAtLastResponse = new WeakMap<Socket, number>()

function noteResponse(socket: Socket): void {
  bytesAtLastResponse.set(socket, socket.bytesRead)
}

/** Counts the bytes since the connection's last request. They belong to the current request, unless the client pipelines. */
export function countWireBytes(socket: Socket): () => number {
  const before = bytesAtLastResponse.get(socket) ?? 0
  return () => socket.bytesRead - before
}
