import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, OLGA, PASSWORD, PRIYA, startHarness, WALTER } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { delivery, orgEvent, userTarget } from '../support/org-event.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * Okta's event hooks: what an event ends on all replicas. The replicas share a cluster, whose keys
 * are on several nodes.
 */

const SECRETS = ['plainly-fake-old-secret', 'plainly-fake-new-secret'] as const
const TARGET = 'http://localhost:3000/home'
const ME = '/api/v1/sessions/me'
const TOTP = 'token:software:totp'
const HOUR_MS = 3_600_000

let harness: Harness
let cluster: RedisCluster
let receiver: Gatehouse
/** The replica of the browsers. */
let other: Gatehouse
beforeAll(async () => {
  cluster = await startRedisCluster(3)
  harness = await startHarness({
    env: { EVENT_HOOK_SECRET: SECRETS.join(), SSO_REDIRECTS: TARGET },
    tunables: (shipped) => {
      const long = { freshMs: HOUR_MS, staleMs: HOUR_MS, onErrorMs: HOUR_MS, meOnErrorMs: HOUR_MS }
      return { ...shipped, pam: { ...shipped.pam, lists: { ...shipped.pam.lists, ...long } } }
    },
  })
  receiver = await harness.replica({ REDIS_URL: cluster.url })
  other = await harness.replica({ REDIS_URL: cluster.url })
})
afterAll(async () => {
  await harness.stop()
  await cluster.stop()
})
beforeEach(() => harness.sandbox.reset())

