import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { generateKey } from '../../src/config/secret-values.ts'
import { type BrokerDirectory, makeBrokerDirectory } from '../support/broker-process.ts'
import { openChromiumIn } from '../support/chromium.ts'
import { type Gatehouse, TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { delivery, orgEvent } from '../support/org-event.ts'
import { startTrustedSite, type TrustedSite } from '../support/trusted-site.ts'
import { until } from '../support/until.ts'

/**
 * Device-bound sessions in a real browser: Chromium, whose keys are in software for tests, behind
 * nginx with TLS, with two replicas on one Redis. The end of a bound cookie is its deletion: with a
 * short life, Chromium would reach its own limit on renewals.
 */

const [PORTAL, SPA, OTHER_SITE] = ['portal.example.test', 'spa.example.test', 'news.example']
/** An application on another host of the portal's site. */
const WIKI = 'wiki.example.test'
const HOSTS = [PORTAL, SPA, OTHER_SITE, WIKI]
/** The page of this origin is on a host of ALLOWED_ORIGINS, but is none of them. */
const OTHER_PORT = 9443
const FEATURES = 'DeviceBoundSessions,EnableBoundSessionCredentialsSoftwareKeysForManualTesting'
const BOUND_COOKIE = '__Host-gatehouse-bound'
const ME = '/api/v1/sessions/me'
const OPS_TOKEN = 'plainly-fake-token-of-an-operator'
const HOOK_SECRET = 'plainly-fake-secret-of-the-event-hook'

let site: TrustedSite
let harness: Harness
let replicas: Gatehouse[]
let chromium: Browser
let origin: string
let env: Record<string, string>
let directory: BrokerDirectory

beforeAll(async () => {
  site = await startTrustedSite(...HOSTS)
  origin = `https://${PORTAL}:${site.port}`
  env = {
    PUBLIC_URL: origin,
    ALLOWED_ORIGINS: `https://${SPA}:${site.port}`,
    RETURN_TO: `https://${WIKI}:${site.port}/`,
    DEVICE_BOUND_SESSIONS: 'on',
    TRUST_PROXY: '127.0.0.1',
    OPS_TOKENS: `operator:${OPS_TOKEN}`,
    EVENT_HOOK_SECRET: HOOK_SECRET,
  }
  harness = await startHarness({
    env,
    tunables: (tunables) => ({ ...tunables, store: { connectTimeoutMs: 3000, commandTimeoutMs: 3000 } }),
  })
  replicas = [harness.gatehouse, await harness.replica(env)]
  directory = await makeBrokerDirectory()
  await site.serve(portsOf(replicas))
  const otherPort = `MAP ${SPA}:${OTHER_PORT} 127.0.0.1:${site.port}`
  const resolve = [otherPort, ...HOSTS.map((host) => `MAP ${host} 127.0.0.1`)].join()
  chromium = await openChromiumIn(
    site.home,
    `--host-resolver-rules=${resolve}`,
    `--enable-features=${FEATURES}`,
  )
})
afterAll(async () => {
  await chromium?.close()
  await site?.stop()
  await directory?.remove()
  await harness?.stop()
})

let context: BrowserContext
let page: Page
beforeEach(async () => {
  context = await chromium.newContext()
  page = await context.newPage()
})
afterEach(() => context.close())

/** Asks as a script of the page. */
const asked = (path: string, method = 'GET', of = page) =>
  of.evaluate(
    async ([to, how]) => {
      const answer = await fetch(to, { method: how })
      return { status: answer.status, body: Object(await answer.json().catch(() => undefined)) }
    },
    [path, method] as const,
  )
const statusOf = async (path: string, of = page) => (await asked(path, 'GET', of)).status

async function signIn(): Promise<void> {
  if (page.url() === 'about:blank') await page.goto(origin)
  await asked(ME)
  const status = await page.evaluate(
    async (body) => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch('/api/v1/authn', { method: 'POST', headers, body: JSON.stringify(body) })
      return Object(await answer.json()).status
    },
    { username: AMELIA, password: PASSWORD },
  )
  expect(status).toBe('SUCCESS')
  await until(hasBoundCookie, { what: 'the bound cookie' })
}

const hasBoundCookie = async () => (await context.cookies()).some(({ name }) => name === BOUND_COOKIE)
const endBoundCookie = (of = context) => of.clearCookies({ name: BOUND_COOKIE })

const portsOf = (brokers: readonly { readonly url: string; readonly port?: string }[]) =>
  brokers.map(({ url, port = new URL(url).port }) => Number(port))
const metricsOf = async ({ opsUrl }: { readonly opsUrl: string }) => (await fetch(`${opsUrl}/metrics`)).text()

const linesOf = (replica: Gatehouse, event: string) =>
  replica.logLines().filter((line) => line.event === event)
