import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { signInUsers } from './sign-in-load.ts'

/** Ten thousand connections with incomplete requests: other users are still served. */

const SLOW = 10_000
const USERS = 50
const BATCH = 500
/** Requests that never complete their headers, or their body. */
const BEGINNINGS = [
  'POST /api/v1/authn HTTP/1.1\r\nContent-Type: application/json\r\nX-Slow: ',
  'POST /api/v1/authn HTTP/1.1\r\nX-Forwarded-For: 10.11.0.1\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"',
]

let redis: RedisServer
let fleet: Fleet
const sockets: Socket[] = []
beforeAll(async () => {
  redis = await startRedis()
  fleet = await startFleet({ redisUrl: redis.url, brokers: 1 })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await fleet.stop()
  await redis.stop()
})

test('with 10,000 slow clients, other users sign in, and the slow connections are closed in time', async () => {
  const port = Number(fleet.brokers[0]?.port)
  let open = 0
  let closed = 0
  for (let from = 0; from < SLOW; from += BATCH) {
    for (let n = 0; n < BATCH; n++) {
      const socket = connect(port, '127.0.0.1', () => {
        open += 1
        socket.write(BEGINNINGS[n % BEGINNINGS.length] ?? '')
      })
      socket.on('error', () => {}) // closed by the broker after its timeout
      socket.on('close', () => {
        closed += 1
      })
      sockets.push(socket)
    }
    await until(() => open >= from + BATCH, { timeoutMs: 60_000, what: 'open connections' })
  }
  const dripping = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write('x')
  }, 3000)
  try {
    const results = await signInUsers({ fleet, users: USERS, timeoutMs: 120_000 })
    expect(results.filter(({ login, signedInAs }) => login !== signedInAs)).toEqual([])
    expect(results.flatMap(({ statuses }) => statuses).filter((status) => status >= 500)).toEqual([])
    expect(await fleet.readiness()).toEqual([200])
    await until(() => closed === SLOW, { timeoutMs: 120_000, what: 'every slow connection to be closed' })
  } finally {
    clearInterval(dripping)
  }
  process.stdout.write(`slow clients: ${JSON.stringify({ open, closed, rssMb: fleet.residentMb() })}\n`)
})
