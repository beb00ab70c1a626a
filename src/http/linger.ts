import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Ends the connection of a request that was answered before its body was complete, such as one that is refused. Until
 * then the rest of the body is read and discarded: otherwise the client would get a reset instead of the response. Only
 * a few connections get that time, because reading refused bodies costs as much as reading accepted ones.
 */
export function createLinger(): (req: IncomingMessage) => void {
  const lingering = new Set<Socket>()

  return (req) => {
    const { socket } = req
    if (socket.destroyed) return
    if (lingering.size >= MOST_LINGERING) {
      socket.destroySoon()
      return
    }
    lingering.add(socket)
    const end = setTimeout(() => socket.destroy(), LINGER_MS)
    const leave = () => {
      clearTimeout(end)
      lingering.delete(socket)
      req.off('end', leave)
      socket.off('close', leave)
    }
    req.once('end', leave)
    socket.once('close', leave)
  }
}

const MOST_LINGERING = 30
const LINGER_MS = 1000