/** The audit events of both replicas so far. */
const audited = (event: string) => replicas.flatMap((replica) => linesOf(replica, event))
/** The requests of this route that both replicas have answered. */
const requestsTo = (route: string) => audited('request').filter((line) => line.route === route)

test('a session is bound, and goes on over the end of its cookie without the page noticing', async () => {
  await signIn()
  expect((await asked(ME)).body).toMatchObject({ deviceBound: true })
  const names = (await context.cookies()).map(({ name }) => name).sort()
  expect(names).toEqual(['__Host-Http-gatehouse', '__Host-Http-gatehouse-device', BOUND_COOKIE])
  const refused = audited('bound_session_refused').length
  await endBoundCookie()
  expect(await statusOf(ME)).toBe(200)
  expect(await hasBoundCookie()).toBe(true)
  // a second tab, and both at once
  const tab = await context.newPage()
  await tab.goto(origin)
  await endBoundCookie()
  expect(await Promise.all([statusOf(ME), statusOf('/api/v1/sessions', tab), statusOf(ME, tab)])).toEqual([
    200, 200, 200,
  ])
  expect(audited('bound_session_refused')).toHaveLength(refused)
})

test('all cookies in another browser: refused from the end of the bound cookie on, counted and audited', async () => {
  await signIn()
  // with the bound cookie: from now on, no request is served without it
  expect(await statusOf(ME)).toBe(200)
  const refused = audited('bound_session_refused').length
  const thief = await chromium.newContext()
  await thief.addCookies(await context.cookies())
  const stolen = await thief.newPage()
  await stolen.goto(origin)
  await endBoundCookie(thief) // the copy is of use for at most ten minutes
  expect(await statusOf(ME, stolen)).toBe(404)
  expect(await statusOf('/forward-auth', stolen)).toBe(401)
  await thief.close()
  expect(audited('bound_session_refused').slice(refused)).toContainEqual(
    expect.objectContaining({ reason: 'cookie_missing' }),
  )
  const counted = await Promise.all(replicas.map((replica) => replica.metrics()))
  expect(counted.join()).toMatch(/gatehouse_bound_session_refusals_total\{reason="cookie_missing"\} [1-9]/)
  expect(await statusOf(ME)).toBe(200)
})

test('a new sign-in in the same browser is bound to a key of its own; the page sees no refusal', async () => {
  await signIn()
  const refused = audited('bound_session_refused').length
  const before = (await context.cookies()).find(({ name }) => name === BOUND_COOKIE)?.value
  await signIn()
  const isNew = async () =>
    (await context.cookies()).some(({ name, value }) => name === BOUND_COOKIE && value !== before)
  await until(isNew, { what: 'a new bound cookie' })
  expect((await asked(ME)).body).toMatchObject({ deviceBound: true })
  await endBoundCookie()
  expect(await statusOf(ME)).toBe(200)
  expect(audited('bound_session_refused')).toHaveLength(refused)
})

test('pages of ALLOWED_ORIGINS go on over the end of the cookie too', async () => {
  await signIn()
  const spa = await context.newPage()
  await spa.goto(`https://${SPA}:${site.port}/`)
  const statuses = () =>
    spa.evaluate(async (url) => {
      const ask = () => fetch(url, { credentials: 'include' })
      return (await Promise.all([ask(), ask()])).map(({ status }) => status)
    }, origin + ME)
  expect(await statuses()).toEqual([200, 200])
  await endBoundCookie()
  expect(await statuses()).toEqual([200, 200])
})

test('pages on another port of such a host can cause a renewal; they learn nothing and end nothing', async () => {
  await signIn()
  const other = await context.newPage()
  await other.goto(`https://${SPA}:${OTHER_PORT}/`)
  for (const mode of ['cors', 'no-cors'] as const) {
    await endBoundCookie()
    const seen = await other.evaluate(
      async ([url, how]) => {
        const asking = fetch(url, { credentials: 'include', mode: how })
        return asking.then(({ type }) => type, String)
      },
      [origin + ME, mode] as const,
    )
    expect(seen).toMatch(/Failed to fetch|opaque/)
    expect(await hasBoundCookie()).toBe(true)
    expect(await statusOf(ME)).toBe(200)
  }
})

test('a typed address and a reload wait for the renewal too', async () => {
  await signIn()
  for (const open of [() => page.goto(origin + ME), () => page.reload()]) {
    await endBoundCookie()
    expect((await open())?.status()).toBe(200)
  }
})

test('an application on another host gets a cookie that shows the key', async () => {
  const wiki = `https://${WIKI}:${site.port}`
  const handOver = () => page.goto(`${wiki}/forward-auth/start?returnTo=${encodeURIComponent(`${wiki}/`)}`)
  const boundRequired = () => statusOf('/forward-auth?bound=required')
  await signIn()
  await handOver()
  expect(page.url()).toBe(`${wiki}/`)
  expect(await boundRequired()).toBe(200)
  await endBoundCookie() // the application's cookie goes on without it
  expect(await boundRequired()).toBe(200)
})

