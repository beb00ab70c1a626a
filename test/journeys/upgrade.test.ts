import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createSeal } from '../../src/crypto/keys.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { type Gatehouse, TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { errorOf, factorAt, handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

/**
 * During an upgrade, a newer and an older version share one Redis. A record that the older version cannot read is an
 * expired transaction or no session there, never an error, and stays as the newer version wrote it.
 */
const ENROLLING = 'erin.enroll@example.test'
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
  offer: { label: 'offer', newer: '{"version":2,"to":"/there"}' },
  sess: { label: 'session', newer: '{"version":2,"user":"x"}' },
  'user-sess': { label: 'user-session', newer: '{"version":2,"session":"one"}' },
  sso: { label: 'hand-over', newer: '{"version":2,"given":"x"}' },
  'pam-token': { label: 'pam-token', newer: 'v2\nsomething else' },
  'pam-groups': { label: 'pam-groups', newer: 'v2\nsomething else' },
} as const
type Kind = keyof typeof KINDS

const DAMAGED_RECORDS: readonly (readonly [string, (kind: Kind, key: string) => string])[] = [
  ['of a newer version', (kind, key) => sealOf(kind).seal(KINDS[kind].newer, key)],
  ['of another shape', (kind, key) => sealOf(kind).seal('{"version":1}', key)],
  ['that is not JSON', (kind, key) => sealOf(kind).seal('something else', key)],
  ['whose text is null', (kind, key) => sealOf(kind).seal('null', key)],
  ['that was sealed for another key', (kind, key) => sealOf(kind).seal(KINDS[kind].newer, `${key}x`)],
  ['that was never sealed', () => 'AgAAAAAA_plainly-fake'],
  ['that is empty', () => ''],
]
const sealOf = (kind: Kind) => createSeal(() => [Buffer.from(TEST_KEY, 'base64')], KINDS[kind].label)

/** Replaces every record of the kind; returns the new values. */
async function damage(
  kind: Kind,
  damageRecord: (kind: Kind, key: string) => string,
): Promise<Record<string, string>> {
  const keys = await redis.keys(`gatehouse:${kind}:*`)
  expect(keys.length).toBeGreaterThan(0)
  for (const key of keys) {
    if ((await redis.type(key)) !== 'hash') await redis.set(key, damageRecord(kind, key), 'KEEPTTL')
    else for (const field of await redis.hkeys(key)) await redis.hset(key, field, damageRecord(kind, key))
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

describe.each(DAMAGED_RECORDS)('a record %s', (_name, damageRecord) => {
  test('is an expired transaction', async () => {
    const browser = await harness.visit()
    const mfaRequired = await signIn(browser, TOMAS)
    const damaged = await damage('txn', damageRecord)
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
    const damaged = await damage('sess', damageRecord)
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
    const damaged = await damage('user-sess', damageRecord)
    expect((await browser.get('/api/v1/sessions')).status).toBe(200)
    expect((await browser.delete('/api/v1/sessions')).status).toBe(204)
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)
    await expectUntouched('user_session', damaged)
  })

  test('is no offer', async () => {
    const browser = await harness.visit()
    const enrolling = await signIn(browser, ENROLLING)
    const questions = hrefAt(enrolling, `${factorAt(enrolling, 'question')}._links.questions`)
    expect((await browser.get(questions)).status).toBe(200)
    const damaged = await damage('offer', damageRecord)
    expect(errorOf(await browser.get(questions))).toEqual([403, 'E0000079'])
    await expectUntouched('offer', damaged)
  })

  test('is no SSO token', async () => {
    const browser = await harness.visit()
    const { json } = await signIn(browser, AMELIA)
    const damaged = await damage('sso', damageRecord)
    const ssoUrl = new URL('/login/sessionCookieRedirect', harness.gatehouse.url)
    ssoUrl.search = String(new URLSearchParams({ token: String(json.sessionToken), redirectUrl: TARGET }))
    expect((await navigate(browser, ssoUrl.href)).status).toBe(401)
    await expectUntouched('sso', damaged)
  })

  test.each(['pam-token', 'pam-groups'] as const)('is no %s: it is fetched again', async (kind) => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    expect((await lookUpGroups(browser)).status).toBe(200)
    await damage(kind, damageRecord)
    if (kind === 'pam-token') await redis.del(...(await redis.keys('gatehouse:pam-groups:*')))
    const fresh = await harness.replica()
    const lookup = await lookUpGroups(browser, fresh)
    expect(lookup.status).toBe(200)
    expect(await fresh.metrics()).toMatch(new RegExp(`unreadable_records_total\\{kind="${kind}"\\} [1-9]`))
    expect(fresh.logText()).not.toContain('"level":"error"')
  })
})

