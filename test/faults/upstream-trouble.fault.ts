import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { type Arrival, signInCrowd } from './crowd.ts'
import { type Fleet, startFleet } from './fleet.ts'

/** An upstream in every kind of trouble, under load: nothing hangs, nothing grows, and each has its documented error. */

const PEOPLE = 100
/** The whole call's bound, what a step may wait in its line, and a busy machine's share. */
const LONGEST_ANSWER_MS = 40_000

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

const allArrived = (arrivals: readonly Arrival[]) =>
  arrivals.every(({ login, signedInAs }) => login === signedInAs)
const statusesOf = (arrivals: readonly Arrival[]) => [
  ...new Set(arrivals.flatMap(({ statuses }) => statuses)),
]
const slowest = (arrivals: readonly Arrival[]) => Math.max(...arrivals.map(({ slowestMs }) => slowestMs))

test('three calls in ten fail: everybody arrives all the same', async () => {
  fleet.sandbox.faults.authn.set({ kind: 'error-rate', status: 503, share: 0.3 })
  const arrivals = await signInCrowd({ fleet, people: PEOPLE, withinMs: 300_000 })
  expect(allArrived(arrivals)).toBe(true)
  expect(slowest(arrivals)).toBeLessThan(LONGEST_ANSWER_MS)
})

test('every call takes five seconds: everybody arrives', async () => {
  fleet.sandbox.faults.authn.set({ kind: 'delay', ms: 5000 })
  const arrivals = await signInCrowd({ fleet, people: PEOPLE, withinMs: 300_000 })
  expect(allArrived(arrivals)).toBe(true)
  expect(slowest(arrivals)).toBeLessThan(LONGEST_ANSWER_MS)
})

describe('no answer is what it should be', () => {
  test.each([
    ['cut connections', { kind: 'cut' }],
    ['half an answer', { kind: 'half' }],
    ['a wrong content type', { kind: 'wrong-type' }],
    ['10 MB', { kind: 'huge', bytes: 10_000_000 }],
    ['a wrong length', { kind: 'wrong-length' }],
    ['a byte a second', { kind: 'drip', everyMs: 1000 }],
    ['HTML', { kind: 'html', status: 503 }],
  ] as const)('%s', async (_name, fault) => {
    const before = fleet.residentMb()
    fleet.sandbox.faults.authn.set(fault)
    const seen: { status: number; code: unknown; ms: number }[] = []
    await Promise.all(Array.from({ length: PEOPLE }, (_, n) => ask(fleet, n, seen)))
    const grownMb = Math.max(...fleet.residentMb().map((mb, n) => mb - (before[n] ?? 0)))
    expect(seen.filter(({ status }) => ![502, 503, 504].includes(status))).toEqual([])
    expect(seen.filter(({ code }) => code !== 'E0000009')).toEqual([])
    expect(Math.max(...seen.map(({ ms }) => ms))).toBeLessThan(LONGEST_ANSWER_MS)
    expect(grownMb).toBeLessThan(300)

    fleet.sandbox.faults.authn.clear()
    await until(async () => allArrived(await signInCrowd({ fleet, people: 10, withinMs: 60_000 })), {
      timeoutMs: 60_000,
    })
    expect(statusesOf(await signInCrowd({ fleet, people: 10, withinMs: 60_000 }))).not.toContain(502)
  })
})

async function ask(fleet: Fleet, n: number, seen: { status: number; code: unknown; ms: number }[]) {
  const sentAt = performance.now()
  const answer = await fetch(`${fleet.brokers[n % fleet.brokers.length]?.url}/api/v1/authn`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      'x-forwarded-for': `10.8.0.${n}`,
    },
    body: JSON.stringify({ username: `crowd-${n}@example.test`, password: 'Demo-Password-1' }),
  })
  const body: unknown = await answer.json()
  const code = typeof body === 'object' && body !== null && 'errorCode' in body ? body.errorCode : undefined
  seen.push({ status: answer.status, code, ms: performance.now() - sentAt })
}
