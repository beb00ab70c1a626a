import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createSeal } from '../../src/crypto/keys.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { type Gatehouse, TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { factorAt, handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

/**
 * A newer and an older version share one Redis for as long as an upgrade takes. What the older one can't read is an
 * expired transaction or no session there, never a fault of its own, and stays as the newer one wrote it.
 */
const ENROLLING = 'erin.enrol@example.test'
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

/** Each kind's seal, and what its text looks like from a version to come. */
const KINDS = {
  txn: { label: 'transaction', newer: '{"version":2,"parts":[]}' },
  offer: { label: 'offer', newer: '{"version":2,"to":"/there"}' },
  sess: { label: 'session', newer: '{"version":2,"who":"somebody"}' },
  'user-sess': { label: 'user-session', newer: '{"version":2,"session":"one"}' },
  sso: { label: 'hand-over', newer: '{"version":2,"given":"x"}' },
  'pam-token': { label: 'pam-token', newer: 'v2\nsomething else' },
  'pam-groups': { label: 'pam-groups', newer: 'v2\nsomething else' },
} as const
type Kind = keyof typeof KINDS

const DAMAGE: readonly (readonly [string, (kind: Kind, place: string) => string])[] = [
  ['of a newer version', (kind, place) => sealOf(kind).seal(KINDS[kind].newer, place)],
  ['of another shape', (kind, place) => sealOf(kind).seal('{"version":1}', place)],
  ['that is no JSON', (kind, place) => sealOf(kind).seal('something else', place)],
  ['whose text is null', (kind, place) => sealOf(kind).seal('null', place)],
  ['that lies elsewhere', (kind, place) => sealOf(kind).seal(KINDS[kind].newer, `${place}x`)],
  ['that was never sealed', () => 'AgAAAAAA_plainly-fake'],
  ['that is empty', () => ''],
]
const sealOf = (kind: Kind) => createSeal(() => [Buffer.from(TEST_KEY, 'base64')], KINDS[kind].label)

/** Puts the damage in the place of every record of the kind; says what lies there by now. */
async function damage(
  kind: Kind,
  how: (kind: Kind, place: string) => string,
): Promise<Record<string, string>> {
  const places = await redis.keys(`gatehouse:${kind}:*`)
  expect(places.length).toBeGreaterThan(0)
  for (const place of places) {
    if ((await redis.type(place)) !== 'hash') await redis.set(place, how(kind, place), 'KEEPTTL')
    else for (const field of await redis.hkeys(place)) await redis.hset(place, field, how(kind, place))
  }
  return lying(places)
}

async function lying(places: readonly string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const place of places) {
    if ((await redis.type(place)) !== 'hash') found[place] = (await redis.get(place)) ?? 'gone'
    else
      for (const [field, value] of Object.entries(await redis.hgetall(place)))
        found[`${place} ${field}`] = value
  }
  return found
}

/** Still there as it was, told to those who watch, and no fault. */
async function expectLeftAlone(kind: string, damaged: Record<string, string>) {
  const places = [...new Set(Object.keys(damaged).map((place) => place.split(' ')[0] ?? ''))]
  expect(await lying(places)).toMatchObject(damaged)
  await expectTold(kind)
}

async function expectTold(kind: string) {
  expect(await harness.gatehouse.metrics()).toMatch(
    new RegExp(`unreadable_records_total\\{kind="${kind}"\\} [1-9]`),
  )
  expect(harness.gatehouse.logText()).not.toContain('"level":"error"')
}

const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })
/** At a replica that has nothing in its memory. */
const lookUp = async (browser: Browser, replica?: Gatehouse): Promise<PageAnswer> => {
  const { url } = replica ?? (await harness.replica())
  const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
  return browser.get(`${url}/api/v1/pam/me`, { headers: { cookie } })
}
const told = ({ status, json }: PageAnswer) => [status, json.errorCode]