test('a transaction of an older version without the enrollment fields continues', async () => {
  const browser = await harness.visit()
  const enrolling = await signIn(browser, ENROLLING)
  for (const key of await redis.keys('gatehouse:txn:{*')) {
    const whole = JSON.parse(sealOf('txn').open((await redis.get(key)) ?? '', key) ?? '')
    const { enrollment: _none, activeFactors: _unknown, ...older } = whole
    await redis.set(key, sealOf('txn').seal(JSON.stringify(older), key), 'KEEPTTL')
  }
  const enroll = hrefAt(enrolling, `${factorAt(enrolling, 'question')}._links.enroll`)
  const profile = { question: 'favorite_toy', answer: 'a top' }
  const body = { stateToken: handleOf(enrolling), factorType: 'question', provider: 'OKTA', profile }
  expect((await browser.post(enroll, body)).status).toBe(200)
})

test('a transaction of an older version keeps its enrollment, which had another name', async () => {
  const browser = await harness.visit()
  const enrolling = await signIn(browser, ENROLLING)
  const activating = await browser.post(hrefAt(enrolling, `${factorAt(enrolling, 'sms')}._links.enroll`), {
    stateToken: handleOf(enrolling),
    factorType: 'sms',
    provider: 'OKTA',
    profile: { phoneNumber: '+15550107777' },
  })
  for (const key of await redis.keys('gatehouse:txn:{*')) {
    const whole = JSON.parse(sealOf('txn').open((await redis.get(key)) ?? '', key) ?? '')
    const { enrollment: enrolment, ...older } = whole
    await redis.set(key, sealOf('txn').seal(JSON.stringify({ ...older, enrolment }), key), 'KEEPTTL')
  }
  const passCode = harness.sandbox.outbox.latest(ENROLLING)?.code
  const step = { stateToken: handleOf(activating), passCode }
  expect((await browser.post(hrefAt(activating, '_links.next'), step)).json.status).toBe('SUCCESS')
  const audited = harness.gatehouse.logLines().filter(({ event }) => event === 'factor_enrolled')
  expect(audited.at(-1)).toMatchObject({ factorType: 'sms', provider: 'OKTA' })
})

test('an offer of an older version without state tokens remains valid', async () => {
  const browser = await harness.visit()
  const enrolling = await signIn(browser, ENROLLING)
  for (const key of await redis.keys('gatehouse:offer:*')) {
    const { path } = JSON.parse(sealOf('offer').open((await redis.get(key)) ?? '', key) ?? '')
    await redis.set(key, sealOf('offer').seal(JSON.stringify({ version: 1, path }), key), 'KEEPTTL')
  }
  const questions = hrefAt(enrolling, `${factorAt(enrolling, 'question')}._links.questions`)
  expect((await browser.get(questions)).status).toBe(200)
})

test('a transaction of an older version without `userProved` continues', async () => {
  const browser = await harness.visit()
  const mfaRequired = await signIn(browser, TOMAS)
  for (const key of await redis.keys('gatehouse:txn:{*')) {
    const { userProved: _newer, ...older } = JSON.parse(
      sealOf('txn').open((await redis.get(key)) ?? '', key) ?? '',
    )
    await redis.set(key, sealOf('txn').seal(JSON.stringify(older), key), 'KEEPTTL')
  }
  const passCode = harness.sandbox.totpCode(TOMAS)
  const step = { stateToken: handleOf(mfaRequired), passCode }
  expect((await browser.post(verifyHref(mfaRequired, 'token:software:totp'), step)).json.status).toBe(
    'SUCCESS',
  )
  expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(TOMAS)
})

describe('a record of a newer version', () => {
  const newer = DAMAGED_RECORDS[0]?.[1] ?? (() => '')

  test('is not overwritten by a fetch', async () => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    await lookUpGroups(browser)
    const [token, groups] = [await damage('pam-token', newer), await damage('pam-groups', newer)]
    const fresh = await harness.replica()
    for (const _again of [1, 2]) expect((await lookUpGroups(browser, fresh)).status).toBe(200)
    expect(await readRecords(Object.keys(token))).toEqual(token)
    expect(await readRecords(Object.keys(groups))).toEqual(groups)
  })

  test('is not overwritten by a repeated offer', async () => {
    const browser = await harness.visit()
    await signIn(browser, ENROLLING)
    const damaged = await damage('offer', newer)
    await signIn(browser, ENROLLING)
    expect(await readRecords(Object.keys(damaged))).toEqual(damaged)
  })
})

test.each(['something else', '{"version":2}', ''])(
  'a rate-limit record with the text %j is ignored',
  async (text) => {
    const browser = await harness.visit()
    const at = async (broker: Gatehouse) => {
      const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
      const credentials = { username: AMELIA, password: PASSWORD }
      return browser.post(`${broker.url}/api/v1/authn`, credentials, { headers: { cookie } })
    }
    harness.sandbox.faults.authn.set({ kind: 'rate-limited', retrySeconds: 100, times: 1 })
    expect((await at(await harness.replica())).status).toBe(429)
    expect((await at(await harness.replica())).status).toBe(429)
    const [key] = await redis.keys('gatehouse:limit:authn:*')
    await redis.set(key ?? 'nothing was written', text, 'KEEPTTL')
    const fresh = await harness.replica()
    expect((await at(fresh)).json.status).toBe('SUCCESS')
    expect(await fresh.metrics()).toMatch(/unreadable_records_total\{kind="limit"\} [1-9]/)
  },
)