async function deliver(...events: readonly unknown[]): Promise<void> {
  const answer = await fetch(`${receiver.url}/hooks/org-events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: SECRETS[1] },
    body: JSON.stringify(delivery(...events)),
  })
  expect([answer.status, await answer.text()]).toEqual([204, ''])
}

async function visit(): Promise<Browser> {
  const browser = openBrowser(other.url)
  await browser.get(ME)
  return browser
}
const post = (browser: Browser, path: string, body: object) =>
  browser.post(new URL(path, other.url).pathname, body)
const signIn = (browser: Browser, username: string) =>
  post(browser, '/api/v1/authn', { username, password: PASSWORD })

/** A session at the other replica. */
async function session(username: string) {
  const browser = await visit()
  const { json } = await signIn(browser, username)
  const { userId } = (await browser.get(ME)).json
  return { browser, userId: String(userId), ssoToken: String(json.sessionToken) }
}
const isOpen = async (browser: Browser) => (await browser.get(ME)).status === 200
const revoked = () => receiver.logLines().filter(({ event }) => event === 'sessions_revoked')
const cleared = (uuid: string) => until(() => revoked().some(({ eventId }) => eventId === uuid))
const ago = (ms: number) => new Date(Date.now() - ms).toISOString()

describe.each([
  'user.lifecycle.deactivate',
  'user.lifecycle.suspend',
  'user.lifecycle.delete.initiated',
  'user.session.clear',
  'user.account.update_password',
  'user.account.reset_password',
  'user.mfa.factor.reset_all',
  'user.authentication.universal_logout',
])('%s', (eventType) => {
  test('ends the sessions of the user, but of no other, before the delivery is answered', async () => {
    const [amelia, walter] = [await session(AMELIA), await session(WALTER)]
    const event = orgEvent(amelia.userId, { eventType })
    await deliver(event)
    expect(await isOpen(amelia.browser)).toBe(false)
    expect(await isOpen(walter.browser)).toBe(true)
    await cleared(event.uuid)
    expect(revoked().at(-1)).toMatchObject({
      userId: amelia.userId,
      reason: 'by_org',
      count: 1,
      eventId: event.uuid,
      operation: eventType,
    })
  })
})

test('a change that failed, such as a refused new password, ends nothing', async () => {
  const { browser, userId } = await session(AMELIA)
  const outcome = { result: 'FAILURE', reason: 'PASSWORD_POLICY' }
  await deliver(orgEvent(userId, { eventType: 'user.account.update_password', outcome }))
  expect(await isOpen(browser)).toBe(true)
})

test('the SSO token of an ended session does not redirect', async () => {
  const { browser, userId, ssoToken } = await session(AMELIA)
  await deliver(orgEvent(userId))
  const query = new URLSearchParams({ token: ssoToken, redirectUrl: TARGET })
  const refused = await navigate(browser, `${other.url}/login/sessionCookieRedirect?${query}`)
  expect([refused.status, refused.location]).toEqual([401, undefined])
})

test('a transaction under way ends, and the device is not known any more', async () => {
  const knownDevices = async () => {
    const clients = cluster.masters.map((master) => master.client())
    const keys = await Promise.all(clients.map((client) => client.keys('gatehouse:known:{*')))
    for (const client of clients) client.disconnect()
    return keys.flat()
  }
  const codeFor = (asked: PageAnswer) => ({
    stateToken: handleOf(asked),
    passCode: harness.sandbox.totpCode(PRIYA),
  })
  const before = await knownDevices()
  const browser = await visit()
  const first = await signIn(browser, PRIYA)
  await post(browser, verifyHref(first, TOTP), codeFor(first))
  const { userId } = (await browser.get(ME)).json
  const own = (await knownDevices()).filter((key) => !before.includes(key))
  expect(own).not.toEqual([])
  const waiting = await visit()
  const asked = await signIn(waiting, PRIYA)
  expect(asked.json.status).toBe('MFA_REQUIRED')

  const event = orgEvent(String(userId))
  await deliver(event)
  await cleared(event.uuid)
  expect((await knownDevices()).filter((key) => own.includes(key))).toEqual([])
  const refused = await post(waiting, verifyHref(asked, TOTP), codeFor(asked))
  expect([refused.status, refused.json.errorCode]).toEqual([401, 'E0000011'])
})

describe('the order of events', () => {
  test('an event that is older than the session does not end it, even if it is delivered late', async () => {
    const published = ago(60_000)
    const { browser, userId } = await session(AMELIA)
    const event = orgEvent(userId, { published })
    await deliver(event)
    await cleared(event.uuid)
    expect(await isOpen(browser)).toBe(true)
  })

  test('an event from the future ends no session that is opened later', async () => {
    const { userId } = await session(AMELIA)
    await deliver(orgEvent(userId, { published: new Date(Date.now() + HOUR_MS).toISOString() }))
    const { browser } = await session(AMELIA)
    expect(await isOpen(browser)).toBe(true)
  })
})

test('a repeated event takes effect once', async () => {
  const { userId } = await session(AMELIA)
  const event = orgEvent(userId, { published: ago(HOUR_MS / 2) })
  await deliver(event)
  await cleared(event.uuid)
  const { browser } = await session(AMELIA)
  await deliver(event)
  const end = orgEvent(userId, { published: ago(HOUR_MS) })
  await deliver(end)
  await cleared(end.uuid)
  expect(await isOpen(browser)).toBe(true)
  expect(revoked().filter(({ eventId }) => eventId === event.uuid)).toHaveLength(1)
  expect(await receiver.metrics()).toMatch(/gatehouse_org_events_total\{result="repeated"\} [1-9]/)
})

test('the password change of a user here does not end the session that it opens', async () => {
  const browser = await visit()
  const expired = await signIn(browser, OLGA)
  expect(expired.json.status).toBe('PASSWORD_EXPIRED')
  const published = new Date().toISOString() // when Okta changes the password
  await post(browser, hrefAt(expired, '_links.next'), {
    stateToken: handleOf(expired),
    oldPassword: PASSWORD,
    newPassword: 'Plainly-Fake-Password-2',
  })
  const { userId } = (await browser.get(ME)).json
  const event = orgEvent(String(userId), { eventType: 'user.account.update_password', published })
  await deliver(event)
  await cleared(event.uuid)
  expect(await isOpen(browser)).toBe(true)
  expect(revoked().at(-1)).toMatchObject({ count: 0 })
})

test.each(['after', 'during'])(
  'nor the sign-in that goes on with a factor, if its event arrives %s the step',
  async (when) => {
    const waiting = await visit()
    const old = await signIn(waiting, PRIYA)
    const browser = await visit()
    const recoveryToken = harness.sandbox.recoveryToken(PRIYA)
    const reset = await post(browser, '/api/v1/authn/recovery/token', { recoveryToken })
    const stateToken = handleOf(reset)
    const { id } = harness.sandbox.user(PRIYA)
    const release = when === 'during' ? harness.sandbox.faults.authn.hold() : () => {}
    harness.clearUpstreamCalls()
    const changing = post(browser, hrefAt(reset, '_links.next'), {
      stateToken,
      newPassword: 'Plainly-Fake-2',
    })
    await until(() => harness.upstreamCalls().length === 1)
    const event = orgEvent(id, { eventType: 'user.account.update_password' })
    if (when === 'after') await changing
    await deliver(event)
    await cleared(event.uuid)
    release()
    const asked = await changing
    expect(asked.json.status).toBe('MFA_REQUIRED')
    const passCode = harness.sandbox.totpCode(PRIYA)
    const done = await post(browser, verifyHref(asked, TOTP), { stateToken, passCode })
    expect(done.json.status).toBe('SUCCESS')
    expect(await isOpen(browser)).toBe(true)
    const refused = await post(waiting, verifyHref(old, TOTP), { stateToken: handleOf(old), passCode })
    expect([refused.status, refused.json.errorCode]).toEqual([401, 'E0000011'])
  },
)

test.each(['add', 'remove'])(
  'group.user_membership.%s only makes the groups be read again',
  async (change) => {
    const { browser, userId } = await session(AMELIA)
    const fetched = () => harness.sandbox.requestLog.pam.entries.length
    const readGroups = async () => expect((await browser.get('/api/v1/pam/me')).status).toBe(200)
    await readGroups()
    await readGroups()
    const before = fetched()
    const group = { id: '00gPlainlyFake', type: 'UserGroup', alternateId: 'unknown' }
    const target = [userTarget(userId, AMELIA), group]
    await deliver(orgEvent(userId, { eventType: `group.user_membership.${change}`, target }))
    await until(
      async () => {
        await readGroups()
        return fetched() > before
      },
      { what: 'the second fetch of the groups', everyMs: 250 },
    )
    expect(await isOpen(browser)).toBe(true)
  },
)
