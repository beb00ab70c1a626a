import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Tunables } from '../../src/config/tunables.ts'
import { type BrokerDirectory, makeBrokerDirectory } from '../support/broker-process.ts'
import { patientTunables } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'

/**
 * Twenty brokers on one Redis, whose requests to the PAM API are counted together. Two are separate processes. The
 * others run in the test's process, where a start costs a twentieth; if they shared anything but Redis, the two
 * processes would show it.
 */
const REPLICAS = 20
const PROCESSES = 2
const REQUESTS = 400
const [FRESH_MS, STALE_MS] = [600_000, 3_600_000]
const FIRST = [AMELIA, WALTER]
/** Users whose groups are fetched only after the token has expired. */
const LATER = ['liv.lockable@example.test', 'mila.nophone@example.test']

let harness: Harness
let home: BrokerDirectory
/** URLs of the brokers in the test's own process. */
let replicas: string[]
/** URLs of the processes and of eighteen of the others. */
let mixed: string[]
/** How far the sandbox and the brokers in this process are ahead of the other processes. */
let aheadMs = 0
const now = () => Date.now() + aheadMs

beforeAll(async () => {
  harness = await startHarness({ now, sandboxNow: now, tunables: longFreshness })
  home = await makeBrokerDirectory(() => longFreshness(patientTunables()))
  const started = await Promise.all(Array.from({ length: REPLICAS }, () => harness.replica()))
  replicas = started.map(({ url }) => url)
  mixed = [...(await startProcesses()), ...replicas.slice(PROCESSES)]
})
afterAll(async () => {
  await home?.remove()
  await harness.stop()
})

/** Lists stay fresh even on a slow machine. */
function longFreshness(tunables: Tunables): Tunables {
  const times = { freshMs: FRESH_MS, staleMs: STALE_MS, onErrorMs: STALE_MS, meOnErrorMs: STALE_MS }
  return { ...tunables, pam: { ...tunables.pam, lists: { ...tunables.pam.lists, ...times } } }
}

/** Starts the processes; returns their URLs when they are ready. */
async function startProcesses(): Promise<string[]> {
  const env = { ...harness.signInEnv, ...harness.pamEnv }
  const brokers = await Promise.all(Array.from({ length: PROCESSES }, () => home.start(env)))
  await Promise.all(brokers.map(({ opsUrl }) => until(async () => (await fetch(`${opsUrl}/readyz`)).ok)))
  return brokers.map(({ url }) => url)
}

async function openSession(login: string): Promise<string> {
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
  return browser.jar.getCookieString(harness.gatehouse.url)
}

/**
 * Sends all requests at once, spread over brokers and users; returns the number of responses per status, and how many
 * are stale.
 */
async function ask(requests: number, urls: readonly string[], cookies: readonly string[]) {
  const statuses: Record<string, number> = {}
  let stale = 0
  await Promise.all(
    Array.from({ length: requests }, async (_, n) => {
      const answer = await fetch(`${urls[n % REPLICAS]}/api/v1/pam/me`, {
        headers: { cookie: cookies[Math.floor(n / REPLICAS) % cookies.length] ?? '' },
      })
      const body = (await answer.json()) as { meta?: { stale: boolean } }
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      if (body.meta?.stale === true) stale += 1
    }),
  )
  return { statuses, stale }
}

const allFresh = (requests: number) => ({ statuses: { '200': requests }, stale: 0 })
const allStale = (requests: number) => ({ statuses: { '200': requests }, stale: requests })
const counts = () => harness.sandbox.pamControl.counts()
const once = (logins: readonly string[]) => Object.fromEntries(logins.map((login) => [login, 1]))

test('hundreds of concurrent look-ups cost one token and one fetch per user, and one more token after it expires', async () => {
  const first = await Promise.all(FIRST.map(openSession))
  expect(await ask(REQUESTS, mixed, first)).toEqual(allFresh(REQUESTS))
  expect(counts()).toMatchObject({ tokensMinted: 1, userLists: once(FIRST) })

  for (const login of LATER) harness.sandbox.pamControl.setUserGroups(login, ['Everyone', 'Security'])
  const later = await Promise.all(LATER.map(openSession))
  harness.sandbox.pamControl.expireTokens()
  expect(await ask(REQUESTS, mixed, [...later, ...first])).toEqual(allFresh(REQUESTS))
  expect(counts()).toMatchObject({ tokensMinted: 2, userLists: once([...FIRST, ...LATER]) })
})

test('during a 429 hundreds of look-ups are served stale, and each replica calls the API at most twice', async () => {
  const cookies = await Promise.all(FIRST.map(openSession))
  expect((await ask(2 * REPLICAS, replicas, cookies)).statuses).toEqual({ '200': 2 * REPLICAS })

  aheadMs = FRESH_MS + 60_000
  const asked = counts().requests
  harness.sandbox.pamControl.failNext({ error: 'too_many_requests', times: 'always', retrySeconds: 300 })
  expect(await ask(REQUESTS, replicas, cookies)).toEqual(allStale(REQUESTS))
  await until(() => counts().requests > asked) // on a slow machine all are served before the first call
  expect(counts().requests - asked).toBeLessThanOrEqual(2 * REPLICAS)
})
