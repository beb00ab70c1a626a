import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** A browser has one session, even if its tabs sign in at the same time at different replicas. */

const ME = '/api/v1/sessions/me'
const ROUNDS = 2

let harness: Harness
let cluster: RedisCluster
/** On a cluster, whose keys are on several nodes. */
let replicas: readonly [Gatehouse, Gatehouse]
beforeAll(async () => {
  cluster = await startRedisCluster(3)
  harness = await startHarness()
  const onCluster = { REDIS_URL: cluster.url }
  replicas = [await harness.replica(onCluster), await harness.replica(onCluster)]
})
afterAll(async () => {
  await harness.stop()
  await cluster.stop()
})
beforeEach(() => harness.sandbox.reset())

describe('two replicas on a Redis Cluster:', () => {
  async function visit(): Promise<Browser> {
    const browser = openBrowser(replicas[0].url)
    await browser.get(ME)
    return browser
  }

  /** Sends a tab's request to a replica with the cookies that the browser had at first. */
  const send = (cookie: string, replica: Gatehouse, path: string, body: object) =>
    openBrowser(replica.url).post(path, body, { headers: { cookie } })

  const sessionCookieIn = ({ setCookies }: PageAnswer) =>
    setCookies.find((cookie) => cookie.startsWith('gatehouse='))?.split(';')[0]

  /** How many of the sessions of these responses are valid. */
  async function countValidSessions(device: string, answers: readonly PageAnswer[]): Promise<number> {
    const statuses = await Promise.all(
      answers.map(async (answer) => {
        const cookie = `${device}; ${sessionCookieIn(answer)}`
        return (await openBrowser(replicas[0].url).get(ME, { headers: { cookie } })).status
      }),
    )
    return statuses.filter((status) => status === 200).length
  }

  /** Sends all requests; Okta answers none of them before all have arrived. */
  async function sendAtOnce(requests: readonly (() => Promise<PageAnswer>)[]): Promise<PageAnswer[]> {
    const release = harness.sandbox.faults.authn.hold({ times: requests.length })
    harness.clearUpstreamCalls()
    const pending = requests.map((request) => request())
    await until(() => harness.upstreamCalls().length === requests.length)
    release()
    const answers = await Promise.all(pending)
    expect(answers.map(({ json }) => json.status)).toEqual(requests.map(() => 'SUCCESS'))
    return answers
  }

  const deviceOf = async (browser: Browser) => {
    const cookies = await browser.jar.getCookies(replicas[0].url)
    return cookies.find(({ key }) => key === 'gatehouse-device')?.cookieString() ?? ''
  }

  const FIRST: readonly [string, string | undefined][] = [
    ['no session', undefined],
    ['a session', AMELIA],
  ]

  test.each(FIRST)(
    'two users submit codes at once in a browser with %s: only one session is valid',
    async (_before, login) => {
      for (let round = 0; round < ROUNDS; round++) {
        harness.sandbox.reset()
        const browser = await visit()
        if (login !== undefined) await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
        const cookie = await browser.jar.getCookieString(replicas[0].url)
        const tabs = await Promise.all(
          [TOMAS, PRIYA].map(async (username, n) => {
            const asked = await send(cookie, replicas[0], '/api/v1/authn', { username, password: PASSWORD })
            const path = new URL(verifyHref(asked, 'token:software:totp')).pathname
            const step = { stateToken: handleOf(asked), passCode: harness.sandbox.totpCode(username) }
            return () => send(cookie, replicas[n] ?? harness.gatehouse, path, step)
          }),
        )
        const answers = await sendAtOnce(tabs)
        expect(await countValidSessions(await deviceOf(browser), answers)).toBe(1)
        if (login !== undefined) expect((await browser.get(ME)).status).toBe(404)
      }
    },
  )

  test('two sign-ins in turn: the newer session wins, even if the second request has no session cookie', async () => {
    const browser = await visit()
    const device = await deviceOf(browser)
    const credentials = { username: AMELIA, password: PASSWORD }
    const [one, two] = [
      await send(device, replicas[0], '/api/v1/authn', credentials),
      await send(device, replicas[1], '/api/v1/authn', credentials),
    ]
    expect([await countValidSessions(device, [one]), await countValidSessions(device, [two])]).toEqual([0, 1])
  })
})
