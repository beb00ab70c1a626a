import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Ends the connection of a request that was answered before its body was complete, such as one that is refused. Until
 * then the client may send the rest, which is discarded: if it were not read, the client would get a reset in the place
 * of the answer. Few connections get that time: else refusing bodies would cost as much as reading them.
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