describe.each(DAMAGE)('a record %s', (_name, how) => {
  test('is an expired transaction', async () => {
    const browser = await harness.visit()
    const asked = await signIn(browser, TOMAS)
    const damaged = await damage('txn', how)
    const verify = verifyHref(asked, 'token:software:totp')
    harness.forget()
    for (const path of [verify, '/api/v1/authn', '/api/v1/authn/cancel'])
      expect(told(await browser.post(path, { stateToken: handleOf(asked) }))).toEqual([401, 'E0000011'])
    expect(
      (await navigate(browser, `${harness.gatehouse.url}/login/token/redirect?stateToken=${handleOf(asked)}`))
        .status,
    ).toBe(401)
    expect(harness.upstreamCalls()).toEqual([])
    await expectLeftAlone('transaction', damaged)
    expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
  })

  test('is no session, and its place in the index of the person’s sessions is kept', async () => {
    const [browser, other] = [await harness.visit(), await harness.visit()]
    await signIn(browser, AMELIA)
    const damaged = await damage('sess', how)
    expect(told(await browser.get('/api/v1/sessions/me'))).toEqual([404, 'E0000007'])
    expect((await browser.get('/forward-auth')).status).toBe(401)
    expect(told(await browser.get('/api/v1/pam/me'))).toEqual([401, 'E0000005'])
    expect(told(await browser.delete('/api/v1/sessions/me'))).toEqual([404, 'E0000007'])
    const index = await lying(await redis.keys('gatehouse:user-sess:*'))

    aheadMs = 5 * MINUTE_MS // what is gone by now would be taken out
    await signIn(other, AMELIA)
    expect((await other.get('/api/v1/sessions')).json.sessions).toHaveLength(1)
    expect(await lying(await redis.keys('gatehouse:user-sess:*'))).toMatchObject(index)
    await expectLeftAlone('session', damaged)
  })

  test('in the index of a person’s sessions is passed over', async () => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    const damaged = await damage('user-sess', how)
    expect((await browser.get('/api/v1/sessions')).status).toBe(200)
    expect((await browser.delete('/api/v1/sessions')).status).toBe(204)
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)
    await expectLeftAlone('user_session', damaged)
  })

  test('is no offer', async () => {
    const browser = await harness.visit()
    const enrolling = await signIn(browser, ENROLLING)
    const questions = hrefAt(enrolling, `${factorAt(enrolling, 'question')}._links.questions`)
    expect((await browser.get(questions)).status).toBe(200)
    const damaged = await damage('offer', how)
    expect(told(await browser.get(questions))).toEqual([403, 'E0000079'])
    await expectLeftAlone('offer', damaged)
  })

  test('hands nobody over', async () => {
    const browser = await harness.visit()
    const { json } = await signIn(browser, AMELIA)
    const damaged = await damage('sso', how)
    const leave = new URL('/login/sessionCookieRedirect', harness.gatehouse.url)
    leave.search = String(new URLSearchParams({ token: String(json.sessionToken), redirectUrl: TARGET }))
    expect((await navigate(browser, leave.href)).status).toBe(401)
    await expectLeftAlone('sso', damaged)
  })

  test.each(['pam-token', 'pam-groups'] as const)('is no %s: it is fetched anew', async (kind) => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    expect((await lookUp(browser)).status).toBe(200)
    await damage(kind, how)
    if (kind === 'pam-token') await redis.del(...(await redis.keys('gatehouse:pam-groups:*')))
    const fresh = await harness.replica()
    const lookup = await lookUp(browser, fresh)
    expect(lookup.status).toBe(200)
    expect(await fresh.metrics()).toMatch(new RegExp(`unreadable_records_total\\{kind="${kind}"\\} [1-9]`))
    expect(fresh.logText()).not.toContain('"level":"error"')
  })
})

test('a transaction of an older version, which knew of no enrolment, goes on', async () => {
  const browser = await harness.visit()
  const enrolling = await signIn(browser, ENROLLING)
  for (const place of await redis.keys('gatehouse:txn:{*')) {
    const whole = JSON.parse(sealOf('txn').open((await redis.get(place)) ?? '', place) ?? '')
    const { enrolment: _none, activeFactors: _unknown, ...older } = whole
    await redis.set(place, sealOf('txn').seal(JSON.stringify(older), place), 'KEEPTTL')
  }
  const enrol = hrefAt(enrolling, `${factorAt(enrolling, 'question')}._links.enroll`)
  const profile = { question: 'favorite_toy', answer: 'a top' }
  const body = { stateToken: handleOf(enrolling), factorType: 'question', provider: 'OKTA', profile }
  expect((await browser.post(enrol, body)).status).toBe(200)
})

