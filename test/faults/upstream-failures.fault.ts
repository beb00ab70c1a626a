import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { type Fleet, loginOf, startFleet, USER_PASSWORD } from './fleet.ts'
import { type SignInResult, signInUsers } from './sign-in-load.ts'

/** Every kind of upstream failure, under load: no request hangs, memory does not grow, and the errors are as documented. */

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
const statusesOf = (results: readonly SignInResult[]) => [
  ...new Set(results.flatMap(({ statuses }) => statuses)),
]
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

describe('every response is wrong', () => {
  test.each([
    ['cut connections', { kind: 'cut' }],
    ['half a response', { kind: 'half' }],
    ['a wrong content type', { kind: 'wrong-type' }],
    ['10 MB', { kind: 'huge', bytes: 10_000_000 }],
    ['a wrong length', { kind: 'wrong-length' }],
    ['one byte per second', { kind: 'drip', everyMs: 1000 }],
    ['HTML', { kind: 'html', status: 503 }],
  ] as const)('%s', async (_name, fault) => {
    const before = fleet.residentMb()
    fleet.sandbox.faults.authn.set(fault)
    const seen: { status: number; code: unknown; ms: number }[] = []
    await Promise.all(Array.from({ length: USERS }, (_, n) => sendPassword(fleet, n, seen)))
    const grownMb = Math.max(...fleet.residentMb().map((mb, n) => mb - (before[n] ?? 0)))
    expect(seen.filter(({ status }) => ![502, 503, 504].includes(status))).toEqual([])
    expect(seen.filter(({ code }) => code !== 'E0000009')).toEqual([])
    expect(Math.max(...seen.map(({ ms }) => ms))).toBeLessThan(MAX_RESPONSE_MS)
    expect(grownMb).toBeLessThan(300)

    fleet.sandbox.faults.authn.clear()
    await until(async () => allSignedIn(await signInUsers({ fleet, users: 10, timeoutMs: 60_000 })), {
      timeoutMs: 60_000,
    })
    expect(statusesOf(await signInUsers({ fleet, users: 10, timeoutMs: 60_000 }))).not.toContain(502)
  })
})

async function sendPassword(fleet: Fleet, n: number, seen: { status: number; code: unknown; ms: number }[]) {
  const sentAt = performance.now()
  const answer = await fetch(`${fleet.brokers[n % fleet.brokers.length]?.url}/api/v1/authn`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      'x-forwarded-for': `10.8.0.${n}`,
    },
    body: JSON.stringify({ username: loginOf(n), password: USER_PASSWORD }),
  })
  const body: unknown = await answer.json()
  const code = typeof body === 'object' && body !== null && 'errorCode' in body ? body.errorCode : undefined
  seen.push({ status: answer.status, code, ms: performance.now() - sentAt })
}
