import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { signInUsers, untilUnderLoad } from './sign-in-load.ts'

/** Brokers that are killed, or stopped with SIGTERM, under load. */

const USERS = 200

let redis: RedisServer
let fleet: Fleet
beforeEach(async () => {
  redis = await startRedis()
  fleet = await startFleet({ redisUrl: redis.url, brokers: 3 })
})
afterEach(async () => {
  await fleet.stop()
  await redis.stop()
})

test('one of three brokers is killed and restarted: all users sign in at the others', async () => {
  const signingIn = signInUsers({ fleet, users: USERS, timeoutMs: 120_000 })
  await untilUnderLoad(fleet, USERS)
  const [victim] = fleet.brokers
  if (victim === undefined) throw new Error('no broker')
  victim.child.kill('SIGKILL')
  await victim.exited
  await fleet.restart(victim)
  const results = await signingIn
  expect(results.filter(({ login, signedInAs }) => login !== signedInAs)).toEqual([])
  expect(results.flatMap(({ statuses }) => statuses).filter((status) => status === 500)).toEqual([])
  expect(results.flatMap(({ statuses }) => statuses)).toContain(0)
})

test('one of three brokers is stopped under load, and the load balancer sees that it is not ready: no request is lost', async () => {
  const signingIn = signInUsers({ fleet, users: USERS, timeoutMs: 120_000, onlyReady: true })
  await untilUnderLoad(fleet, USERS)
  const [leaving] = fleet.brokers
  if (leaving === undefined) throw new Error('no broker')
  leaving.child.kill('SIGTERM')
  const results = await signingIn
  expect(await leaving.exited).toBe(0)
  expect(results.filter(({ login, signedInAs }) => login !== signedInAs)).toEqual([])
  // no connection is accepted after the broker has stopped listening; every accepted request gets a
  // full response
  expect(results.flatMap(({ cutOff }) => cutOff)).toEqual([])
})
