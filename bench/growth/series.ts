import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { connect, load, percentile, unlessRefused } from '../load.ts'
import type { Cost } from '../measure.ts'
import { askingFor, prepare } from '../visitors.ts'
import { createManySessions } from './many-sessions.ts'
import { AT_ONCE, UPSTREAM_MS } from './parameters.ts'
import { inScene, type Scene } from './scene.ts'

/** What grows, and what it costs then. Every function sets its own scene. */

/** A cost at a size: of sessions, connections, groups, processes or bytes. */
export interface Point {
  readonly size: number
  readonly cost: Cost
}

const VISITORS = 1000
/** More people than requests under way: equal requests of one person at once would share one call. */
const SIGNING_IN = 2000
const CONNECTIONS = 64

export interface SessionsPoint extends Point {
  /** Of Redis, for a session with its place in the person's index. */
  readonly bytesPerSession: number
}

export function moreSessions(sizes: readonly number[], seconds: number): Promise<SessionsPoint[]> {
  return inScene({}, async ({ redis, cost }) => {
    const sessions = createManySessions(redis)
    const empty = await usedBytes(redis)
    return inTurn(sizes, async (size) => {
      await sessions.fillTo(size)
      const bytesPerSession = ((await usedBytes(redis)) - empty) / size
      const asks = await sessions.asks()
      return { size, bytesPerSession, cost: await cost(asks, { connections: CONNECTIONS, seconds }) }
    })
  })
}

export function moreConnections(sizes: readonly number[], seconds: number): Promise<Point[]> {
  return inScene({}, async ({ origins: [origin], cost }) => {
    const asks = await signedIn(origin)
    return inTurn(sizes, async (size) => ({
      size,
      cost: await cost(asks, { connections: size, atOnce: Math.min(size, AT_ONCE), seconds }),
    }))
  })
}

/** The page stays the same, a hundred groups at most; the directory behind it grows. */
export function moreGroups(sizes: readonly number[], seconds: number): Promise<Point[]> {
  return inTurn(sizes, (size) =>
    inScene({ stubEnv: { STUB_GROUPS: String(size) } }, async ({ origins: [origin], cost }) => ({
      size,
      cost: await cost(askingFor('G', await signedIn(origin)), { connections: CONNECTIONS, seconds }),
    })),
  )
}

export interface ProcessesPoint {
  readonly size: number
  readonly sessionChecks: Cost
  readonly signIns: Cost
}

/** The servers are not pinned here: all of them would be on the one core. */
export function moreProcesses(sizes: readonly number[], seconds: number): Promise<ProcessesPoint[]> {
  return inTurn(sizes, (size) =>
    inScene({ processes: size, place: 'anywhere' }, async ({ origins: [origin], cost }) => {
      const under = { connections: CONNECTIONS * size, seconds }
      const sessionChecks = await cost(await signedIn(origin), under)
      const signIns = await cost(await prepare(origin, 'P', VISITORS), under)
      return { size, sessionChecks, signIns }
    }),
  )
}

export interface BodiesPoint extends Point {
  readonly answerBytes: number
}

/** A sign-in whose answer lists so many factors. */
export function largerAnswers(sizes: readonly number[], seconds: number): Promise<BodiesPoint[]> {
  return inTurn(sizes, (size) =>
    inScene({ stubEnv: { STUB_FACTORS: String(size) } }, async ({ origins: [origin], stub, cost }) => {
      const asks = await prepare(origin, 'P', VISITORS)
      const whole = await fetch(`${stub.url}/api/v1/authn`, { method: 'POST', body: asks[0]?.body ?? '' })
      const answerBytes = (await whole.arrayBuffer()).byteLength
      return { size, answerBytes, cost: await cost(asks, { connections: CONNECTIONS, seconds }) }
    }),
  )
}

export interface SlowPoint extends Point {
  /** Of somebody who only asks for a session meanwhile. */
  readonly sessionCheckP99Ms: number
}

