import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { openChromiumIn } from '../support/chromium.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { startTrustedSite, type TrustedSite } from '../support/trusted-site.ts'
import { until } from '../support/until.ts'

/**
 * Device-bound sessions in a real browser: Chromium, whose keys are in software for tests, behind
 * nginx with TLS, with two replicas on one Redis. The end of a bound cookie is its deletion: with a
 * short life, Chromium would reach its own limit on renewals.
 */

const [PORTAL, OTHER_SITE] = ['portal.example.test', 'news.example']
const FEATURES = 'DeviceBoundSessions,EnableBoundSessionCredentialsSoftwareKeysForManualTesting'
const BOUND_COOKIE = '__Host-gatehouse-bound'
const ME = '/api/v1/sessions/me'
const OPS_TOKEN = 'plainly-fake-token-of-an-operator'

let site: TrustedSite
let harness: Harness
let replicas: Gatehouse[]
let chromium: Browser
let origin: string

beforeAll(async () => {
  site = await startTrustedSite(PORTAL, OTHER_SITE)
  origin = `https://${PORTAL}:${site.port}`
  const env = {
    PUBLIC_URL: origin,
    DEVICE_BOUND_SESSIONS: 'on',
    TRUST_PROXY: '127.0.0.1',
    OPS_TOKENS: `operator:${OPS_TOKEN}`,
  }
  harness = await startHarness({
    env,
    tunables: (tunables) => ({ ...tunables, store: { connectTimeoutMs: 3000, commandTimeoutMs: 3000 } }),
  })
  replicas = [harness.gatehouse, await harness.replica(env)]
  await site.serve(...replicas.map(({ url }) => Number(new URL(url).port)))
  const resolve = [PORTAL, OTHER_SITE].map((host) => `MAP ${host} 127.0.0.1`).join()
  chromium = await openChromiumIn(
    site.home,
    `--host-resolver-rules=${resolve}`,
    `--enable-features=${FEATURES}`,
  )
})
afterAll(async () => {
  await chromium?.close()
  await site?.stop()
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

/** The audit events of both replicas so far. */
const audited = (event: string) =>
  replicas.flatMap((replica) => replica.logLines().filter((line) => line.event === event))

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

test('when a replica has ended, the other one renews', async () => {
  await signIn()
  const [survivor] = replicas
  await site.serve(Number(new URL(survivor?.url ?? '').port), 9) // nothing listens there
  await endBoundCookie()
  expect(await statusOf(ME)).toBe(200)
  expect(await statusOf(ME)).toBe(200)
})
