import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createSeal } from '../../src/crypto/keys.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { type Gatehouse, TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { errorOf, handleOf, verifyHref } from '../support/transaction-view.ts'

/**
 * During an upgrade, a newer and an older version share one Redis. A record that the older version cannot read is an
 * expired transaction or no session there, never an error, and stays as the newer version wrote it. Only what PAM has said
 * is fetched again.
 */
const TARGET = 'http://localhost:3000/home'
const MINUTE_MS = 60_000

let aheadMs = 0
let harness: Harness
let redis: Redis
beforeAll(async () => {
  harness = await startHarness({ env: { SSO_REDIRECTS: TARGET }, now: () => Date.now() + aheadMs })
  redis = harness.redis.client()
})
afterAll(() => harness.stop())
beforeEach(async () => {
  aheadMs = 0
  harness.sandbox.reset()
  await redis.flushall()
})

/** The seal of each kind of record, and a plaintext of a future version. */
const KINDS = {
  txn: { label: 'transaction', newer: '{"version":2,"parts":[]}' },
  sess: { label: 'session', newer: '{"version":2,"user":"x"}' },
  'user-sess': { label: 'user-session', newer: '{"version":2,"session":"one"}' },
  'pam-token': { label: 'pam-token', newer: '{"version":2,"value":{}}' },
  'pam-groups': { label: 'pam-groups', newer: '{"version":2,"value":{}}' },
} as const
type Kind = keyof typeof KINDS

const sealOf = (kind: Kind) => createSeal([Buffer.from(TEST_KEY, 'base64')], KINDS[kind].label)

/** Replaces every record of the kind; returns the new values. */
async function replaceByNewer(kind: Kind): Promise<Record<string, string>> {
  const newer = (key: string) => sealOf(kind).seal(KINDS[kind].newer, key)
  const keys = await redis.keys(`gatehouse:${kind}:*`)
  expect(keys.length).toBeGreaterThan(0)
  for (const key of keys) {
    if ((await redis.type(key)) !== 'hash') await redis.set(key, newer(key), 'KEEPTTL')
    else for (const field of await redis.hkeys(key)) await redis.hset(key, field, newer(key))
  }
  return readRecords(keys)
}

async function readRecords(keys: readonly string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const key of keys) {
    if ((await redis.type(key)) !== 'hash') found[key] = (await redis.get(key)) ?? 'gone'
    else
      for (const [field, value] of Object.entries(await redis.hgetall(key))) found[`${key} ${field}`] = value
  }
  return found
}

/** The records are unchanged and counted as unreadable, and no error is logged. */
async function expectUntouched(kind: string, damaged: Record<string, string>) {
  const keys = [...new Set(Object.keys(damaged).map((key) => key.split(' ')[0] ?? ''))]
  expect(await readRecords(keys)).toMatchObject(damaged)
  await expectCounted(kind)
}

async function expectCounted(kind: string) {
  expect(await harness.gatehouse.metrics()).toMatch(
    new RegExp(`unreadable_records_total\\{kind="${kind}"\\} [1-9]`),
  )
  expect(harness.gatehouse.logText()).not.toContain('"level":"error"')
}

const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })
/** At a new replica, whose caches are empty. */
const lookUpGroups = async (browser: Browser, replica?: Gatehouse): Promise<PageAnswer> => {
  const { url } = replica ?? (await harness.replica())
  const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
  return browser.get(`${url}/api/v1/pam/me`, { headers: { cookie } })
}

describe('a record of a newer version', () => {
  test('is an expired transaction', async () => {
    const browser = await harness.visit()
    const mfaRequired = await signIn(browser, TOMAS)
    const damaged = await replaceByNewer('txn')
    const verify = verifyHref(mfaRequired, 'token:software:totp')
    harness.clearUpstreamCalls()
    for (const path of [verify, '/api/v1/authn', '/api/v1/authn/cancel'])
      expect(errorOf(await browser.post(path, { stateToken: handleOf(mfaRequired) }))).toEqual([
        401,
        'E0000011',
      ])
    expect(
      (
        await navigate(
          browser,
          `${harness.gatehouse.url}/login/token/redirect?stateToken=${handleOf(mfaRequired)}`,
        )
      ).status,
    ).toBe(401)
    expect(harness.upstreamCalls()).toEqual([])
    await expectUntouched('transaction', damaged)
    expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
  })

  test('is no session, and its entry in the index of the user’s sessions is kept', async () => {
    const [browser, other] = [await harness.visit(), await harness.visit()]
    await signIn(browser, AMELIA)
    const damaged = await replaceByNewer('sess')
    expect(errorOf(await browser.get('/api/v1/sessions/me'))).toEqual([404, 'E0000007'])
    expect((await browser.get('/forward-auth')).status).toBe(401)
    expect(errorOf(await browser.get('/api/v1/pam/me'))).toEqual([401, 'E0000005'])
    expect(errorOf(await browser.delete('/api/v1/sessions/me'))).toEqual([404, 'E0000007'])
    const index = await readRecords(await redis.keys('gatehouse:user-sess:*'))

    aheadMs = 5 * MINUTE_MS // entries of expired sessions would be removed
    await signIn(other, AMELIA)
    expect((await other.get('/api/v1/sessions')).json.sessions).toHaveLength(1)
    expect(await readRecords(await redis.keys('gatehouse:user-sess:*'))).toMatchObject(index)
    await expectUntouched('session', damaged)
  })

  test('in the index of a user’s sessions is ignored', async () => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    const damaged = await replaceByNewer('user-sess')
    expect((await browser.get('/api/v1/sessions')).status).toBe(200)
    expect((await browser.delete('/api/v1/sessions')).status).toBe(204)
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)
    await expectUntouched('user_session', damaged)
  })

  test.each(['pam-token', 'pam-groups'] as const)('is no %s: it is fetched again', async (kind) => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    expect((await lookUpGroups(browser)).status).toBe(200)
    await replaceByNewer(kind)
    if (kind === 'pam-token')
      await redis.del(
        ...(await redis.keys('gatehouse:pam-groups:*')),
        ...(await redis.keys('gatehouse:limit:pam-key:*')), // of the token that was just issued: one in 10 s
      )
    const fresh = await harness.replica()
    const lookup = await lookUpGroups(browser, fresh)
    expect(lookup.status).toBe(200)
    expect(await fresh.metrics()).toMatch(new RegExp(`unreadable_records_total\\{kind="${kind}"\\} [1-9]`))
    expect(fresh.logText()).not.toContain('"level":"error"')
  })
})
