import type { IncomingMessage } from 'node:http'
import { noteAnswered } from './wire-bytes.ts'

/**
 * Gives a request that was answered before its body was complete time to complete it. The rest is read and dropped: a proxy has mostly
 * sent all of it, and takes a connection that is cut instead for a fault of the server.
 */
export function linger(req: IncomingMessage): void {
  const { socket } = req
  if (socket.destroyed) return
  const end = setTimeout(() => socket.destroy(), LINGER_MS)
  const leave = () => {
    clearTimeout(end)
    req.off('end', leave)
    socket.off('close', leave)
    noteAnswered(socket)
  }
  req.once('end', leave)
  socket.once('close', leave)
}

const LINGER_MS = 2000
