import type { Socket } from 'node:net'

/** What each connection had sent when its last answer was out. */
const sentByThen = new WeakMap<Socket, number>()

/** An answer to this connection is out, or will never be. */
export function noteAnswered(socket: Socket): void {
  sentByThen.set(socket, socket.bytesRead)
}

/**
 * How many bytes have arrived since the connection's last answer: all of the request that is being read, and of no other one
 * unless its client sends ahead.
 */
export function countWireBytes(socket: Socket): () => number {
  const before = sentByThen.get(socket) ?? 0
  return () => socket.bytesRead - before
}
