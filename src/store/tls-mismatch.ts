import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Address, RedisTarget } from './redis-url.ts'

/**
 * Why a connection may come to nothing although the server is there: the URL asks for TLS and the port has none, or the
 * other way round. Redis then resets the connection, or waits for more and says nothing. Undefined: neither is so.
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
  return settled(socket, timeoutMs, (isSo) => {
    socket.once('data', (data) => isSo(/^[+-]/.test(data.toString('latin1'))))
  })
}

/** Whether the certificate is trusted does not matter here: nothing is sent. */
function answersInTls(address: Address, timeoutMs: number): Promise<boolean> {
  const socket = connectTls({ ...address, rejectUnauthorized: false })
  return settled(socket, timeoutMs, (isSo) => {
    socket.once('secureConnect', () => isSo(true))
  })
}

function settled(
  socket: Socket,
  timeoutMs: number,
  listen: (isSo: (is: boolean) => void) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (is: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(is)
    }
    const timer = setTimeout(end, timeoutMs, false)
    socket.on('error', () => end(false))
    socket.once('close', () => end(false))
    listen(end)
  })
}
