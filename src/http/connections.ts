import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The open connections of a listener, and the responses that each waits for. */
export interface Connections {
  trackConnection(socket: Socket): void
  /** Wraps a request listener: its response is one that the connection waits for, until it is closed. */
  trackResponses(listener: RequestListener): RequestListener
  /** The response that was asked for last, of those without an end. */
  lastPendingResponse(socket: Socket): ServerResponse | undefined
  /** From now on, every response asks the client to use a new connection, which may be another replica's. */
  disableKeepAlive(): void
}

export function createConnections(): Connections {
  const pending: PendingResponses = new Map()
  const linger = createLinger()
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
        req.socket.destroy() // with all other requests that came with this one, which nothing has read
        return
      }
      if (isKeepAliveDisabled) askToLeave(res, responses.at(-1))
      responses.push(res)
      res.once('close', () => {
        responses.splice(responses.indexOf(res), 1)
        if (req.complete) noteAnswered(req.socket)
        else linger(req)
      })
      listener(req, res)
    },

    disableKeepAlive() {
      isKeepAliveDisabled = true
      for (const responses of pending.values()) {
        const last = responses.at(-1)
        if (last !== undefined) askToLeave(last)
      }
    },
  }
}

/**
 * By connection, the oldest first. Not one set of all responses: with an addition and a removal at every request, V8 copies
 * such a set over and over, and its discarded copies kept every request alive until the next full collection
 * (docs/performance.md).
 */
type PendingResponses = Map<Socket, ServerResponse[]>

/**
 * So many requests of one connection may be without an answer. Each of them holds capacity (`load-shedding.ts`) until its
 * answer is sent, and one small packet can contain a thousand. Clients that send requests ahead seldom send more than two.
 */
const MAX_PENDING = 8

/**
 * When a connection ends, Node closes only the response whose turn it is. Those behind it would never close, and what
 * waits for that, to release capacity or to write a log line, would wait for ever.
 */
function closeUnsent(res: ServerResponse): void {
  if (res.socket !== null || res.writableFinished) return
  res.destroy()
  res.emit('close')
}

/**
 * The next request of this connection goes to another replica; otherwise a kept connection outlives the drain. A response
 * that is sent before this one must not ask for it: the connection would end with that one.
 */
function askToLeave(res: ServerResponse, ahead?: ServerResponse): void {
  if (ahead?.headersSent === false) ahead.setHeader('Connection', 'keep-alive')
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

/**
 * Gives a request that was answered before its body was complete time to complete it. The rest is read and dropped: a
 * proxy has mostly sent all of it, and takes a connection that is cut instead for a fault of the server. Of very many,
 * the oldest are cut.
 */
function createLinger(): (req: IncomingMessage) => void {
  const lingering = new Set<Socket>()

  return (req) => {
    const { socket } = req
    if (socket.destroyed) return
    lingering.add(socket)
    const [oldest] = lingering
    if (lingering.size > MAX_LINGERING) oldest?.destroy()
    // what has arrived by then is read first: after a pause of this process, that may be all of it
    const end = setTimeout(() => setImmediate(cut), LINGER_MS)
    const cut = () => {
      if (!req.complete) socket.destroy()
    }
    const leave = () => {
      clearTimeout(end)
      lingering.delete(socket)
      req.off('end', leave)
      socket.off('close', leave)
      noteAnswered(socket)
    }
    req.once('end', leave)
    socket.once('close', leave)
  }
}

const MAX_LINGERING = 1000
const LINGER_MS = 1000

/** What each connection had sent when its last request was answered, and had arrived. */
const bytesAtLastAnswer = new WeakMap<Socket, number>()

function noteAnswered(socket: Socket): void {
  bytesAtLastAnswer.set(socket, socket.bytesRead)
}

/**
 * How many bytes have arrived since the connection's last answer: all of the request that is being read, and of no other
 * one unless its client sends requests ahead.
 */
export function countWireBytes(socket: Socket): () => number {
  const before = bytesAtLastAnswer.get(socket) ?? 0
  return () => socket.bytesRead - before
}
