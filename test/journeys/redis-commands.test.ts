import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Answer } from '../support/ask-port.ts'
import { openBoundVisitor } from '../support/bound-visitor.ts'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { type RedisTap, tapRedis } from '../support/redis-tap.ts'
import { openSiteBrowser } from '../support/site-browser.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * How many Redis commands and round trips each kind of request costs. Commands that are sent in
 * one turn of the event loop are one round trip (they go to the socket in one write). In a cluster
 * there are as many. A change that needs fewer lowers the numbers here; one that needs more must
 * justify it.
 */
let aheadMs = 0
let harness: Harness
let tap: RedisTap
let origin: string
/** With event hooks and the re-check. */
let hooked: string
beforeAll(async () => {
  harness = await startHarness({ now: () => Date.now() + aheadMs })
  tap = await tapRedis(harness.redis)
  origin = (await harness.replica({ REDIS_URL: tap.url, STEP_UP: 'on' })).url
  const hooks = { EVENT_HOOK_SECRET: 'plainly-fake-hook-secret', SESSION_RECHECK_MINUTES: '10' }
  hooked = (await harness.replica({ REDIS_URL: tap.url, ...hooks })).url
  // loads the scripts, and the lists into memory
  const browser = await openSession()
  await browser.get('/api/v1/pam/groups')
  await startPush(await visit())
})
afterAll(async () => {
  tap.stop()
  await harness.stop()
})
beforeEach(() => harness.sandbox.reset())

/** A new browser at the broker whose commands are counted. */
async function visit(at = origin): Promise<Browser> {
  const browser = openBrowser(at)
  await browser.get('/api/v1/sessions/me')
  return browser
}

const pathOf = (href: string) => new URL(href).pathname
const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })

async function verify(browser: Browser, asked: PageAnswer): Promise<PageAnswer> {
  const passCode = harness.sandbox.totpCode(TOMAS)
  const path = pathOf(verifyHref(asked, 'token:software:totp'))
  return browser.post(path, { stateToken: handleOf(asked), passCode })
}

async function openSession(at = origin): Promise<Browser> {
  const browser = await visit(at)
  await verify(browser, await signIn(browser, TOMAS))
  return browser
}

/** A sign-in that waits for a push; returns its next poll, which is due. */
async function startPush(browser: Browser): Promise<() => Promise<PageAnswer>> {
  const mfaRequired = await signIn(browser, PRIYA)
  const path = pathOf(verifyHref(mfaRequired, 'push'))
  const poll = () => browser.post(path, { stateToken: handleOf(mfaRequired) })
  expect((await poll()).json.factorResult).toBe('WAITING')
  aheadMs += 60_000 // the next poll is due
  return poll
}

/** Counts the commands of a request, which must succeed. */
async function countCommands(work: () => Promise<Pick<Answer, 'status'>>) {
  let status = 0
  const counted = await tap.count(async () => {
    status = (await work()).status
  })
  expect(status).toBe(200)
  return counted
}

/** Compared with toMatchObject, whose message names the commands that were sent. */
const cost = (length: number, roundTrips: number) => ({ commands: { length }, roundTrips })

describe('one command', () => {
  test.each(['/api/v1/sessions/me', '/forward-auth'])('for GET %s: the session', async (path) => {
    const browser = await openSession()
    expect(await countCommands(() => browser.get(path))).toMatchObject(cost(1, 1))
  })

  test('for a page of groups: the session (once a second also whether the list is still current)', async () => {
    const browser = await openSession()
    const ask = () => countCommands(() => browser.get('/api/v1/pam/groups'))
    await until(async () => (await ask()).commands.length === 1, {
      what: 'a list that was confirmed within the last second',
    })
  })

  test.each(['/api/v1/sessions/me', '/forward-auth'])(
    'and with event hooks, for GET %s, the time from which on sessions are void: still one round trip',
    async (path) => {
      const browser = await openSession(hooked)
      expect(await countCommands(() => browser.get(path))).toMatchObject(cost(2, 1))
    },
  )

  test('none without a session cookie', async () => {
    const browser = openBrowser(origin)
    for (const path of ['/api/v1/sessions/me', '/forward-auth']) {
      expect(await tap.count(() => browser.get(path))).toMatchObject(cost(0, 0))
    }
  })
})

test('a session that is extended, once a minute: with the re-check, one command more, in the same round trip', async () => {
  for (const [at, commands] of [
    [origin, 2],
    [hooked, 4],
  ] as const) {
    const browser = await openSession(at)
    aheadMs += 10 * 60_000 + 1
    harness.clearUpstreamCalls()
    expect(await countCommands(() => browser.get('/forward-auth'))).toMatchObject(cost(commands, 2))
    await until(() => at === origin || harness.upstreamCalls().length === 1)
    expect(await countCommands(() => browser.get('/forward-auth'))).toMatchObject({ roundTrips: 1 })
  }
})

