import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * A proxy in front of Redis that delays commands. A number over the IPC channel is the new delay in
 * milliseconds.
 */

let delayMs = 0
process.on('message', (message) => {
  delayMs = Number(message)
  process.send?.({ delayMs })
})

const server = createServer((broker) => {
  const redis = connect(Number(process.env.REDIS_PORT), '127.0.0.1')
  broker.on('data', (chunk) => {
    held.push({ chunk, redis, atMs: performance.now() + delayMs })
    if (held.length === 1) release()
  })
  redis.on('data', (chunk) => broker.write(chunk))
  for (const socket of [broker, redis]) {
    socket.setNoDelay(true).on('error', () => {})
    socket.on('close', () => (socket === broker ? redis : broker).destroy())
  }
}).listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port }) // listening on TCP
})

const held: { readonly chunk: Buffer; readonly redis: Socket; readonly atMs: number }[] = []
/** A timer of Node may be late by this much. */
const TIMER_MS = 2

/** Sends what is due, then waits for the rest: with a timer as long as that is exact enough. */
function release(): void {
  for (let first = held[0]; first !== undefined; first = held[0]) {
    const waitMs = first.atMs - performance.now()
    if (waitMs > 0) {
      if (waitMs > TIMER_MS) setTimeout(release, waitMs - TIMER_MS)
      else setImmediate(release)
      return
    }
    first.redis.write(first.chunk)
    held.shift()
  }
}
