import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Pool } from 'undici'
import { defaultTunables } from '../../src/config/load-config.ts'
import type { Tunables } from '../../src/config/tunables.ts'
import { type BrokerDirectory, type BrokerProcess, makeBrokerDirectory } from '../support/broker-process.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import { patientTunables } from '../support/gatehouse.ts'
import { AMELIA, FROM_PROXY, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/** Two broker processes with the shipped limits, on one Redis and behind a trusted proxy. */
let harness: Harness
let home: BrokerDirectory
let brokers: readonly BrokerProcess[]
let pools: readonly Pool[]

beforeAll(async () => {
  harness = await startHarness()
  home = await makeBrokerDirectory(longUpstreamTimeouts)
  const env = {
    ...harness.signInEnv,
    TRUST_PROXY: '127.0.0.1',
  }
  brokers = await Promise.all([home.start(env), home.start(env)])
  await Promise.all(brokers.map(({ opsUrl }) => until(async () => (await fetch(`${opsUrl}/readyz`)).ok)))
  pools = brokers.map(({ port }) => new Pool(`http://127.0.0.1:${port}`, { connections: AT_ONCE }))
})
afterAll(async () => {
  await Promise.all((pools ?? []).map((pool) => pool.destroy()))
  await home?.remove()
  await harness.stop()
})

/** The sandbox runs in this test's own process, which also sends the load, so time-outs are long. */
function longUpstreamTimeouts(): Tunables {
  const tunables = patientTunables()
  const authn = { ...tunables.upstream.authn, connectTimeoutMs: 60_000, totalTimeoutMs: 60_000 }
  return {
    ...tunables,
    http: { ...tunables.http, shutdownGraceMs: 70_000 },
    upstream: { ...tunables.upstream, authn },
    transaction: { ...tunables.transaction, stepLockMs: 75_000, stepWaitMs: 70_000 },
  }
}

/** `npm run faults` sends ten thousand. */
const ATTEMPTS = Number(process.env.FLOOD_ATTEMPTS ?? 2000)
const ADDRESSES = 1000
const AT_ONCE = 100
const UNKNOWN = 'nobody.at.all@example.test'

/** One wrong password, in a browser that was never seen, from one of a thousand addresses. */
async function signInWrongly(login: string, n: number): Promise<number> {
  const address = n % ADDRESSES
  const { statusCode, body } = await pick(pools, n).request({
    method: 'POST',
    path: '/api/v1/authn',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      'x-forwarded-for': `198.18.${address >> 8}.${address & 255}`,
    },
    body: JSON.stringify({ username: login, password: `wrong-${n}` }),
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  await body.dump()
  return statusCode
}

/** Sends `attempts` wrong passwords, a hundred at a time; returns how many got which status. */
async function sendWrongPasswords(login: string, attempts: number): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {}
  let next = 0
  const worker = async () => {
    while (next < attempts) {
      const status = await signInWrongly(login, next++)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return statuses
}

function pick<Item>(items: readonly Item[], n: number): Item {
  const item = items[n % items.length]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}

const signInIn = (browser: Browser) => browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })

const wrongPasswordsUpstream = (login: string) =>
  harness
    .upstreamCalls()
    .map(({ body }) => body as { username?: string; password?: string })
    .filter(({ username, password }) => username === login && password !== PASSWORD).length

/** How many attempts the shipped limits allow in this time. A window begins with its first attempt. */
function allowedAttempts(elapsedMs: number): number {
  const { burst, sustained } = defaultTunables().limits.password.perUser
  const within = [burst, sustained].map(
    ({ attempts, perSeconds }) => attempts * (1 + Math.floor(elapsedMs / (perSeconds * 1000))),
  )
  return Math.min(...within)
}

test('thousands of wrong passwords from a thousand addresses: exactly the limit reaches Okta, and a known device still signs in', async () => {
  const [known1, known2] = brokers.map(({ url }) => openBrowser(url, FROM_PROXY))
  if (known1 === undefined || known2 === undefined) throw new Error('two brokers')
  for (const browser of [known1, known2]) expect((await signInIn(browser)).json.status).toBe('SUCCESS')
  harness.clearUpstreamCalls()

  const started = performance.now()
  let isOver = false
  const loadFinished = sendWrongPasswords(AMELIA, ATTEMPTS).finally(() => {
    isOver = true
  })
  const ownSignIns: unknown[] = []
  while (!isOver) {
    const answers = await Promise.all([signInIn(known1), signInIn(known2)])
    ownSignIns.push(...answers.map(({ status, json }) => json.status ?? `${status} ${json.errorCode}`))
  }
  const statuses = await loadFinished
  const allowed = allowedAttempts(performance.now() - started)

  const passed = wrongPasswordsUpstream(AMELIA)
  expect(passed).toBeGreaterThanOrEqual(defaultTunables().limits.password.perUser.burst.attempts)
  expect(passed).toBeLessThanOrEqual(allowed)
  expect(statuses).toEqual({ '401': passed, '429': ATTEMPTS - passed })
  expect(ownSignIns.length).toBeGreaterThan(4)
  expect(new Set(ownSignIns)).toEqual(new Set(['SUCCESS']))

  const refused = await signInIn(openBrowser(brokers[0]?.url ?? '', FROM_PROXY))
  expect([refused.status, refused.json.errorCode]).toEqual([429, 'E0000047'])
}, 300_000)

test('an unknown username has the same limit', async () => {
  const started = performance.now()
  const statuses = await sendWrongPasswords(UNKNOWN, 150)
  const passed = wrongPasswordsUpstream(UNKNOWN)
  expect(passed).toBeLessThanOrEqual(allowedAttempts(performance.now() - started))
  expect(statuses).toEqual({ '401': passed, '429': 150 - passed })
})
