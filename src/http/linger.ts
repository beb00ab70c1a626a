import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { noteAnswered } from './wire-bytes.ts'

/**
 * Gives a request that was answered before its body was complete time to complete it. The rest is read and dropped: a proxy has mostly
 * sent all of it, and takes a connection that is cut instead for a fault of the server. Of very many, the oldest are cut.
 */
export function createLinger(): (req: IncomingMessage) => void {
  const lingering = new Set<Socket>()

  return (req) => {
    const { socket } = req
    if (socket.destroyed) return
    lingering.add(socket)
    const [oldest] = lingering
    if (lingering.size > MOST_LINGERING) oldest?.destroy()
    // what has come by then is read first: after a pause of this process all of it may be there
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

const MOST_LINGERING = 1000
const LINGER_MS = 1000
