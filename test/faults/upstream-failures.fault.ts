import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { type SignInResult, signInUsers } from './sign-in-load.ts'

/** An upstream that fails often, or is slow, under load: no request hangs. */

const USERS = 100
/** The time limits of the call and of the wait for a step lock, with a margin for a busy machine. */
const MAX_RESPONSE_MS = 40_000

let redis: RedisServer
let fleet: Fleet
beforeEach(async () => {
  redis = await startRedis()
  fleet = await startFleet({ redisUrl: redis.url })
})
afterEach(async () => {
  await fleet.stop()
  await redis.stop()
})

const allSignedIn = (results: readonly SignInResult[]) =>
  results.every(({ login, signedInAs }) => login === signedInAs)
const slowest = (results: readonly SignInResult[]) => Math.max(...results.map(({ slowestMs }) => slowestMs))

test('three of ten calls fail: all users sign in', async () => {
  fleet.sandbox.faults.authn.set({ kind: 'error-rate', status: 503, share: 0.3 })
  const results = await signInUsers({ fleet, users: USERS, timeoutMs: 300_000 })
  expect(allSignedIn(results)).toBe(true)
  expect(slowest(results)).toBeLessThan(MAX_RESPONSE_MS)
})

test('every call takes five seconds: all users sign in', async () => {
  fleet.sandbox.faults.authn.set({ kind: 'delay', ms: 5000 })
  const results = await signInUsers({ fleet, users: USERS, timeoutMs: 300_000 })
  expect(allSignedIn(results)).toBe(true)
  expect(slowest(results)).toBeLessThan(MAX_RESPONSE_MS)
})
