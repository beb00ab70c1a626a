import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { type RedisTap, tapRedis } from '../support/redis-tap.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * What each kind of request asks of Redis, as exact figures: commands by Redis's own word, and round trips, which are what
 * a person waits for. What is asked for at once is one command (`store/redis-batch.ts`); in a cluster it would be several. Whoever makes one fewer changes the figure here; whoever makes one more has a reason to give.
 */
let aheadMs = 0
let harness: Harness
let tap: RedisTap
let origin: string
beforeAll(async () => {
  harness = await startHarness({
    now: () => Date.now() + aheadMs,
    // what other replicas know of the org's limit is looked at once, and not again while we count
    tunables: (tunables) => ({
      ...tunables,
      authn: { rateLimit: { ...tunables.authn.rateLimit, lookEveryMs: 3_600_000 } },
    }),
  })
  tap = await tapRedis(harness.redis)
  origin = (await harness.replica({ REDIS_URL: tap.url, STEP_UP: 'on' })).url
  // the scripts are there from now on, the lists are in memory
  const browser = await signedIn()
  await browser.get('/api/v1/pam/groups')
  await pushed(await visit())
})
afterAll(async () => {
  tap.stop()
  await harness.stop()
})
beforeEach(() => harness.sandbox.reset())

/** A browser of its own at the broker that is listened to. */
async function visit(): Promise<Browser> {
  const browser = openBrowser(origin)
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

async function signedIn(): Promise<Browser> {
  const browser = await visit()
  await verify(browser, await signIn(browser, TOMAS))
  return browser
}

/** Somebody who waits for the phone; what comes back is the next poll, which is due. */
async function pushed(browser: Browser): Promise<() => Promise<PageAnswer>> {
  const asked = await signIn(browser, PRIYA)
  const path = pathOf(verifyHref(asked, 'push'))
  const poll = () => browser.post(path, { stateToken: handleOf(asked) })
  expect((await poll()).json.factorResult).toBe('WAITING')
  aheadMs += 60_000 // the time between two polls is over
  return poll
}

/** The work must have gone well: what was refused says nothing of what it costs. */
async function asked(work: () => Promise<PageAnswer>) {
  let status = 0
  const counted = await tap.count(async () => {
    status = (await work()).status
  })
  expect(status).toBe(200)
  return counted
}

describe('one command', () => {
  test.each(['/api/v1/sessions/me', '/forward-auth'])('for GET %s: the session', async (path) => {
    const browser = await signedIn()
    expect(await asked(() => browser.get(path))).toEqual({ commands: ['get'], roundTrips: 1 })
  })

  test('for a page of groups: the session; whether the list still holds is asked about once a second', async () => {
    const browser = await signedIn()
    const ask = () => asked(() => browser.get('/api/v1/pam/groups'))
    await until(async () => (await ask()).commands.length === 1, { what: 'a list that was just confirmed' })
  })

  test('and none at all for who brings no session', async () => {
    const browser = openBrowser(origin)
    for (const path of ['/api/v1/sessions/me', '/forward-auth']) {
      expect(await tap.count(() => browser.get(path))).toEqual({ commands: [], roundTrips: 0 })
    }
  })
})

// The goal: beyond what the limits need, one round trip for a password and for a poll, two for a code that opens a session.
// The poll takes one more.

test('a password that leads to a second factor', async () => {
  const browser = await visit()
  expect(await asked(() => signIn(browser, TOMAS))).toEqual({
    commands: [
      'evalsha', // acquires the lock of identical requests; reserves the attempt: the user's limits, the address's
      // refunds it, as it was not refused; writes the transaction, and that it ends with all sessions of the user; commits
      'evalsha',
    ],
    roundTrips: 2, // the lock, with the limits; all the rest
  })
})

test('a code that opens a session', async () => {
  const browser = await visit()
  const answer = await signIn(browser, TOMAS)
  expect(await asked(() => verify(browser, answer))).toEqual({
    commands: [
      'evalsha', // acquires the step lock, and reads the transaction
      'evalsha', // reserves the attempt
      // refunds it; the index of the user's sessions, the session; the browser is known now, for the user by id and by name,
      // and is forgotten with all sessions of the user; failures in a row begin anew; makes the session that of the device;
      // commits the step
      'evalsha',
      'evalsha', // the transaction is deleted, so it leaves the index of the user's open ones; nobody waits for this
    ],
    roundTrips: 4, // the lock, which says who the user is; the limits; all the rest; the index, which nobody waits for
  })
})

test('a poll of a push that is due', async () => {
  const poll = await pushed(await visit())
  harness.forget()
  expect(await asked(poll)).toEqual({
    commands: [
      'evalsha', // acquires the step lock, and reads the transaction, which says that the poll is due
      'evalsha', // commits the step, and says when the next poll is due
    ],
    roundTrips: 2,
  })
  expect(harness.upstreamCalls()).toHaveLength(1) // it really asked
})

test('a step-up that comes in', async () => {
  const browser = openBrowser(origin)
  const arrive = (token: string) => navigate(browser, `${origin}/signin/step-up?stateToken=${token}`)
  await arrive('a'.repeat(40))
  await arrive('a'.repeat(40))
  expect(await tap.count(() => arrive('b'.repeat(40)))).toEqual({
    commands: [
      'evalsha', // the address's limit
      'evalsha', // writes the transaction, and makes it the one of its token
    ],
    roundTrips: 2,
  })
  const again = await tap.count(() => arrive('b'.repeat(40)))
  expect(again.commands).toHaveLength(3) // ends the transaction that the token had
})
