import { afterEach, expect, test } from '@jest/globals'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { type SignInResult, signInUsers, untilUnderLoad } from './sign-in-load.ts'

/**
 * Redis fails during two hundred sign-ins: all users are signed in with their own sessions, and no
 * request hangs.
 */

const USERS = 200
/** The time limits of store and upstream, with a margin for a busy machine. */
const MAX_RESPONSE_MS = 30_000

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function fleetOn(redis: { url: string; stop(): Promise<void> }): Promise<Fleet> {
  closers.push(() => redis.stop())
  const fleet = await startFleet({ redisUrl: redis.url })
  closers.push(() => fleet.stop())
  return fleet
}

function expectAllSignedIn(results: readonly SignInResult[]) {
  expect(results).toHaveLength(USERS)
  expect(results.filter(({ login, signedInAs }) => signedInAs !== login)).toEqual([])
  expect(results.flatMap(({ statuses }) => statuses).filter((status) => status === 500)).toEqual([])
  expect(Math.max(...results.map(({ slowestMs }) => slowestMs))).toBeLessThan(MAX_RESPONSE_MS)
}

test('sentinels promote a replica', async () => {
  const redis = await startSentinels({ replicas: 2, sentinels: 3 })
  const fleet = await fleetOn(redis)
  const signingIn = signInUsers({ fleet, users: USERS, timeoutMs: 120_000 })
  await untilUnderLoad(fleet, USERS)
  await redis.primary.kill()
  const results = await signingIn
  expectAllSignedIn(results)
  expect(await redis.primaryPort()).not.toBe(redis.primary.port)
  await fleet.untilReady()
})

test('a cluster of six nodes loses a primary', async () => {
  const redis = await startRedisCluster(3, 3)
  const fleet = await fleetOn(redis)
  const signingIn = signInUsers({ fleet, users: USERS, timeoutMs: 120_000 })
  await untilUnderLoad(fleet, USERS)
  await redis.masters[0]?.kill()
  const results = await signingIn
  expectAllSignedIn(results)
  await fleet.untilReady()
})
