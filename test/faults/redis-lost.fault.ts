import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { type Fleet, loginOf, startFleet, USER_PASSWORD } from './fleet.ts'
import { type SignInResult, signInUsers } from './sign-in-load.ts'

/** Redis fails during two hundred sign-ins: all users are signed in with their own sessions, and no request hangs. */

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

/** Waits until some users have sent requests, so that the fault affects requests in flight. */
const untilUnderLoad = (fleet: Fleet) =>
  until(() => fleet.sandbox.requestLog.authn.entries.length > USERS / 4, { timeoutMs: 60_000 })

function expectAllSignedIn(results: readonly SignInResult[]) {
  expect(results).toHaveLength(USERS)
  expect(results.filter(({ login, signedInAs }) => signedInAs !== login)).toEqual([])
  expect(results.flatMap(({ statuses }) => statuses).filter((status) => status === 500)).toEqual([])
  expect(Math.max(...results.map(({ slowestMs }) => slowestMs))).toBeLessThan(MAX_RESPONSE_MS)
}

/** Prints statuses and times. */
function report(name: string, results: readonly SignInResult[]) {
  const counts: Record<string, number> = {}
  for (const status of results.flatMap(({ statuses }) => statuses)) counts[status] = (counts[status] ?? 0) + 1
  const slowestMs = Math.round(Math.max(...results.map((arrival) => arrival.slowestMs)))
  const restarts = results.reduce((sum, arrival) => sum + arrival.restarts, 0)
  process.stdout.write(`${name}: ${JSON.stringify({ counts, slowestMs, restarts })}\n`)
}

test('Redis is killed and restarted with its data', async () => {
  const redis = await startRedis({ persist: true })
  const fleet = await fleetOn(redis)
  const signingIn = signInUsers({ fleet, users: USERS, timeoutMs: 120_000 })
  await untilUnderLoad(fleet)
  await redis.kill()
  await until(async () => (await fleet.storeStates()).every((state) => state === 'failing'), {
    timeoutMs: 30_000,
  })
  await redis.restart()
  const results = await signingIn
  report('killed and restarted', results)
  expectAllSignedIn(results)
  expect(results.some(({ statuses }) => statuses.includes(503))).toBe(true)
  await fleet.untilReady()
})

test('sentinels promote a replica', async () => {
  const redis = await startSentinels({ replicas: 2, sentinels: 3 })
  const fleet = await fleetOn(redis)
  const signingIn = signInUsers({ fleet, users: USERS, timeoutMs: 120_000 })
  await untilUnderLoad(fleet)
  await redis.primary.kill()
  const results = await signingIn
  report('sentinel fail-over', results)
  expectAllSignedIn(results)
  expect(await redis.primaryPort()).not.toBe(redis.primary.port)
  await fleet.untilReady()
})

test('a cluster of six nodes loses a primary', async () => {
  const redis = await startRedisCluster(3, 3)
  const fleet = await fleetOn(redis)
  const signingIn = signInUsers({ fleet, users: USERS, timeoutMs: 120_000 })
  await untilUnderLoad(fleet)
  await redis.masters[0]?.kill()
  const results = await signingIn
  report('cluster fail-over', results)
  expectAllSignedIn(results)
  await fleet.untilReady()
})

describe('Redis is paused for twenty seconds', () => {
  const PAUSE_MS = 20_000
  /** The memory of a busy broker, with a margin. */
  const BUSY_MB = 300

  test('requests are answered in time, /readyz shows it, memory does not grow, and the brokers recover', async () => {
    const redis = await startRedis()
    const fleet = await fleetOn(redis)
    await signInUsers({ fleet, users: 20, timeoutMs: 60_000 })
    redis.pause()
    const startedAt = performance.now()
    const endsAt = startedAt + PAUSE_MS
    const answers: { status: number; ms: number }[] = []
    const client = async () => {
      while (performance.now() < endsAt) {
        const sentAt = performance.now()
        const answer = await fetch(`${fleet.brokers[0]?.url}/api/v1/authn`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'sec-fetch-site': 'same-origin',
            'x-forwarded-for': '10.10.0.1',
          },
          body: JSON.stringify({ username: loginOf(1), password: USER_PASSWORD }),
        })
        await answer.arrayBuffer()
        answers.push({ status: answer.status, ms: performance.now() - sentAt })
      }
    }
    const clients = Promise.all(Array.from({ length: 50 }, client))
    const seen: { share: number; usedMb: number; residentMb: number }[] = []
    const watcher = async () => {
      for (let share = 0; share < 1; share = (performance.now() - startedAt) / PAUSE_MS) {
        const { heapMb, externalMb } = await fleet.memory()
        seen.push({ share, usedMb: heapMb + externalMb, residentMb: Math.max(...fleet.residentMb()) })
        await delay(100)
      }
    }
    const watching = watcher()
    await until(async () => (await fleet.storeStates()).every((state) => state === 'failing'), {
      timeoutMs: PAUSE_MS,
    })
    await Promise.all([clients, watching])
    // the lowest values show what the garbage collector cannot free; the first quarter is warm-up
    const between = (from: number, to: number) => seen.filter(({ share }) => share >= from && share < to)
    const lowest = (from: number, to: number) => Math.min(...between(from, to).map(({ usedMb }) => usedMb))
    const grownMb = lowest(0.75, 1) - lowest(0.25, 0.5)
    const residentMb = Math.max(...seen.map((one) => one.residentMb))
    redis.resume()
    await fleet.untilReady()
    const slowestMs = Math.max(...answers.map(({ ms }) => ms))
    process.stdout.write(
      `paused: ${JSON.stringify({ answers: answers.length, slowestMs: Math.round(slowestMs), grownMb: Math.round(grownMb), residentMb: Math.round(residentMb) })}\n`,
    )
    expect([...new Set(answers.map(({ status }) => status))]).toEqual([503])
    expect(slowestMs).toBeLessThan(MAX_RESPONSE_MS)
    expect(grownMb).toBeLessThan(15)
    expect(residentMb).toBeLessThan(BUSY_MB)
    const after = await signInUsers({ fleet, users: 20, timeoutMs: 60_000 })
    expect(after.every(({ login, signedInAs }) => login === signedInAs)).toBe(true)
  })
})
