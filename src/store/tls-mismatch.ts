import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Address, RedisTarget } from './redis-url.ts'

/**
 * Why a connection may fail although the server is there: the URL asks for TLS and the port has none, or the other way round.
 * Redis then resets the connection, or waits for more and says nothing. undefined: neither is so.
 */
export async function tlsMismatch(target: RedisTarget, timeoutMs: number): Promise<string | undefined> {
  const answers = target.tls ? answersInPlainText : answersInTls
  const found = await Promise.all(target.addresses.map((address) => answers(address, timeoutMs)))
  if (!found.includes(true)) return undefined
  return target.tls ? 'rediss URL but port without TLS' : 'redis URL but port with TLS'
}

/** Redis answers a PING, or says what is missing first, in a line that begins with + or -. */
function answersInPlainText(address: Address, timeoutMs: number): Promise<boolean> {
  const socket = connectPlain({ ...address })
  socket.once('connect', () => socket.write('PING\r\n'))
  return ending(socket, timeoutMs, (end) => {
    socket.once('data', (data) => end(/^[+-]/.test(data.toString('latin1'))))
  })
}

/** Whether the certificate is trusted does not matter here: nothing is sent. */
function answersInTls(address: Address, timeoutMs: number): Promise<boolean> {
  const socket = connectTls({ ...address, rejectUnauthorized: false })
  return ending(socket, timeoutMs, (end) => {
    socket.once('secureConnect', () => end(true))
  })
}

/** False if the socket fails, closes or takes too long before `listen` has found an end. */
function ending(
  socket: Socket,
  timeoutMs: number,
  listen: (end: (answered: boolean) => void) => void,
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
