import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { type RedisTap, tapRedis } from '../support/redis-tap.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * The exact number of Redis commands, as Redis counts them, and of round trips for each kind of request. Operations of
 * one turn are one command (`store/redis-batch.ts`); in a cluster they would be several. A change that needs one
 * command less updates the number here; a change that needs one more must justify it.
 */
let aheadMs = 0
let harness: Harness
let tap: RedisTap
let origin: string
beforeAll(async () => {
  harness = await startHarness({
    now: () => Date.now() + aheadMs,
    // the rate limit that other replicas have seen is read once, and not again during the counts
    tunables: (tunables) => ({
      ...tunables,
      authn: { ...tunables.authn, rateLimit: { ...tunables.authn.rateLimit, refreshEveryMs: 3_600_000 } },
    }),
  })
  tap = await tapRedis(harness.redis)
  origin = (await harness.replica({ REDIS_URL: tap.url, STEP_UP: 'on' })).url
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

async function openSession(): Promise<Browser> {
  const browser = await visit()
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
async function countCommands(work: () => Promise<PageAnswer>) {
  let status = 0
  const counted = await tap.count(async () => {
    status = (await work()).status
  })
  expect(status).toBe(200)
  return counted
}

describe('one command', () => {
  test.each(['/api/v1/sessions/me', '/forward-auth'])('for GET %s: the session', async (path) => {
    const browser = await openSession()
    expect(await countCommands(() => browser.get(path))).toEqual({ commands: ['get'], roundTrips: 1 })
  })

  test('for a page of groups: the session (once a second also whether the list is still current)', async () => {
    const browser = await openSession()
    const ask = () => countCommands(() => browser.get('/api/v1/pam/groups'))
    await until(async () => (await ask()).commands.length === 1, {
      what: 'a list that was confirmed within the last second',
    })
  })

  test('none without a session cookie', async () => {
    const browser = openBrowser(origin)
    for (const path of ['/api/v1/sessions/me', '/forward-auth']) {
      expect(await tap.count(() => browser.get(path))).toEqual({ commands: [], roundTrips: 0 })
    }
  })
})

// Goal: in addition to the limits, one round trip for a password and for a poll, two for a code that opens a session.
// The poll takes one more; the user's list of devices, another one.

test('a password that leads to a second factor', async () => {
  const browser = await visit()
  expect(await countCommands(() => signIn(browser, TOMAS))).toEqual({
    commands: [
      'get', // the device token
      'evalsha', // acquires the lock of identical requests; reserves the attempt: the user's limits, the address's
      // refunds it, as it was not refused; writes the transaction and its index entry; commits
      'evalsha',
    ],
    roundTrips: 2, // the lock with the limits and the device token; the commit
  })
})

test('a code that opens a session', async () => {
  const browser = await visit()
  const answer = await signIn(browser, TOMAS)
  expect(await countCommands(() => verify(browser, answer))).toEqual({
    commands: [
      'evalsha', // acquires the step lock, and reads the transaction
      'evalsha', // reserves the attempt
      // refunds it; writes the session and its index entry, the known device by user id and by login; resets
      // consecutive failures; makes the session that of the device; commits the step
      'evalsha',
      'hgetall', // the user's devices, of which this one keeps its first sign-in and its choices
      'evalsha', // writes the device
      'evalsha', // removes the deleted transaction from its index, after the response
    ],
    roundTrips: 5, // the lock, which names the user; the limits; the commit; the device; the index, after the response
  })
})

test('a poll of a push that is due', async () => {
  const poll = await startPush(await visit())
  harness.clearUpstreamCalls()
  expect(await countCommands(poll)).toEqual({
    commands: [
      'evalsha', // acquires the step lock, and reads the transaction: the poll is due
      'evalsha', // commits the step, with the time of the next poll
    ],
    roundTrips: 2,
  })
  expect(harness.upstreamCalls()).toHaveLength(1) // the poll was sent
})

test('an imported step-up', async () => {
  const browser = openBrowser(origin)
  const arrive = (token: string) => navigate(browser, `${origin}/signin/step-up?stateToken=${token}`)
  await arrive('a'.repeat(40))
  await arrive('a'.repeat(40))
  expect(await tap.count(() => arrive('b'.repeat(40)))).toEqual({
    commands: [
      'evalsha', // the address's limit
      'evalsha', // writes the transaction, and makes it the only one of its token
    ],
    roundTrips: 2,
  })
  const again = await tap.count(() => arrive('b'.repeat(40)))
  expect(again.commands).toHaveLength(3) // also ends the earlier transaction of the token
})