test('an offer of an older version, which had no state tokens in it, is one still', async () => {
  const browser = await harness.visit()
  const enrolling = await signIn(browser, ENROLLING)
  for (const place of await redis.keys('gatehouse:offer:*')) {
    const { path } = JSON.parse(sealOf('offer').open((await redis.get(place)) ?? '', place) ?? '')
    await redis.set(place, sealOf('offer').seal(JSON.stringify({ version: 1, path }), place), 'KEEPTTL')
  }
  const questions = hrefAt(enrolling, `${factorAt(enrolling, 'question')}._links.questions`)
  expect((await browser.get(questions)).status).toBe(200)
})

test('a transaction of an older version goes on', async () => {
  const browser = await harness.visit()
  const asked = await signIn(browser, TOMAS)
  for (const place of await redis.keys('gatehouse:txn:{*')) {
    const { userProved: _newer, ...older } = JSON.parse(
      sealOf('txn').open((await redis.get(place)) ?? '', place) ?? '',
    )
    await redis.set(place, sealOf('txn').seal(JSON.stringify(older), place), 'KEEPTTL')
  }
  const passCode = harness.sandbox.totpCode(TOMAS)
  const step = { stateToken: handleOf(asked), passCode }
  expect((await browser.post(verifyHref(asked, 'token:software:totp'), step)).json.status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(TOMAS)
})

describe('what a newer version wrote', () => {
  const newer = DAMAGE[0]?.[1] ?? (() => '')

  test('is not overwritten by a fetch', async () => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    await lookUp(browser)
    const [token, groups] = [await damage('pam-token', newer), await damage('pam-groups', newer)]
    const fresh = await harness.replica()
    for (const _again of [1, 2]) expect((await lookUp(browser, fresh)).status).toBe(200)
    expect(await lying(Object.keys(token))).toEqual(token)
    expect(await lying(Object.keys(groups))).toEqual(groups)
  })

  test('is not overwritten by an offer that is made again', async () => {
    const browser = await harness.visit()
    await signIn(browser, ENROLLING)
    const damaged = await damage('offer', newer)
    await signIn(browser, ENROLLING)
    expect(await lying(Object.keys(damaged))).toEqual(damaged)
  })
})

test.each(['something else', '{"version":2}', ''])(
  'the rate limit’s record that says %j says nothing',
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
    const [place] = await redis.keys('gatehouse:limit:authn:*')
    await redis.set(place ?? 'nothing was written', text, 'KEEPTTL')
    const fresh = await harness.replica()
    expect((await at(fresh)).json.status).toBe('SUCCESS')
    expect(await fresh.metrics()).toMatch(/unreadable_records_total\{kind="limit"\} [1-9]/)
  },
)

describe('attempts that a version with a key for each window has counted', () => {
  const DAY_MS = 86_400_000
  const wrong = (browser: Browser) =>
    browser.post('/api/v1/authn', { username: AMELIA, password: 'Not-The-Password-1' })

  /** As that version would have left them: all that is counted for the user is counted in its way, up to `count`. */
  async function countedFormerly(window: string, count: number): Promise<string> {
    await wrong(await harness.visit())
    const keys = await redis.keys('gatehouse:limit:{*')
    const ofUser = keys.find((key) => key.endsWith('}:in_a_row'))?.replace(/:in_a_row$/, '') ?? ''
    await redis.del(...keys)
    const former = `${ofUser}:${window}`
    await redis.hset(former, { count, begunBy: '2f4b0a5e-5d6e-4f5e-9a55-0d3f5d0c9a01' })
    await redis.pexpire(former, DAY_MS)
    return former
  }

  test.each([
    ['password:person:burst', 8],
    ['password:person:sustained', 20],
    ['password:person:inARow', 60],
  ])('in %s count still, together with new ones', async (window, most) => {
    await countedFormerly(window, most - 1)
    const browser = await harness.visit()
    expect(told(await wrong(browser))).toEqual([401, 'E0000004'])
    harness.forget()
    const refused = await wrong(browser)
    expect(told(refused)).toEqual([429, 'E0000047'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(600) // until the former window ends
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('of a user’s failures in a row end with a full sign-in', async () => {
    const former = await countedFormerly('password:person:inARow', 59)
    expect((await signIn(await harness.visit(), AMELIA)).json.status).toBe('SUCCESS')
    expect(await redis.exists(former)).toBe(0)
  })

  test('lock nobody out: a window that is not full refuses nobody, and a known device has its own', async () => {
    const browser = await harness.visit()
    expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
    await countedFormerly('password:person:sustained', 20)
    expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
  })
})
