import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parsePamConfig } from '../../src/sandbox/pam/pam-config.ts'
import { defaultConfigPath, loadSandboxConfig } from '../../src/sandbox/sandbox-config.ts'
import { type BrokerHome, type BrokerProcess, makeBrokerHome } from '../support/broker-process.ts'
import { patientTunables, TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, type House, PASSWORD, startHouse, WALTER } from '../support/house.ts'
import { until } from '../support/until.ts'

/** Twenty broker processes on one Redis: what they ask of the PAM API together is counted. */
const REPLICAS = 20
const REQUESTS = 1000
/** Enough for every replica and everybody, where one asks until something has come about. */
const FEW = 4 * REPLICAS

let house: House
let homes: BrokerHome[]
let cookies: string[]

beforeAll(async () => {
  homes = []
  house = await startHouse()
  cookies = await Promise.all([AMELIA, WALTER].map(signedIn))
})
afterAll(async () => {
  await Promise.all(homes.map((home) => home.remove()))
  await house.stop()
})

/** Twenty of them, ready; lists are fresh for so long. */
async function startReplicas(freshMs: number): Promise<BrokerProcess[]> {
  const tunables = patientTunables()
  const home = await makeBrokerHome(() => ({
    ...tunables,
    pam: { ...tunables.pam, lists: { ...tunables.pam.lists, freshMs } },
  }))
  homes.push(home)
  const { team, keys } = parsePamConfig(loadSandboxConfig(defaultConfigPath).pam)
  const env = {
    PUBLIC_URL: house.gatehouse.url,
    AUTHN_BASE_URL: house.authnUrl,
    AUTHN_API_TOKEN: house.sandbox.apiToken,
    PAM_BASE_URL: house.pamUrl,
    PAM_TEAM: team,
    PAM_KEY_ID: keys[0]?.keyId ?? '',
    PAM_KEY_SECRET: keys[0]?.keySecret ?? '',
    REDIS_URL: house.redis.url,
    SECRET_KEYS: TEST_KEY,
  }
  const brokers = await Promise.all(Array.from({ length: REPLICAS }, () => home.start(env)))
  await Promise.all(brokers.map(({ opsUrl }) => until(async () => (await fetch(`${opsUrl}/readyz`)).ok)))
  return brokers
}

async function signedIn(login: string): Promise<string> {
  const browser = await house.visit()
  await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
  return browser.jar.getCookieString(house.gatehouse.url)
}

/** All at once, spread over the replicas and the people; how many of which status, and how many of them stale. */
async function ask(
  requests: number,
  brokers: readonly BrokerProcess[],
): Promise<{ statuses: Record<string, number>; stale: number }> {
  const statuses: Record<string, number> = {}
  let stale = 0
  await Promise.all(
    Array.from({ length: requests }, async (_, n) => {
      const answer = await fetch(`${brokers[n % REPLICAS]?.url}/api/v1/pam/me`, {
        headers: { cookie: cookies[Math.floor(n / REPLICAS) % cookies.length] ?? '' },
      })
      const body = (await answer.json()) as { meta?: { stale: boolean } }
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      if (body.meta?.stale === true) stale += 1
    }),
  )
  return { statuses, stale }
}

const allWell = (requests: number) => ({ '200': requests })
const counts = () => house.sandbox.pamControl.counts()

test('started cold, a thousand lookups at once cost one token and one fetch a person', async () => {
  const brokers = await startReplicas(60_000)
  expect((await ask(REQUESTS, brokers)).statuses).toEqual(allWell(REQUESTS))
  expect(counts()).toMatchObject({ tokensMinted: 1, personLists: { [AMELIA]: 1, [WALTER]: 1 } })
  await homes.pop()?.remove()
})

test('the token that ends under load is minted anew once, and while the API answers 429 stale answers serve', async () => {
  const brokers = await startReplicas(300)
  expect((await ask(FEW, brokers)).statuses).toEqual(allWell(FEW))
  const minted = counts().tokensMinted
  const running = ask(REQUESTS, brokers)
  house.sandbox.pamControl.expireTokens()
  expect((await running).statuses).toEqual(allWell(REQUESTS))
  await until(async () => {
    expect((await ask(FEW, brokers)).statuses).toEqual(allWell(FEW))
    return counts().tokensMinted > minted
  })
  expect(counts().tokensMinted).toBe(minted + 1)

  const asked = counts().requests
  house.sandbox.pamControl.failNext({ error: 'too_many_requests', times: 'always', retrySeconds: 30 })
  await until(async () => {
    const { statuses, stale } = await ask(FEW, brokers)
    expect(statuses).toEqual(allWell(FEW))
    return stale > FEW / 2
  })
  expect((await ask(REQUESTS, brokers)).statuses).toEqual(allWell(REQUESTS))
  expect(counts().requests - asked).toBeLessThanOrEqual(2 * REPLICAS)
})
