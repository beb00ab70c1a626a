import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS, WALTER } from '../support/harness.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** A browser has one session, however many of its tabs sign in at once and at whichever replicas. */

const ME = '/api/v1/sessions/me'
const ROUNDS = 5

let harness: Harness
let cluster: RedisCluster
let pairs: Record<string, readonly [Gatehouse, Gatehouse]>
beforeAll(async () => {
  cluster = await startRedisCluster(3)
  harness = await startHarness()
  const first = await harness.replica({ REDIS_URL: cluster.url })
  pairs = {
    'one Redis': [harness.gatehouse, await harness.replica()],
    'Redis Cluster': [first, await harness.replica({ REDIS_URL: cluster.url })],
  }
})
afterAll(async () => {
  await harness.stop()
  await cluster.stop()
})
beforeEach(() => harness.sandbox.reset())

describe.each(['one Redis', 'Redis Cluster'])('two replicas on %s:', (name) => {
  const replicas = () => pairs[name] ?? [harness.gatehouse, harness.gatehouse]

  async function visit(): Promise<Browser> {
    const browser = openBrowser(replicas()[0].url)
    await browser.get(ME)
    return browser
  }

  /** What a tab sends to one of the replicas, with the cookies that the browser had when it began. */
  const send = (cookie: string, replica: Gatehouse, path: string, body: object) =>
    openBrowser(replica.url).post(path, body, { headers: { cookie } })

  const sessionCookieIn = ({ setCookies }: PageAnswer) =>
    setCookies.find((cookie) => cookie.startsWith('gatehouse='))?.split(';')[0]

  /** How many of the sessions that these answers opened can be used. */
  async function usable(device: string, answers: readonly PageAnswer[]): Promise<number> {
    const statuses = await Promise.all(
      answers.map(async (answer) => {
        const cookie = `${device}; ${sessionCookieIn(answer)}`
        return (await openBrowser(replicas()[0].url).get(ME, { headers: { cookie } })).status
      }),
    )
    return statuses.filter((status) => status === 200).length
  }

  /** Each of them is at the upstream before any of them is answered. */
  async function atOnce(asks: readonly (() => Promise<PageAnswer>)[]): Promise<PageAnswer[]> {
    const letGo = harness.sandbox.faults.authn.hold({ times: asks.length })
    harness.forget()
    const answering = asks.map((ask) => ask())
    await until(() => harness.upstreamCalls().length === asks.length)
    letGo()
    const answers = await Promise.all(answering)
    expect(answers.map(({ json }) => json.status)).toEqual(asks.map(() => 'SUCCESS'))
    return answers
  }

  const deviceOf = async (browser: Browser) => {
    const cookies = await browser.jar.getCookies(replicas()[0].url)
    return cookies.find(({ key }) => key === 'gatehouse-device')?.cookieString() ?? ''
  }

  const FIRST: readonly [string, string | undefined][] = [
    ['no session', undefined],
    ['a session', AMELIA],
  ]

  test.each(FIRST)('two users’ factors, sent at once in a browser with %s', async (_before, login) => {
    for (let round = 0; round < ROUNDS; round++) {
      harness.sandbox.reset()
      const browser = await visit()
      if (login !== undefined) await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
      const cookie = await browser.jar.getCookieString(replicas()[0].url)
      const tabs = await Promise.all(
        [TOMAS, PRIYA].map(async (username, n) => {
          const asked = await send(cookie, replicas()[0], '/api/v1/authn', { username, password: PASSWORD })
          const path = new URL(verifyHref(asked, 'token:software:totp')).pathname
          const step = { stateToken: handleOf(asked), passCode: harness.sandbox.totpCode(username) }
          return () => send(cookie, replicas()[n] ?? harness.gatehouse, path, step)
        }),
      )
      const answers = await atOnce(tabs)
      expect(await usable(await deviceOf(browser), answers)).toBe(1)
      if (login !== undefined) expect((await browser.get(ME)).status).toBe(404)
    }
  })

  test.each(FIRST)('one user’s passwords, sent at once in a browser with %s', async (_before, login) => {
    for (let round = 0; round < ROUNDS; round++) {
      const browser = await visit()
      if (login !== undefined) await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
      const cookie = await browser.jar.getCookieString(replicas()[0].url)
      const answers = await atOnce(
        [0, 1].map((n) => () => {
          const credentials = { username: WALTER, password: PASSWORD, relayState: `tab ${n}` }
          return send(cookie, replicas()[n] ?? harness.gatehouse, '/api/v1/authn', credentials)
        }),
      )
      expect(await usable(await deviceOf(browser), answers)).toBe(1)
      if (login !== undefined) expect((await browser.get(ME)).status).toBe(404)
    }
  })

  test('one after the other: the newer one wins, though the browser shows no session', async () => {
    const browser = await visit()
    const device = await deviceOf(browser)
    const credentials = { username: AMELIA, password: PASSWORD }
    const [one, two] = [
      await send(device, replicas()[0], '/api/v1/authn', credentials),
      await send(device, replicas()[1], '/api/v1/authn', credentials),
    ]
    expect([await usable(device, [one]), await usable(device, [two])]).toEqual([0, 1])
  })

  test('sessions of other browsers stay', async () => {
    const [browser, other] = [await visit(), await visit()]
    for (const each of [browser, other])
      await each.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    expect([(await browser.get(ME)).status, (await other.get(ME)).status]).toEqual([200, 200])
  })
})