test('a link on another site arrives without the cookie; the next request of the page has it', async () => {
  await signIn()
  await page.goto(`https://${OTHER_SITE}:${site.port}/`)
  await endBoundCookie()
  await page.click('a')
  await page.waitForURL(`${origin}/`)
  expect(await statusOf(ME)).toBe(200)
})

describe('the session ends', () => {
  test('at a sign-out, and the browser forgets its key', async () => {
    await signIn()
    expect((await asked(ME, 'DELETE')).status).toBe(204)
    expect(await hasBoundCookie()).toBe(false)
    expect(await statusOf(ME)).toBe(404)
    expect(await statusOf(ME)).toBe(404)
    await signIn()
    expect((await asked(ME)).body).toMatchObject({ deviceBound: true })
  })

  test('when an event of the org ends the user', async () => {
    await signIn()
    const { userId } = (await asked(ME)).body
    const { status } = await fetch(`${harness.gatehouse.url}/hooks/org-events`, {
      method: 'POST',
      headers: {
        authorization: HOOK_SECRET,
        'content-type': 'application/json',
        'x-forwarded-for': '192.0.2.1',
      },
      body: JSON.stringify(delivery(orgEvent(userId))),
    })
    expect(status).toBe(204)
    expect(await statusOf(ME)).toBe(404)
    await endBoundCookie()
    expect(await statusOf(ME)).toBe(404)
    expect(await hasBoundCookie()).toBe(false)
  })

  test('when an operator ends it', async () => {
    await signIn()
    const { userId } = (await asked(ME)).body
    await fetch(`${harness.gatehouse.opsUrl}/admin/users/${userId}/sessions`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${OPS_TOKEN}` },
    })
    await endBoundCookie()
    expect(await statusOf(ME)).toBe(404)
  })
})

test('while Redis is away, a renewal is 503, the user is not signed out, and goes on afterwards', async () => {
  await signIn()
  await endBoundCookie()
  harness.redis.pause()
  try {
    expect(await statusOf(ME)).toBe(503)
  } finally {
    harness.redis.resume()
  }
  await until(async () => (await statusOf(ME)) === 200, { what: 'the session after the outage' })
})

describe('replicas come and go:', () => {
  afterEach(() => site.serve(portsOf(replicas)))

  test('one has ended, and the other one renews', async () => {
    await signIn()
    await site.serve([...portsOf(replicas.slice(1)), 9]) // nothing listens there
    await endBoundCookie()
    expect(await statusOf(ME)).toBe(200)
    expect(await statusOf(ME)).toBe(200)
  })

  test('one is killed during a renewal, which the other one completes', async () => {
    const killed = await directory.start({ ...harness.signInEnv, ...env })
    const renewals = () => requestsTo('/bound-session/refresh').length
    await site.serve(portsOf([killed]), portsOf(replicas))
    await signIn()
    expect(await statusOf(ME)).toBe(200)
    const [requests, before] = [requestsTo(ME).length, renewals()]
    await endBoundCookie()
    harness.redis.pause()
    const asking = statusOf(ME)
    try {
      await until(async () => /requests_in_flight [1-9]/.test(await metricsOf(killed)), {
        what: 'the renewal to wait for Redis',
      })
      killed.child.kill('SIGKILL')
      await killed.exited
    } finally {
      harness.redis.resume()
    }
    expect(await asking).toBe(200)
    expect([requestsTo(ME).length, renewals()]).toEqual([requests + 1, before + 1])
  })

  test('SECRET_KEYS are rotated, a replica at a time, and the page goes on', async () => {
    const newer = generateKey()
    const withKeys = (...keys: string[]) => harness.replica({ ...env, SECRET_KEYS: keys.join() })
    const old = harness.gatehouse
    const [both, renewed] = [await withKeys(TEST_KEY, newer), await withKeys(newer, TEST_KEY)]
    const refusals = () =>
      [old, both, renewed].flatMap((replica) => linesOf(replica, 'bound_session_refused')).length
    const refused = refusals()
    await signIn()
    for (const serving of [[old, both], [both], [both, renewed], [renewed]]) {
      await site.serve(portsOf(serving))
      for (let count = 0; count < 4; count += 1) expect(await statusOf(ME)).toBe(200)
      await endBoundCookie()
      for (let count = 0; count < 4; count += 1) expect(await statusOf(ME)).toBe(200)
    }
    expect((await asked(ME)).body).toMatchObject({ deviceBound: true })
    expect(refusals()).toBe(refused)
  })
})
