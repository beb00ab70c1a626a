import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, PASSWORD, PRIYA, useHarness, WALTER } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

/** When a session ends, everything that could restore it ends on every replica. */

const OPS_TOKEN = 'plainly-fake-ops-token'
const TARGET = 'http://localhost:3000/home'
const ME = '/api/v1/sessions/me'
const SIGN_IN = '/api/v1/authn'
const TOTP = 'token:software:totp'

const harness = useHarness({ env: { OPS_TOKEN, STEP_UP: 'on', SSO_REDIRECTS: TARGET } })
let cluster: RedisCluster
/** On a cluster, whose keys are on several nodes. */
let replicas: readonly [Gatehouse, Gatehouse]
beforeAll(async () => {
  cluster = await startRedisCluster(3)
  const onCluster = { REDIS_URL: cluster.url }
  replicas = [await harness.replica(onCluster), await harness.replica(onCluster)]
})
afterAll(() => cluster.stop())

describe('two replicas on a Redis Cluster:', () => {
  const firstUrl = () => replicas[0].url
  const onSecond = (path: string) => replicas[1].url + new URL(path, firstUrl()).pathname

  async function visit(): Promise<Browser> {
    const browser = openBrowser(firstUrl())
    await browser.get(ME)
    return browser
  }
  const post = (browser: Browser, path: string, body: object) =>
    browser.post(new URL(path, firstUrl()).pathname, body)
  const signIn = (browser: Browser, username: string, fields: object = {}) =>
    post(browser, SIGN_IN, { username, password: PASSWORD, ...fields })
  const codeFor = (asked: PageAnswer, login: string) => ({
    stateToken: handleOf(asked),
    passCode: harness.sandbox.totpCode(login),
  })

  async function endAllSessions(userId?: string): Promise<void> {
    const resource = userId === undefined ? 'sessions' : `users/${userId}/sessions`
    const answer = await fetch(`${replicas[1].opsUrl}/admin/${resource}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${OPS_TOKEN}` },
    })
    expect(answer.status).toBe(200)
  }

  /** A session with its SSO token. */
  async function withSsoToken() {
    const browser = await visit()
    const { json } = await signIn(browser, AMELIA)
    const query = new URLSearchParams({ token: String(json.sessionToken), redirectUrl: TARGET })
    return { browser, href: `/login/sessionCookieRedirect?${query}` }
  }
  /** A session with the redirect of its step-up. */
  async function withStepUpRedirect() {
    onClassicEngine(harness)
    const browser = await visit()
    const { json } = await signIn(browser, AMELIA, { audience: 'payroll' })
    const { pathname, search } = new URL(hrefAt({ json }, '_links.next'))
    return { browser, href: pathname + search }
  }
  const REDIRECTS = { 'the SSO token': withSsoToken, 'the step-up redirect': withStepUpRedirect }

  const userIdOf = async (browser: Browser) => String((await browser.get(ME)).json.userId)
  const WAYS_TO_END: Record<string, (browser: Browser) => Promise<unknown>> = {
    'a sign-out': (browser) => browser.delete(ME),
    'an operator ends all sessions of the user': async (browser) => endAllSessions(await userIdOf(browser)),
    'an operator ends the sessions of all users': () => endAllSessions(),
    'another user signs in in this browser': (browser) => signIn(browser, WALTER),
    'the same user signs in again in this browser': (browser) => signIn(browser, AMELIA, { relayState: '2' }),
    'the user ends it by its id in another browser': async (browser) => {
      const other = await visit()
      await signIn(other, AMELIA)
      const { id } = (await browser.get(ME)).json
      expect((await other.delete(`/api/v1/sessions/${id}`)).status).toBe(204)
    },
    'the user ends all other sessions in another browser': async () => {
      const other = await visit()
      await signIn(other, AMELIA)
      expect((await other.delete('/api/v1/sessions')).status).toBe(204)
    },
  }

  describe.each(Object.entries(REDIRECTS))('%s', (_carrier, issue) => {
    test('redirects while its session exists', async () => {
      const { browser, href } = await issue()
      expect((await navigate(browser, firstUrl() + href)).status).toBe(302)
    })

    // shows: V7.4.1
    test.each(Object.entries(WAYS_TO_END))('no longer redirects after: %s', async (_ending, end) => {
      const { browser, href } = await issue()
      await end(browser)
      for (const { url } of replicas) {
        const refused = await navigate(browser, url + href)
        expect([refused.status, refused.location]).toEqual([401, undefined])
        for (const token of harness.sandbox.tokensIssued()) expect(refused.text).not.toContain(token)
      }
    })
  })

  describe('an operator ends all sessions of a user', () => {
    test('a sign-in that waits for a factor opens no session on any replica', async () => {
      const [one, two] = [await visit(), await visit()]
      const [asked, askedToo] = [await signIn(one, PRIYA), await signIn(two, PRIYA)]
      expect(asked.json.status).toBe('MFA_REQUIRED')
      await endAllSessions(harness.sandbox.user(PRIYA).id)
      harness.clearUpstreamCalls()
      const refused = await post(one, verifyHref(asked, TOTP), codeFor(asked, PRIYA))
      const cookie = await two.jar.getCookieString(firstUrl())
      const elsewhere = await openBrowser(firstUrl()).post(
        onSecond(verifyHref(askedToo, TOTP)),
        codeFor(askedToo, PRIYA),
        { headers: { cookie } },
      )
      for (const { status, json, setCookies } of [refused, elsewhere]) {
        expect([status, json.errorCode]).toEqual([401, 'E0000011'])
        expect(setCookies).toEqual([])
      }
      expect(harness.upstreamCalls()).toEqual([])
      expect((await one.get(ME)).status).toBe(404)
      // a new sign-in is possible
      expect((await signIn(one, PRIYA)).json.status).toBe('MFA_REQUIRED')
    })
  })
})
