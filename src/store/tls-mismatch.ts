import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Address, RedisTarget } from './redis-url.ts'

/**
 * Detects that the URL asks for TLS and the port has none, or the reverse. Redis then resets the connection or waits without a word,
 * so the client's own error does not name the reason. Undefined if there is no mismatch.
 */
export async function tlsMismatch(target: RedisTarget, timeoutMs: number): Promise<string | undefined> {
  const answers = target.tls ? answersInPlainText : answersInTls
  const found = await Promise.all(target.addresses.map((address) => answers(address, timeoutMs)))
  if (!found.includes(true)) return undefined
  return target.tls ? 'rediss URL but port without TLS' : 'redis URL but port with TLS'
}

/** Redis answers a PING, even without authentication, with a line that begins with + or -. */
function answersInPlainText(address: Address, timeoutMs: number): Promise<boolean> {
  const socket = connectPlain({ ...address })
  socket.once('connect', () => socket.write('PING\r\n'))
  return within(timeoutMs, socket, (resolve) => {
    socket.once('data', (data) => resolve(/^[+-]/.test(data.toString('latin1'))))
  })
}

/** The certificate need not be trusted, because nothing is sent. */
function answersInTls(address: Address, timeoutMs: number): Promise<boolean> {
  const socket = connectTls({ ...address, rejectUnauthorized: false })
  return within(timeoutMs, socket, (resolve) => {
    socket.once('secureConnect', () => resolve(true))
  })
}

/** Resolves with false if the socket fails, closes or takes too long. */
function within(
  timeoutMs: number,
  socket: Socket,
  listen: (resolve: (answered: boolean) => void) => void,
): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, timeoutMs, false)
    socket.on('error', () => resolve(false))
    socket.once('close', () => {
      clearTimeout(timer)
      resolve(false)
    })
    listen(resolve)
  }).finally(() => socket.destroy())
}
