import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, OLGA, PASSWORD, startHarness, TOMAS, WALTER } from '../support/harness.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * What a step leaves is written side by side, so a part of Redis that is away may take one half of it: in a cluster, where each
 * write goes by itself. Here one kind of key after the other is refused to the broker (ACL) while the upstream is being asked. Whatever
 * is lost: never half a sign-in.
 */
let harness: Harness
let cluster: RedisCluster
let broker: Gatehouse
let redis: Redis
beforeAll(async () => {
  harness = await startHarness()
  cluster = await startRedisCluster(1)
  for (const onlyOne of cluster.masters) redis = onlyOne.client()
  await redis.call('ACL', 'SETUSER', 'broker', 'reset', 'on', '>plainly-fake', '+@all', '~*', '&*')
  broker = await harness.replica({ REDIS_URL: cluster.url.replace('//', '//broker:plainly-fake@') })
})
afterAll(async () => {
  await harness.stop()
  await cluster.stop()
})
beforeEach(async () => {
  harness.sandbox.reset()
  await allow('~*')
  await redis.flushall()
})

const allow = (...patterns: string[]) => redis.call('ACL', 'SETUSER', 'broker', 'resetkeys', ...patterns)
/** Every kind of key but those. */
const allowAllBut = (...kinds: string[]) =>
  allow(
    ...['txn', 'lock', 'limit', 'known', 'sess', 'user-sess', 'sso', 'offer']
      .filter((kind) => !kinds.includes(kind))
      .map((kind) => `~gatehouse:${kind}:*`),
  )

const keys = (kind: string) => redis.keys(`gatehouse:${kind}:*`)
const sharedAnswers = async () => (await keys('lock')).filter((key) => !key.endsWith('}'))
const audited = () => broker.logLines().flatMap(({ audit, event }) => (audit === true ? [event] : []))

async function visit(): Promise<Browser> {
  const browser = openBrowser(broker.url)
  await browser.get('/api/v1/sessions/me')
  return browser
}

/** Asks, and changes what Redis allows while the upstream is being asked. */
async function interrupted(
  ask: () => Promise<PageAnswer>,
  change: () => Promise<unknown>,
): Promise<PageAnswer> {
  const letGo = harness.sandbox.faults.authn.hold({ times: 1 })
  harness.forget()
  const answering = ask()
  await until(() => harness.upstreamCalls().length === 1)
  await change()
  letGo()
  const answer = await answering
  await allow('~*')
  return answer
}

function expectUnavailable({ status, json, setCookies }: PageAnswer) {
  expect([status, json.errorCode]).toEqual([503, 'E0000009'])
  expect(setCookies.filter((cookie) => cookie.startsWith('gatehouse='))).toEqual([])
}

const signIn = (browser: Browser, username: string, fields: object = {}) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD, ...fields })

async function verify(browser: Browser, asked: PageAnswer) {
  const path = new URL(verifyHref(asked, 'token:software:totp')).pathname
  return browser.post(path, { stateToken: handleOf(asked), passCode: harness.sandbox.totpCode(TOMAS) })
}

test.each([
  ['the session', ['sess']],
  ['the index of the person’s sessions', ['user-sess']],
  ['the step’s own end', ['lock', 'txn']],
])(
  '%s can not be written: 503, no session, no answer that is shared, no success in the log',
  async (_what, kinds) => {
    const browser = await visit()
    const asked = await signIn(browser, TOMAS)
    const before = audited().length
    const earlier = await sharedAnswers()
    expectUnavailable(
      await interrupted(
        () => verify(browser, asked),
        () => allowAllBut(...kinds),
      ),
    )
    expect(await keys('sess')).toEqual([])
    expect(audited().slice(before)).toEqual([])
    if (!kinds.includes('lock')) expect(earlier).toEqual(expect.arrayContaining(await sharedAnswers()))
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
    expect((await browser.get('/api/v1/sessions')).status).toBe(401)
    // the code was right, so nothing stays counted
    await until(async () => (await keys('limit')).length === 0)
  },
)