test('a bound session: one command for a page view, as before; two for the registration and a renewal', async () => {
  const portal = 'https://portal.example.test'
  const env = { REDIS_URL: tap.url, PUBLIC_URL: portal, DEVICE_BOUND_SESSIONS: 'on' }
  const { url } = await harness.replica(env)
  const visitor = openBoundVisitor(portal)
  const challenge = await visitor.signIn(url, { username: AMELIA, password: PASSWORD })
  const register = () => visitor.register(url, challenge)
  expect(await countCommands(register)).toMatchObject(cost(2, 2))
  const registration = await register() // is answered again
  const view = () => visitor.ask(url, 'GET', '/forward-auth')
  await view() // notes in the background that the browser has the bound cookie
  await until(async () => (await tap.count(view)).commands.length === 1, { what: 'the note' })
  for (const path of ['/api/v1/sessions/me', '/forward-auth'])
    expect(await countCommands(() => visitor.ask(url, 'GET', path))).toMatchObject(cost(1, 1))
  expect(await countCommands(() => visitor.renew(url, registration))).toMatchObject(cost(2, 2))
})

// Goal: at most three round trips for a step (docs/performance.md).

test('a password that leads to a second factor', async () => {
  const browser = await visit()
  expect(await countCommands(() => signIn(browser, TOMAS))).toMatchObject(cost(7, 2))
})

test('a code that opens a session', async () => {
  const browser = await visit()
  const answer = await signIn(browser, TOMAS)
  expect(await countCommands(() => verify(browser, answer))).toMatchObject(cost(13, 3))
})

test('a poll of a push that is due', async () => {
  const poll = await startPush(await visit())
  harness.clearUpstreamCalls()
  expect(await countCommands(poll)).toMatchObject(cost(4, 2))
  expect(harness.upstreamCalls()).toHaveLength(1) // the poll was sent
})

describe('an SSO token', () => {
  const TARGET = 'https://app.example.com/'
  const redeemed = cost(3, 3)

  /** A broker at which a token has been redeemed, which loads the script. */
  async function start(env: Record<string, string>) {
    const at = (await harness.replica({ REDIS_URL: tap.url, SSO_REDIRECTS: TARGET, ...env })).url
    const { browser, path } = await issue(at)
    const returnPath = await follow(browser, path)
    if (returnPath !== undefined) await follow(browser, returnPath)
    return at
  }
  async function issue(at: string) {
    const browser = await visit(at)
    const { sessionToken } = (await signIn(browser, AMELIA)).json
    const query = new URLSearchParams({ token: String(sessionToken), redirectUrl: TARGET })
    return { browser, path: `/login/sessionCookieRedirect?${query}` }
  }
  /** @returns the path of the return from Okta's sign-out, if the browser is sent there */
  async function follow(browser: Browser, path: string): Promise<string | undefined> {
    const { location = '' } = await navigate(browser, browser.origin + path)
    const returnUrl = new URL(location).searchParams.get('fromURI')
    return returnUrl === null ? undefined : returnUrl.replace(new URL(returnUrl).origin, '')
  }

  test('is redeemed', async () => {
    const { browser, path } = await issue(await start({}))
    expect(await tap.count(() => follow(browser, path))).toMatchObject(redeemed)
  })

  test('with OKTA_SIGN_OUT, costs two commands more, in a request of its own', async () => {
    const { browser, path } = await issue(await start({ OKTA_SIGN_OUT: 'on' }))
    let returnPath: string | undefined
    const first = await tap.count(async () => {
      returnPath = await follow(browser, path)
    })
    expect(first).toMatchObject(cost(2, 2))
    expect(await tap.count(() => follow(browser, String(returnPath)))).toMatchObject(redeemed)
  })
})

test('a hand-over to another host: the session and a code, then the code and its session; its cookie, the session', async () => {
  const [portal, wiki] = ['https://portal.example.com', 'https://wiki.example.com']
  const env = { PUBLIC_URL: portal, RETURN_TO: `${wiki}/`, TRUST_PROXY: '127.0.0.1', REDIS_URL: tap.url }
  const replica = await harness.replica(env)
  const browser = openSiteBrowser([replica])
  await browser.fetch(`${portal}/api/v1/sessions/me`)
  const body = { username: AMELIA, password: PASSWORD }
  await browser.fetch(`${portal}/api/v1/authn`, { method: 'POST', body })
  let location = `${wiki}/forward-auth/start?returnTo=/`
  const follow = () =>
    tap.count(async () => {
      location = String((await browser.open(location)).headers.location)
    })
  const counted = [await follow(), await follow(), await follow()]
  expect(location).toBe(`${wiki}/`)
  expect(counted).toMatchObject([cost(0, 0), cost(2, 2), cost(3, 3)])
  expect(await tap.count(() => browser.ask(`${wiki}/forward-auth`))).toMatchObject(cost(1, 1))
})

test('an imported step-up', async () => {
  const browser = openBrowser(origin)
  const arrive = (token: string) => navigate(browser, `${origin}/signin/step-up?stateToken=${token}`)
  await arrive('a'.repeat(40))
  await arrive('a'.repeat(40))
  expect(await tap.count(() => arrive('b'.repeat(40)))).toMatchObject(cost(3, 2))
  const again = await tap.count(() => arrive('b'.repeat(40)))
  expect(again.commands).toHaveLength(4) // also ends the earlier transaction of the token
})
