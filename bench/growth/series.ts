import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { connect, load, percentile, retryUnexpected } from '../load.ts'
import type { Cost } from '../measure.ts'
import { prepare, withPath } from '../prepare-requests.ts'
import { createBulkSessions } from './bulk-sessions.ts'
import { type Environment, withEnvironment } from './environment.ts'
import { MAX_CONCURRENCY, UPSTREAM_MS } from './parameters.ts'

/** Each function measures one series in its own environment. */

/** The cost at a number of sessions, connections, groups, processes or factors. */
export interface Point {
  readonly size: number
  readonly cost: Cost
}

const VISITORS = 1000
/** More users than concurrent requests, as identical concurrent requests of one user share one upstream call. */
const SIGN_IN_USERS = 2000
const CONNECTIONS = 64

export interface SessionsPoint extends Point {
  /** Redis memory per session, with its entry in the user's index. */
  readonly bytesPerSession: number
}

export function measureSessions(sizes: readonly number[], seconds: number): Promise<SessionsPoint[]> {
  return withEnvironment({}, async ({ redis, cost }) => {
    const sessions = createBulkSessions(redis)
    const empty = await usedBytes(redis)
    return runInSequence(sizes, async (size) => {
      await sessions.fillTo(size)
      const bytesPerSession = ((await usedBytes(redis)) - empty) / size
      const prepared = await sessions.prepareChecks()
      return { size, bytesPerSession, cost: await cost(prepared, { connections: CONNECTIONS, seconds }) }
    })
  })
}

export function measureConnections(sizes: readonly number[], seconds: number): Promise<Point[]> {
  return withEnvironment({}, async ({ origins: [origin], cost }) => {
    const prepared = await signedIn(origin)
    return runInSequence(sizes, async (size) => ({
      size,
      cost: await cost(prepared, {
        connections: size,
        concurrency: Math.min(size, MAX_CONCURRENCY),
        seconds,
      }),
    }))
  })
}

/** A page of at most 100 groups, with a growing directory. */
export function measureGroups(sizes: readonly number[], seconds: number): Promise<Point[]> {
  return runInSequence(sizes, (size) =>
    withEnvironment({ stubEnv: { STUB_GROUPS: String(size) } }, async ({ origins: [origin], cost }) => ({
      size,
      cost: await cost(withPath('G', await signedIn(origin)), { connections: CONNECTIONS, seconds }),
    })),
  )
}

export interface ProcessesPoint {
  readonly size: number
  readonly sessionChecks: Cost
  readonly signIns: Cost
}

/** The servers are not pinned, as all of them would share one core. */
export function measureProcesses(sizes: readonly number[], seconds: number): Promise<ProcessesPoint[]> {
  return runInSequence(sizes, (size) =>
    withEnvironment({ processes: size, place: 'anywhere' }, async ({ origins: [origin], cost }) => {
      const load = { connections: CONNECTIONS * size, seconds }
      const sessionChecks = await cost(await signedIn(origin), load)
      const signIns = await cost(await prepare(origin, 'P', VISITORS), load)
      return { size, sessionChecks, signIns }
    }),
  )
}

export interface ResponseSizePoint extends Point {
  readonly responseBytes: number
}

/** Sign-ins whose response lists a growing number of factors. */
export function measureResponseSizes(
  sizes: readonly number[],
  seconds: number,
): Promise<ResponseSizePoint[]> {
  return runInSequence(sizes, (size) =>
    withEnvironment(
      { stubEnv: { STUB_FACTORS: String(size) } },
      async ({ origins: [origin], stub, cost }) => {
        const prepared = await prepare(origin, 'P', VISITORS)
        const response = await fetch(`${stub.url}/api/v1/authn`, {
          method: 'POST',
          body: prepared[0]?.body ?? '',
        })
        const responseBytes = (await response.arrayBuffer()).byteLength
        return { size, responseBytes, cost: await cost(prepared, { connections: CONNECTIONS, seconds }) }
      },
    ),
  )
}

export interface SlowPoint extends Point {
  /** The latency of concurrent session checks. */
  readonly sessionCheckP99Ms: number
}

/** Growing numbers of concurrent sign-ins with a slow upstream. */
export function measureSlowUpstream(sizes: readonly number[], seconds: number): Promise<SlowPoint[]> {
  return withEnvironment(
    { stubEnv: { STUB_DELAY_MS: String(UPSTREAM_MS) } },
    async ({ origins: [origin], cost }) => {
      const [visitors, others] = [await prepare(origin, 'P', SIGN_IN_USERS), await signedIn(origin, 100)]
      return runInSequence(sizes, async (size) => {
        const connections = await connect([origin], 8)
        const [signIns, checks] = await Promise.all([
          cost(visitors, { connections: size, allowShed: true, seconds }),
          load({ connections, prepared: others, requests: Number.POSITIVE_INFINITY, seconds: seconds + 1 }),
        ])
        await connections.close()
        return { size, cost: signIns, sessionCheckP99Ms: percentile(checks.latencies, 0.99) }
      })
    },
  )
}

export interface MemorySample {
  readonly minute: number
  readonly rssMb: number
  readonly heapMb: number
}

const SAMPLE_MS = 5000
const CONCURRENT_SIGN_INS = 20

/** Memory under steady load: session checks, forward-auth, groups, passwords and complete sign-ins. */
export function measureMemory(minutes: number): Promise<MemorySample[]> {
  return withEnvironment({}, async (environment) => {
    const endsAt = performance.now() + minutes * 60_000
    const samples: MemorySample[] = []
    await Promise.all([
      mixedLoad(environment, endsAt),
      signInsUntil(environment, endsAt),
      sampleUntil(environment, endsAt, samples),
    ])
    return samples
  })
}

async function mixedLoad({ origins }: Environment, endsAt: number): Promise<void> {
  const users = await signedIn(origins[0])
  const prepared = [
    ...withPath('S', users),
    ...withPath('F', users),
    ...withPath('G', users),
    ...(await prepare(origins[0], 'P', VISITORS / 2)),
  ]
  const connections = await connect(origins, 16)
  while (performance.now() < endsAt) {
    const seconds = Math.min(10, (endsAt - performance.now()) / 1000)
    await retryUnexpected('the mixed load', () =>
      load({ connections, prepared, requests: Number.POSITIVE_INFINITY, seconds }),
    )
  }
  await connections.close()
}

async function signInsUntil({ origins }: Environment, endsAt: number): Promise<void> {
  while (performance.now() < endsAt) {
    await retryUnexpected('signing in', () => prepare(origins[0], 'S', CONCURRENT_SIGN_INS))
    await pause(100)
  }
}

async function sampleUntil({ servers }: Environment, endsAt: number, samples: MemorySample[]): Promise<void> {
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

/** The keys in Redis after a sign-in with a code, and during a push challenge. */
export function keysPerUser(): Promise<KeyKind[]> {
  return withEnvironment({}, async ({ origins: [origin], redis }) => {
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
  return retryUnexpected('signing in', () => prepare(origin, 'S', count))
}

async function usedBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
}

/** In sequence, so that the measurements do not affect each other. */
async function runInSequence<Size, Result>(
  sizes: readonly Size[],
  work: (size: Size) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (const size of sizes) results.push(await work(size))
  return results
}
