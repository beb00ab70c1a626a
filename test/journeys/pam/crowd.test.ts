import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createFaults } from 'gatehouse-sandbox/faults'
import { listen } from 'gatehouse-sandbox/listen'
import { createPamSandbox } from 'gatehouse-sandbox/pam/pam-sandbox'
import { createRequestLog } from 'gatehouse-sandbox/request-log'
import { type PamBroker, startPamBroker } from '../../pam/pam-broker.ts'
import { sandboxConfig } from '../../support/pam-server.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import { connectStore } from './connect-store.ts'

/** In real time, because Redis ends the shared pause by its own clock. */
const USERS = Array.from({ length: 120 }, (_, n) => `user-${n}@example.com`)
const LIMIT = { limit: 40, periodSeconds: 6, parts: 1 }
const MAX_MS = 45_000
const MAX_REFUSED = 30
const REPLICAS = [1, 4]

interface Crowd {
  readonly served: number
  readonly calls: number
  readonly refused: number
}

let redis: RedisServer
let crowds: Crowd[]
beforeAll(async () => {
  redis = await startRedis()
  crowds = await Promise.all(REPLICAS.map(serveCrowd))
}, MAX_MS + 60_000)
afterAll(() => redis.stop())

/** Users that no replica has seen, all at once, who retry after `Retry-After`. */
async function serveCrowd(replicas: number, database: number): Promise<Crowd> {
  const requestLog = createRequestLog({ now: Date.now })
  const faults = createFaults()
  const { app, control } = createPamSandbox({ config: sandboxConfig(), now: Date.now, faults, requestLog })
  control.setRateLimit(LIMIT)
  for (const login of USERS) control.setUserGroups(login, ['Everyone'])
  const sandbox = await listen(app, { port: 0, host: '127.0.0.1' })
  const stores = await Promise.all(
    Array.from({ length: replicas }, () => connectStore(`${redis.url}/${database}`)),
  )
  const brokers = await Promise.all(
    stores.map((store) =>
      startPamBroker({ baseUrl: sandbox.url, store, random: Math.random, sleep: (ms) => delay(ms) }),
    ),
  )
  const deadline = performance.now() + MAX_MS
  const served = await Promise.all(USERS.map((login, n) => isServed(login, brokers[n % replicas], deadline)))
  const { requests, errors } = control.counts()
  for (const broker of brokers) await broker.close()
  for (const store of stores) await store.close()
  await sandbox.close()
  return { served: served.filter(Boolean).length, calls: requests, refused: errors.too_many_requests ?? 0 }
}

async function isServed(login: string, broker: PamBroker | undefined, deadline: number): Promise<boolean> {
  while (broker !== undefined && performance.now() < deadline) {
    const { status, headers } = await broker.get('/api/v1/pam/me', { login })
    if (status === 200) return true
    await delay(Number(headers.get('retry-after') ?? 1) * 1000)
  }
  return false
}

test.each(REPLICAS.map((count, n) => [count, n] as const))(
  'a crowd of new users is served at the rate that the limit allows, by %i replicas',
  (_, n) => {
    const { served, calls, refused } = crowds[n] ?? { served: 0, calls: 0, refused: 0 }
    expect(served).toBe(USERS.length)
    expect(refused).toBeLessThanOrEqual(MAX_REFUSED)
    // one for each user, and the token
    expect(calls - refused).toBeLessThanOrEqual(USERS.length + 1)
  },
)
