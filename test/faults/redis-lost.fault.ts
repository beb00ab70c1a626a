import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { type Arrival, signInCrowd } from './crowd.ts'
import { type Fleet, startFleet } from './fleet.ts'

/** Redis lost in the middle of two hundred sign-ins: everybody arrives, as themselves, and nothing hangs. */

const PEOPLE = 200
/** The store's bound, the upstream's and a busy machine's share. */
const LONGEST_ANSWER_MS = 30_000

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

/** Waits until some of the crowd is on its way, so that the fault meets requests in flight. */
const onTheWay = (fleet: Fleet) =>
  until(() => fleet.sandbox.requestLog.authn.entries.length > PEOPLE / 4, { timeoutMs: 60_000 })

function expectAllArrived(arrivals: readonly Arrival[]) {
  expect(arrivals).toHaveLength(PEOPLE)
  expect(arrivals.filter(({ login, signedInAs }) => signedInAs !== login)).toEqual([])
  expect(arrivals.flatMap(({ statuses }) => statuses).filter((status) => status === 500)).toEqual([])
  expect(Math.max(...arrivals.map(({ slowestMs }) => slowestMs))).toBeLessThan(LONGEST_ANSWER_MS)
}

/** What the fault did to the crowd, for those who read along. */
function report(name: string, arrivals: readonly Arrival[]) {
  const counts: Record<string, number> = {}
  for (const status of arrivals.flatMap(({ statuses }) => statuses))
    counts[status] = (counts[status] ?? 0) + 1
  const slowestMs = Math.round(Math.max(...arrivals.map((arrival) => arrival.slowestMs)))
  const startedOver = arrivals.reduce((sum, arrival) => sum + arrival.startedOver, 0)
  process.stdout.write(`${name}: ${JSON.stringify({ counts, slowestMs, startedOver })}\n`)
}

test('killed and started again with its data', async () => {
  const redis = await startRedis({ persist: true })
  const fleet = await fleetOn(redis)
  const crowd = signInCrowd({ fleet, people: PEOPLE, withinMs: 120_000 })
  await onTheWay(fleet)
  await redis.kill()
  await until(async () => (await fleet.readiness()).every((status) => status === 503), { timeoutMs: 30_000 })
  await redis.restart()
  const arrivals = await crowd
  report('killed and restarted', arrivals)
  expectAllArrived(arrivals)
  expect(arrivals.some(({ statuses }) => statuses.includes(503))).toBe(true)
  await fleet.untilReady()
})

test('sentinels make a replica the primary', async () => {
  const redis = await startSentinels({ replicas: 2, sentinels: 3 })
  const fleet = await fleetOn(redis)
  const crowd = signInCrowd({ fleet, people: PEOPLE, withinMs: 120_000 })
  await onTheWay(fleet)
  await redis.primary.kill()
  const arrivals = await crowd
  report('sentinel fail-over', arrivals)
  expectAllArrived(arrivals)
  expect(await redis.primaryPort()).not.toBe(redis.primary.port)
  await fleet.untilReady()
})

test('a cluster of six loses a primary', async () => {
  const redis = await startRedisCluster(3, 3)
  const fleet = await fleetOn(redis)
  const crowd = signInCrowd({ fleet, people: PEOPLE, withinMs: 120_000 })
  await onTheWay(fleet)
  await redis.masters[0]?.kill()
  const arrivals = await crowd
  report('cluster fail-over', arrivals)
  expectAllArrived(arrivals)
  await fleet.untilReady()
})

describe('paused for twenty seconds', () => {
  const PAUSE_MS = 20_000
  /** What a broker that is kept busy comes to when all is well, and a bit more. */
  const BUSY_MB = 300

  test('answers within the bound, readiness red, memory flat, then green again', async () => {
    const redis = await startRedis()
    const fleet = await fleetOn(redis)
    await signInCrowd({ fleet, people: 20, withinMs: 60_000 })
    redis.pause()
    const startedAt = performance.now()
    const endsAt = startedAt + PAUSE_MS
    const answers: { status: number; ms: number }[] = []
    const asker = async () => {
      while (performance.now() < endsAt) {
        const sentAt = performance.now()
        const answer = await fetch(`${fleet.brokers[0]?.url}/api/v1/authn`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'sec-fetch-site': 'same-origin',
            'x-forwarded-for': '10.10.0.1',
          },
          body: JSON.stringify({ username: 'crowd-1@example.test', password: 'Demo-Password-1' }),
        })
        await answer.arrayBuffer()
        answers.push({ status: answer.status, ms: performance.now() - sentAt })
      }
    }
    const askers = Promise.all(Array.from({ length: 50 }, asker))
    const seen: { share: number; heldMb: number; residentMb: number }[] = []
    const watcher = async () => {
      for (let share = 0; share < 1; share = (performance.now() - startedAt) / PAUSE_MS) {
        const { heapMb, outsideMb } = await fleet.held()
        seen.push({ share, heldMb: heapMb + outsideMb, residentMb: Math.max(...fleet.residentMb()) })
        await delay(100)
      }
    }
    const watching = watcher()
    await until(async () => (await fleet.readiness()).every((status) => status === 503), {
      timeoutMs: PAUSE_MS,
    })
    await Promise.all([askers, watching])
    // what the collector can not free shows at its lowest; in the first quarter the broker is not even warm
    const between = (from: number, to: number) => seen.filter(({ share }) => share >= from && share < to)
    const lowest = (from: number, to: number) => Math.min(...between(from, to).map(({ heldMb }) => heldMb))
    const grownMb = lowest(0.75, 1) - lowest(0.25, 0.5)
    const residentMb = Math.max(...seen.map((one) => one.residentMb))
    redis.resume()
    await fleet.untilReady()
    const slowestMs = Math.max(...answers.map(({ ms }) => ms))
    process.stdout.write(
      `paused: ${JSON.stringify({ answers: answers.length, slowestMs: Math.round(slowestMs), grownMb: Math.round(grownMb), residentMb: Math.round(residentMb) })}\n`,
    )
    expect([...new Set(answers.map(({ status }) => status))]).toEqual([503])
    expect(slowestMs).toBeLessThan(LONGEST_ANSWER_MS)
    expect(grownMb).toBeLessThan(15)
    expect(residentMb).toBeLessThan(BUSY_MB)
    const after = await signInCrowd({ fleet, people: 20, withinMs: 60_000 })
    expect(after.every(({ login, signedInAs }) => login === signedInAs)).toBe(true)
  })
})