test('so it is where a password alone is enough; and who tries again gets in', async () => {
  const browser = await visit()
  expectUnavailable(
    await interrupted(
      () => signIn(browser, AMELIA),
      () => allowAllBut('sess'),
    ),
  )
  expect([await keys('sess'), await sharedAnswers()]).toEqual([[], []])
  expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions')).json.sessions).toHaveLength(1)
})

test('a new transaction can not be written: 503, and no answer with its handle is shared', async () => {
  const browser = await visit()
  const answer = await interrupted(
    () => signIn(browser, TOMAS),
    async () => {
      const [lock = ''] = await keys('lock')
      await allow('~gatehouse:lock:*', '~gatehouse:limit:*', `~${lock.replace(':lock:', ':txn:')}`)
    },
  )
  expectUnavailable(answer)
  expect([await keys('txn'), await keys('lock')]).toEqual([[], []])
  expect((await signIn(browser, TOMAS)).json.status).toBe('MFA_REQUIRED')
})

test('other sessions were to end and can not be found: 503, no session, and no success in the log', async () => {
  const browser = await visit()
  const expired = await signIn(browser, OLGA)
  const before = audited().length
  await redis.call('ACL', 'SETUSER', 'broker', '-hgetall')
  const answer = await browser.post(new URL(hrefAt(expired, '_links.next')).pathname, {
    stateToken: handleOf(expired),
    oldPassword: PASSWORD,
    newPassword: 'Another-Password-2',
    revokeSessions: true,
  })
  expectUnavailable(answer)
  expect(await keys('sess')).toEqual([])
  expect(audited().slice(before)).toEqual(['password_changed'])
  await redis.call('ACL', 'SETUSER', 'broker', '+hgetall')
  await until(() => audited().slice(before).includes('sessions_revoked'), { what: 'the end of them' })
})

test('they end all the same once they can be found, and what was opened in the meantime stays', async () => {
  const [thief, owner] = [await visit(), await visit()]
  expect((await signIn(thief, WALTER)).json.status).toBe('SUCCESS')
  const warned = await signIn(owner, WALTER, { options: { warnBeforePasswordExpired: true } })
  await redis.call('ACL', 'SETUSER', 'broker', '-hgetall')
  const newPassword = 'Another-Password-2'
  const fields = { stateToken: handleOf(warned), oldPassword: PASSWORD, newPassword, revokeSessions: true }
  const changing = new URL(hrefAt(warned, '_links.next')).pathname
  expectUnavailable(await owner.post(changing, fields))
  expect((await owner.post(changing, fields)).json.errorCode).toBe('E0000011') // the org is done with it
  expect((await thief.get('/api/v1/sessions/me')).status).toBe(200)
  const anew = await owner.post('/api/v1/authn', { username: WALTER, password: newPassword })
  expect(anew.json.status).toBe('SUCCESS')
  await redis.call('ACL', 'SETUSER', 'broker', '+hgetall')
  await until(async () => (await thief.get('/api/v1/sessions/me')).status === 404, { what: 'the end of it' })
  expect((await owner.get('/api/v1/sessions/me')).status).toBe(200)
  expect(broker.logText()).toContain('"event":"sessions_not_ended"')
})

test('the marks of a known browser can not be written: the person is signed in all the same', async () => {
  const browser = await visit()
  const answer = await interrupted(
    () => signIn(browser, AMELIA),
    () => allowAllBut('known'),
  )
  expect(answer.json.status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(AMELIA)
  expect(broker.logText()).toContain('"event":"device_not_remembered"')
})

test.each([
  ['limits can not be asked', ['limit', 'known']],
  ['the step can not be claimed', ['lock', 'txn']],
])('%s: 503, nothing is sent upstream, no lock is left and nothing stays counted', async (_what, kinds) => {
  const browser = await visit()
  harness.forget()
  await allowAllBut(...kinds)
  expectUnavailable(await signIn(browser, AMELIA))
  expect(harness.upstreamCalls()).toEqual([])
  await allow('~*')
  await until(async () => (await keys('limit')).length === 0)
  expect((await keys('lock')).filter((key) => key.endsWith('}'))).toEqual([])
  expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
})
