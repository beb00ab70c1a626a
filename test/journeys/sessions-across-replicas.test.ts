import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'

/** A session that ends at one replica ends at all others at once and for good, even under concurrent requests. */

const MAX_SESSIONS = 3
const ROUNDS = 8
const ME = '/api/v1/sessions/me'

let harness: Harness
let replica: Gatehouse
beforeAll(async () => {
  harness = await startHarness({
    env: { STEP_UP: 'on' },
    tunables: (shipped) => ({
      ...generousLimits(shipped),
      session: { ...shipped.session, maxPerUser: MAX_SESSIONS },
    }),
    constants: { sessions: { extendEveryMs: 0 } }, // every use writes the session
  })
  replica = await harness.replica()
})
afterAll(() => harness.stop())
afterEach(async () => {
  const browser = await openSession()
  await browser.delete('/api/v1/sessions')
  await browser.delete(ME)
})

const credentials = { username: AMELIA, password: PASSWORD }
const onReplica = (path: string) => replica.url + path

async function openSession(browser?: Browser): Promise<Browser> {
  const own = browser ?? (await harness.visit())
  expect((await own.post('/api/v1/authn', credentials)).json.status).toBe('SUCCESS')
  return own
}
const cookieOf = (browser: Browser) => browser.jar.getCookieString(harness.gatehouse.url)
const statusOf = async (browser: Browser, path = ME) => (await browser.get(path)).status

/** Sends a kept cookie to the other replica. */
async function replayed(cookie: string, method: 'get' | 'delete' | 'post', path: string) {
  const browser = openBrowser(replica.url)
  const options = { headers: { cookie } }
  const answer =
    method === 'post' ? await browser.post(path, undefined, options) : await browser[method](path, options)
  return [answer.status, answer.json.errorCode]
}

describe('the maximum number of sessions per user', () => {
  test('the oldest session is evicted, at any replica, which is counted and audited', async () => {
    const oldest = await openSession()
    const browsers = [await openSession(), await openSession()]
    const last = await harness.visit()
    await last.post(onReplica('/api/v1/authn'), credentials)
    expect(await statusOf(oldest)).toBe(404)
    for (const browser of [...browsers, last]) expect(await statusOf(browser)).toBe(200)
    expect(replica.logLines()).toContainEqual(
      expect.objectContaining({ event: 'sessions_revoked', audit: true, reason: 'evicted', count: 1 }),
    )
    expect(await replica.metrics()).toContain('gatehouse_sessions_ended_total{reason="evicted"} 1')
  })

  test('twelve concurrent sign-ins at two replicas leave exactly the maximum', async () => {
    const browsers = await Promise.all(Array.from({ length: 12 }, () => harness.visit()))
    const answers = await Promise.all(
      browsers.map((browser, n) =>
        browser.post(n % 2 === 0 ? '/api/v1/authn' : onReplica('/api/v1/authn'), credentials),
      ),
    )
    expect(answers.map(({ json }) => json.status)).toEqual(Array(12).fill('SUCCESS'))
    const statuses = await Promise.all(browsers.map((browser) => statusOf(browser)))
    expect(statuses.filter((status) => status === 200)).toHaveLength(MAX_SESSIONS)
    const survivor = browsers[statuses.indexOf(200)]
    expect((await survivor?.get(onReplica('/api/v1/sessions')))?.json.sessions).toHaveLength(MAX_SESSIONS)
  })
})

describe('concurrent writes', () => {
  test('a refresh and a use at one replica, and a sign-out at the other: the session ends', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const browser = await openSession()
      const cookie = await cookieOf(browser)
      const [refreshed, used, out] = await Promise.all([
        browser.post(`${ME}/lifecycle/refresh`),
        browser.get('/api/v1/sessions'),
        browser.delete(onReplica(ME)),
      ])
      expect([200, 404]).toContain(refreshed.status)
      expect([200, 401]).toContain(used.status)
      expect(out.status).toBe(204)
      expect(await replayed(cookie, 'get', ME)).toEqual([404, 'E0000007'])
    }
  })
})