/** So many sign-ins under way at once, while the upstream takes its time. */
export function slowUpstream(sizes: readonly number[], seconds: number): Promise<SlowPoint[]> {
  return inScene({ stubEnv: { STUB_DELAY_MS: String(UPSTREAM_MS) } }, async ({ origins: [origin], cost }) => {
    const [visitors, others] = [await prepare(origin, 'P', SIGNING_IN), await signedIn(origin, 100)]
    return inTurn(sizes, async (size) => {
      const connections = await connect([origin], 8)
      const [signIns, checks] = await Promise.all([
        cost(visitors, { connections: size, mayTurnAway: true, seconds }),
        load({ connections, asks: others, requests: Number.POSITIVE_INFINITY, seconds: seconds + 1 }),
      ])
      await connections.close()
      return { size, cost: signIns, sessionCheckP99Ms: percentile(checks.latencies, 0.99) }
    })
  })
}

export interface MemorySample {
  readonly minute: number
  readonly rssMb: number
  readonly heapMb: number
}

const SAMPLE_MS = 5000
const SIGN_INS_AT_ONCE = 20

/** Everything at once for so many minutes: sessions, proxies, groups, and people who sign in all the while. */
export function memoryOver(minutes: number): Promise<MemorySample[]> {
  return inScene({}, async (scene) => {
    const endsAt = performance.now() + minutes * 60_000
    const samples: MemorySample[] = []
    await Promise.all([
      mixedLoad(scene, endsAt),
      signInsUntil(scene, endsAt),
      sampleUntil(scene, endsAt, samples),
    ])
    return samples
  })
}

async function mixedLoad({ origins }: Scene, endsAt: number): Promise<void> {
  const people = await signedIn(origins[0])
  const asks = [
    ...askingFor('S', people),
    ...askingFor('F', people),
    ...askingFor('G', people),
    ...(await prepare(origins[0], 'P', VISITORS / 2)),
  ]
  const connections = await connect(origins, 16)
  while (performance.now() < endsAt) {
    const seconds = Math.min(10, (endsAt - performance.now()) / 1000)
    await unlessRefused('the mixed load', () =>
      load({ connections, asks, requests: Number.POSITIVE_INFINITY, seconds }),
    )
  }
  await connections.close()
}

async function signInsUntil({ origins }: Scene, endsAt: number): Promise<void> {
  while (performance.now() < endsAt) {
    await unlessRefused('signing in', () => prepare(origins[0], 'S', SIGN_INS_AT_ONCE))
    await pause(100)
  }
}

async function sampleUntil({ servers }: Scene, endsAt: number, samples: MemorySample[]): Promise<void> {
  const startedAt = performance.now()
  while (performance.now() < endsAt) {
    const usages = await Promise.all(servers.map((server) => server.usage()))
    const megabytes = (pick: (usage: (typeof usages)[number]) => number) =>
      usages.reduce((sum, usage) => sum + pick(usage), 0) / 1_048_576
    samples.push({
      minute: (performance.now() - startedAt) / 60_000,
      rssMb: megabytes(({ rssBytes }) => rssBytes),
      heapMb: megabytes(({ heapBytes }) => heapBytes),
    })
    await pause(Math.min(SAMPLE_MS, Math.max(0, endsAt - performance.now())))
  }
}

export interface KeyKind {
  readonly kind: string
  readonly count: number
  readonly bytes: number
  readonly seconds: number
}

/** What one person leaves in Redis who signs in with a code, and one who waits for the phone. */
export function keysOfOnePerson(): Promise<KeyKind[]> {
  return inScene({}, async ({ origins: [origin], redis }) => {
    await prepare(origin, 'S', 1)
    await prepare(origin, 'K', 1)
    const keys = (await redis.keys('gatehouse:*')).filter((key) => key !== 'gatehouse:ping').sort()
    const kinds = new Map<string, KeyKind>()
    for (const key of keys) {
      const [, kind = ''] = key.split(':')
      const { count, bytes, seconds } = kinds.get(kind) ?? { count: 0, bytes: 0, seconds: 0 }
      const [size, ttlMs] = [await redis.memory('USAGE', key), await redis.pttl(key)]
      kinds.set(kind, {
        kind,
        count: count + 1,
        bytes: bytes + Number(size),
        seconds: Math.max(seconds, Math.ceil(ttlMs / 1000)),
      })
    }
    return [...kinds.values()]
  })
}

function signedIn(origin: string, count = VISITORS) {
  return unlessRefused('signing in', () => prepare(origin, 'S', count))
}

async function usedBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
}

/** One after the other: each is to have the machine for itself. */
async function inTurn<Size, Result>(
  sizes: readonly Size[],
  work: (size: Size) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (const size of sizes) results.push(await work(size))
  return results
}
