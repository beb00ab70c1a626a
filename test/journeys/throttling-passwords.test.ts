import { afterEach, describe, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { sendConcurrently } from '../support/coalesced-requests.ts'
import {
  AMELIA,
  FROM_PROXY,
  type Harness,
  type HarnessOptions,
  OLGA,
  PASSWORD,
  startHarness,
  TOMAS,
} from '../support/harness.ts'
import { atMost, onlyLimits, type SomeLimits } from '../support/limits.ts'
import { navigate } from '../support/navigate.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf, handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

let harness: Harness
afterEach(() => harness.stop())

/** A broker behind a trusted proxy that has only these limits. */
async function limitedTo(limits: SomeLimits, options: HarnessOptions = {}): Promise<void> {
  const { env, ...rest } = options
  harness = await startHarness({
    tunables: onlyLimits(limits),
    env: { TRUST_PROXY: '127.0.0.1', ...env },
    ...rest,
  })
}

const UNKNOWN = 'nobody.at.all@example.test'
const LOCKED = 'luis.locked@example.test'
const REFUSED = [401, 'E0000004']
const LIMITED = [429, 'E0000047']

/** Wrong passwords come from a new browser and, unless given, a new address. */
let sequence = 0
function newAddress(): string {
  sequence += 1
  return `198.18.${sequence >> 8}.${sequence & 255}`
}
async function wrong(login: string, browser?: Browser, address = newAddress()) {
  return (browser ?? openBrowser(harness.gatehouse.url, FROM_PROXY)).post(
    '/api/v1/authn',
    { username: login, password: `wrong-${++sequence}` },
    { headers: { 'x-forwarded-for': address } },
  )
}

const right = (browser: Browser, login = AMELIA) =>
  browser.post('/api/v1/authn', { username: login, password: PASSWORD })

/** A known device of this user, who needs no factor. */
async function knownBrowser(login = AMELIA): Promise<Browser> {
  const browser = await harness.visit()
  expect((await right(browser, login)).json.status).toBe('SUCCESS')
  return browser
}

async function inTurn<Answer>(times: number, ask: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let n = 0; n < times; n++) answers.push(await ask())
  return answers
}

const refusals = (answers: PageAnswer[]) => answers.map(errorOf)
const repeated = <Item>(item: Item, times: number): Item[] => Array.from({ length: times }, () => item)

describe('wrong passwords', () => {
  test('are limited per user, over all browsers and addresses; beyond the limit nothing is sent upstream', async () => {
    await limitedTo({ password: { perUser: atMost(3, 600) } })
    expect(refusals(await inTurn(3, () => wrong(AMELIA)))).toEqual(repeated(REFUSED, 3))
    harness.clearUpstreamCalls()
    const refused = await wrong(AMELIA)
    expect(errorOf(refused)).toEqual(LIMITED)
    expect(refused.headers.get('x-rate-limit-limit')).toBe('3')
    expect(refused.headers.get('x-rate-limit-remaining')).toBe('0')
    const waitS = Number(refused.headers.get('retry-after'))
    expect(waitS).toBeGreaterThan(0)
    expect(waitS).toBeLessThanOrEqual(600)
    const resetS = Number(refused.headers.get('x-rate-limit-reset'))
    expect(resetS).toBeGreaterThan(Date.now() / 1000)
    expect(resetS).toBeLessThanOrEqual(Date.now() / 1000 + 601)
    expect(errorOf(await right(openBrowser(harness.gatehouse.url, FROM_PROXY)))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
    expect(errorOf(await wrong(TOMAS))).toEqual(REFUSED)
  })

  test('get the same response for known, unknown and locked users, headers included', async () => {
    await limitedTo({ password: { perUser: atMost(2) } })
    const responses: string[] = []
    for (const login of [AMELIA, UNKNOWN, 'lena.locked@example.test', 'liv.lockable@example.test']) {
      const answers = await inTurn(4, () => wrong(login))
      responses.push(JSON.stringify(answers.map(anonymous)))
    }
    expect(new Set(responses).size).toBe(1)
    expect(responses[0]).toContain('E0000047')
  })

  /** Without the values that differ in each response. */
  function anonymous({ status, headers, json }: PageAnswer) {
    const { errorId: _new, ...body } = json
    const changing = ['set-cookie', 'date', 'x-request-id', 'x-rate-limit-reset', 'retry-after']
    const upstreamHeaders = ['x-rate-limit-remaining'] // Okta counts by address
    const headerLines = [...headers].filter(([name]) => ![...changing, ...upstreamHeaders].includes(name))
    return { status, names: [...headers.keys()].filter((name) => name !== 'set-cookie'), headerLines, body }
  }

  test('count too if the response is LOCKED_OUT', async () => {
    await limitedTo({ password: { perUser: atMost(2) } })
    const answers = await inTurn(3, () => wrong(LOCKED))
    expect(answers.map(({ json }) => json.status ?? json.errorCode)).toEqual([
      'LOCKED_OUT',
      'LOCKED_OUT',
      'E0000047',
    ])
  })

  test('count for one user, however the login is spelled', async () => {
    await limitedTo({ password: { perUser: atMost(4) } }, { env: { LOGIN_DOMAINS: 'example.test' } })
    const spellings = [
      'amelia.stone',
      '  Amelia.STONE@example.test ',
      'amelia.stone@EXAMPLE.TEST',
      'ａｍｅｌｉａ.stone',
    ]
    for (const login of spellings) expect(errorOf(await wrong(login))).toEqual(REFUSED)
    for (const login of [...spellings, AMELIA]) expect(errorOf(await wrong(login))).toEqual(LIMITED)
  })

  test('are limited per device before they exhaust the limit of the user', async () => {
    await limitedTo({ password: { perUser: atMost(4), perDevice: atMost(2) } })
    const browser = await harness.visit()
    expect(refusals(await inTurn(4, () => wrong(AMELIA, browser)))).toEqual([
      ...repeated(REFUSED, 2),
      ...repeated(LIMITED, 2),
    ])
    expect(refusals(await inTurn(3, () => wrong(AMELIA)))).toEqual([...repeated(REFUSED, 2), LIMITED])
  })

  test('are limited by address over all usernames; an IPv6 /64 is one address', async () => {
    await limitedTo({ password: { perAddress: atMost(2) } })
    const from = async (...addresses: string[]) => {
      const answers: unknown[] = []
      for (const address of addresses)
        answers.push((await wrong(`user-${++sequence}`, undefined, address)).status)
      return answers
    }
    expect(await from('203.0.113.5', '::ffff:203.0.113.5', '203.0.113.5')).toEqual([401, 401, 429])
    expect(await from('203.0.113.6')).toEqual([401])
    expect(await from('2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff')).toEqual([401, 401])
    expect(await from('2001:db8:1:2:3::', '2001:db8:1:3::1')).toEqual([429, 401])
  })

  test('are still limited by the longer window after the shorter one has ended', async () => {
    const sustained = { attempts: 3, perSeconds: 3600 }
    await limitedTo({ password: { perUser: { ...atMost(2, 1), sustained } } })
    expect(refusals(await inTurn(2, () => wrong(AMELIA)))).toEqual(repeated(REFUSED, 2))
    await until(async () => (await wrong(AMELIA)).status === 401)
    const refused = await wrong(AMELIA)
    expect(errorOf(refused)).toEqual(LIMITED)
    expect(refused.headers.get('x-rate-limit-limit')).toBe('3')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3000)
  })

  test('sixty concurrent attempts on two replicas: exactly the limit reaches Okta', async () => {
    await limitedTo({ password: { perUser: atMost(7) } })
    const replica = await harness.replica()
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        wrong(AMELIA, openBrowser(n % 2 === 0 ? harness.gatehouse.url : replica.url, FROM_PROXY)),
      ),
    )
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(7)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(53)
    expect(harness.upstreamCalls()).toHaveLength(7)
  })

  test('identical concurrent attempts on several replicas are one attempt and do not exhaust any limit', async () => {
    await limitedTo({ password: { perUser: atMost(2), perAddress: atMost(2), perDevice: atMost(2) } })
    const replicas = [harness.gatehouse, await harness.replica(), await harness.replica()]
    const browser = await harness.visit()
    const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
    const headers = { cookie, 'x-forwarded-for': '203.0.113.5' }
    const clicks = (password: string) =>
      Array.from({ length: 9 }, (_, n) => () => {
        const url = `${replicas[n % 3]?.url}/api/v1/authn`
        return openBrowser(harness.gatehouse.url, FROM_PROXY).post(
          url,
          { username: AMELIA, password },
          { headers },
        )
      })
    harness.clearUpstreamCalls()
    for (const password of ['wrong-one', 'wrong-two']) {
      // the second password uses the last attempt
      const answers = await sendConcurrently({ ...harness, brokers: replicas }, clicks(password))
      expect(answers.map(errorOf)).toEqual(repeated(REFUSED, 9))
    }
    expect(harness.upstreamCalls()).toHaveLength(2)
    const limitHits = () =>
      replicas.flatMap((replica) => replica.logLines().filter(({ event }) => event === 'limit_hit'))
    expect(limitHits()).toEqual([])
    const beyondLimit = await Promise.all(clicks('wrong-three').map((click) => click()))
    expect(beyondLimit.map(errorOf)).toEqual(repeated(LIMITED, 9))
    expect(harness.upstreamCalls()).toHaveLength(2)
    const redis = harness.redis.client()
    expect((await redis.keys('gatehouse:lock:*')).filter((key) => key.endsWith('}'))).toEqual([])
  })

  test('of a step-up count too, and the device is not known to the user whose password was wrong', async () => {
    await limitedTo({ password: { perUser: atMost(2) } }, { env: { STEP_UP: 'on' } })
    const browser = openBrowser(harness.gatehouse.url, FROM_PROXY)
    const { stateToken } = onClassicEngine(harness).sandbox.startStepUp(
      'payroll',
      undefined,
      'https://portal.example/',
    )
    const arrived = await navigate(
      browser,
      `${harness.gatehouse.url}/signin/step-up?stateToken=${stateToken}`,
    )
    const handle = new URL(arrived.location ?? '').searchParams.get('stateToken') ?? ''
    const typed = (username: string, password: string) =>
      browser.post('/api/v1/authn', { stateToken: handle, username, password })
    expect(errorOf(await typed(AMELIA, 'wrong'))).toEqual(REFUSED)
    const mfaRequired = await typed(TOMAS, PASSWORD)
    const done = await browser.post(verifyHref(mfaRequired, 'token:software:totp'), {
      stateToken: handle,
      passCode: harness.sandbox.totpCode(TOMAS),
    })
    expect(done.json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(TOMAS)
    expect(refusals(await inTurn(2, () => wrong(AMELIA)))).toEqual([REFUSED, LIMITED])
    expect(errorOf(await right(browser))).toEqual(LIMITED) // the browser is no known device of Amelia
  })

  test('credentials that the org ignores make no device known', async () => {
    await limitedTo({ password: { perUser: atMost(2), perKnownDevice: atMost(5) } })
    const browser = await harness.visit()
    browser.allowAnyTransaction()
    const mfaRequired = await right(browser, TOMAS)
    const stateToken = handleOf(mfaRequired)
    const body = { status: 'MFA_REQUIRED', stateToken: harness.sandbox.tokensIssued().at(-1) }
    harness.sandbox.faults.authn.set({ kind: 'status', status: 200, path: '/api/v1/authn', times: 1, body })
    const ignored = await browser.post('/api/v1/authn', { stateToken, username: AMELIA, password: 'wrong' })
    expect(ignored.json.status).toBe('MFA_REQUIRED')
    const code = { stateToken, passCode: harness.sandbox.totpCode(TOMAS) }
    expect((await browser.post(verifyHref(mfaRequired, 'token:software:totp'), code)).json.status).toBe(
      'SUCCESS',
    )
    expect((await browser.get('/api/v1/sessions/me')).json).toMatchObject({ login: TOMAS })
    expect(refusals(await inTurn(3, () => wrong(AMELIA, browser)))).toEqual([REFUSED, REFUSED, LIMITED])
  })

  test('activation and recovery tokens are limited by address', async () => {
    await limitedTo({ token: { perAddress: atMost(2) } })
    const browser = await harness.visit()
    const headers = { 'x-forwarded-for': '203.0.113.5' }
    const activate = (token: string) => browser.post('/api/v1/authn', { token }, { headers })
    const recover = (recoveryToken: string) =>
      browser.post('/api/v1/authn/recovery/token', { recoveryToken }, { headers })
    expect((await recover(harness.sandbox.recoveryToken(AMELIA))).status).toBe(200)
    expect(errorOf(await activate('no-such-token-1'))).toEqual(REFUSED)
    expect(errorOf(await recover('no-such-token-2'))).toEqual([401, 'E0000011'])
    expect(errorOf(await activate('no-such-token-3'))).toEqual(LIMITED)
    expect(errorOf(await recover(harness.sandbox.recoveryToken(AMELIA)))).toEqual(LIMITED)
  })
})

describe('an operator who ends the limits of a user', () => {
  const OPS_TOKEN = 'plainly-fake-ops-token'
  const endLimits = async (userId: string, body: object = {}) => {
    const answer = await fetch(`${harness.gatehouse.opsUrl}/admin/users/${userId}/limits`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${OPS_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return [answer.status, await answer.json()]
  }
  const userIdOf = async (browser: Browser) => String((await browser.get('/api/v1/sessions/me')).json.userId)
  const startRecovery = (login: string) =>
    openBrowser(harness.gatehouse.url, FROM_PROXY).post('/api/v1/authn/recovery/password', {
      username: login,
      factorType: 'EMAIL',
    })

  test('unlocks a user in a new browser, and no other user', async () => {
    await limitedTo(
      { password: { perUser: atMost(2) }, recovery: { perUser: atMost(1) } },
      { env: { OPS_TOKEN, LOGIN_DOMAINS: 'example.test' } },
    )
    const userId = await userIdOf(await knownBrowser())
    for (const login of [AMELIA, TOMAS]) {
      expect(refusals(await inTurn(3, () => wrong(login)))).toEqual([REFUSED, REFUSED, LIMITED])
      expect((await inTurn(2, () => startRecovery(login))).map(({ status }) => status)).toEqual([200, 429])
    }
    const newBrowser = () => openBrowser(harness.gatehouse.url, FROM_PROXY)
    expect(errorOf(await right(newBrowser()))).toEqual(LIMITED)
    expect(await endLimits(userId)).toEqual([200, { ended: ['userId'] }])
    expect(errorOf(await right(newBrowser()))).toEqual(LIMITED) // passwords are counted by login
    expect(await endLimits(userId, { login: 'Amelia.Stone' })).toEqual([200, { ended: ['userId', 'login'] }])
    expect((await right(newBrowser())).json.status).toBe('SUCCESS')
    expect((await startRecovery(AMELIA)).status).toBe(200)
    expect(errorOf(await wrong(TOMAS))).toEqual(LIMITED)
    expect((await startRecovery(TOMAS)).status).toBe(429)
    // attempts count again
    expect(refusals(await inTurn(3, () => wrong(AMELIA)))).toEqual([REFUSED, REFUSED, LIMITED])
  })

  test('ends the limit on codes too, by the user id alone', async () => {
    await limitedTo({ code: { perUser: atMost(2) } }, { env: { OPS_TOKEN } })
    const browser = openBrowser(harness.gatehouse.url, FROM_PROXY)
    const startSignIn = async () => {
      const mfaRequired = await right(browser, TOMAS)
      const step = { stateToken: handleOf(mfaRequired) }
      return (passCode: string) =>
        browser.post(verifyHref(mfaRequired, 'token:software:totp'), { ...step, passCode })
    }
    const code = await startSignIn()
    expect(refusals(await inTurn(3, () => code('000000')))).toEqual([
      [403, 'E0000068'],
      [403, 'E0000068'],
      LIMITED,
    ])
    const userId = harness.gatehouse.logLines().findLast(({ event }) => event === 'limit_hit')?.userId
    expect(await endLimits(String(userId))).toEqual([200, { ended: ['userId'] }])
    expect((await code(harness.sandbox.totpCode(TOMAS))).json.status).toBe('SUCCESS')
  })
})

describe('an attempt is refunded after', () => {
  const FORBIDDEN = {
    errorCode: 'E0000006',
    errorSummary: 'As told',
    errorLink: 'E0000006',
    errorId: 'oaeAsTold',
    errorCauses: [],
  }
  const CREDENTIALS = { username: AMELIA, password: PASSWORD }

  test.each([
    ['500', { kind: 'status', status: 500 }, 502],
    ['an error that is no refusal', { kind: 'status', status: 403, body: FORBIDDEN }, 403],
    ['an HTML response', { kind: 'html' }, 502],
    ['a cut connection', { kind: 'cut' }, 502],
  ])('%s', async (_what, fault, status) => {
    await limitedTo({ password: { perUser: atMost(2), perAddress: atMost(2), perDevice: atMost(2) } })
    const browser = await harness.visit()
    // three of each kind: too few to open the breaker
    harness.sandbox.faults.authn.set({ ...fault, times: 3 } as never)
    const answers = await inTurn(3, () => browser.post('/api/v1/authn', CREDENTIALS))
    expect(answers.map((answer) => answer.status)).toEqual(repeated(status, 3))
    harness.sandbox.faults.authn.clear()
    await expectFullLimit(browser)
  })

  test('a 429 of the org', async () => {
    await limitedTo({ password: { perUser: atMost(2) } })
    harness.sandbox.faults.authn.set({ kind: 'rate-limited', retrySeconds: 1 })
    const browser = await harness.visit()
    const answers = await inTurn(3, () => browser.post('/api/v1/authn', CREDENTIALS))
    expect(refusals(answers)).toEqual(repeated(LIMITED, 3))
    expect(await remainingWindows()).toEqual([])
  })

  test('a time-out', async () => {
    const only = onlyLimits({ password: { perUser: atMost(2) } })
    harness = await startHarness({
      tunables: (shipped) => {
        const { upstream, ...rest } = only(shipped)
        return { ...rest, upstream: { ...upstream, authn: { ...upstream.authn, totalTimeoutMs: 300 } } }
      },
    })
    const browser = await harness.visit()
    harness.sandbox.faults.authn.set({ kind: 'delay', ms: 2000, times: 3 })
    const answers = await inTurn(3, () => browser.post('/api/v1/authn', CREDENTIALS))
    expect(answers.map(({ status }) => status)).toEqual([504, 504, 504])
    expect(await remainingWindows()).toEqual([])
  })

  test('a right password, with a factor still to verify', async () => {
    await limitedTo({ password: { perUser: atMost(2) } })
    const answers = await inTurn(5, async () => right(openBrowser(harness.gatehouse.url, FROM_PROXY), TOMAS))
    expect(answers.map(({ json }) => json.status)).toEqual(repeated('MFA_REQUIRED', 5))
    expect(refusals(await inTurn(3, () => wrong(TOMAS)))).toEqual([REFUSED, REFUSED, LIMITED])
  })

  async function expectFullLimit(browser: Browser) {
    expect(await remainingWindows()).toEqual([])
    const answers = await inTurn(3, () => wrong(AMELIA, browser, '203.0.113.9'))
    expect(refusals(answers)).toEqual([REFUSED, REFUSED, LIMITED])
  }
})

/** The names of all windows of wrong passwords in Redis. */
async function passwordWindows(client: Redis): Promise<string[]> {
  const keys = await client.keys('gatehouse:limit:{*')
  const names = await Promise.all(keys.map((key) => client.hkeys(key)))
  return names.flat().filter((name) => name.startsWith('password:'))
}

/** The windows with counted attempts. Refunds are written after the response, so this waits until there is none. */
const remainingWindows = async () => {
  const client = harness.redis.client()
  return until(
    async () => {
      const windows = await passwordWindows(client)
      return windows.length === 0 ? windows : undefined
    },
    { what: 'the refund of all attempts' },
  )
}

describe('a wrong old password', () => {
  const NEW_PASSWORD = 'Another-Password-2'
  const REFUSED_UPDATE = [403, 'E0000014']

  /** A new browser whose transaction has the status PASSWORD_EXPIRED. */
  async function openExpiredPassword(): Promise<PortalPage> {
    const page = await openPage(harness)
    expect((await page.signIn(OLGA)).json.status).toBe('PASSWORD_EXPIRED')
    return page
  }
  const change = (page: PortalPage, fields: object = {}, address = newAddress()) =>
    page.follow(
      '_links.next',
      { oldPassword: `wrong-${++sequence}`, newPassword: NEW_PASSWORD, ...fields },
      { headers: { 'x-forwarded-for': address } },
    )

  const only = { perUser: atMost(1000), perDevice: atMost(1000), perAddress: atMost(1000) }
  test.each([
    ['user', { ...only, perUser: atMost(2) }],
    ['device', { ...only, perDevice: atMost(2) }],
    ['address', { ...only, perAddress: atMost(2) }],
  ])(
    'counts by %s; beyond the limit even the right one is refused, and nothing is sent upstream',
    async (scope, password) => {
      await limitedTo({ password })
      const page = await openExpiredPassword()
      const from = '203.0.113.7'
      for (let n = 0; n < 2; n++) expect(errorOf(await change(page, {}, from))).toEqual(REFUSED_UPDATE)
      harness.clearUpstreamCalls()
      const refused = await change(page, { oldPassword: PASSWORD }, from)
      expect(errorOf(refused)).toEqual(LIMITED)
      expect(refused.headers.get('x-rate-limit-limit')).toBe('2')
      expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(harness.upstreamCalls()).toEqual([])
      expect(await harness.gatehouse.metrics()).toContain(
        `gatehouse_limit_hits_total{limit="password_${scope}"} 1`,
      )
    },
  )

  test('counts together with the wrong passwords of the same user, over all replicas', async () => {
    await limitedTo({ password: { perUser: atMost(3) } })
    const page = await openExpiredPassword()
    expect(errorOf(await change(page))).toEqual(REFUSED_UPDATE)
    expect(errorOf(await wrong(OLGA))).toEqual(REFUSED)
    const other = await harness.replica()
    const headers = { cookie: await page.browser.jar.getCookieString(harness.gatehouse.url) }
    const body = { stateToken: page.stateToken, oldPassword: 'wrong', newPassword: NEW_PASSWORD }
    const path = '/api/v1/authn/credentials/change_password'
    expect(errorOf(await page.browser.post(other.url + path, body, { headers }))).toEqual(REFUSED_UPDATE)
    expect(errorOf(await change(page))).toEqual(LIMITED)
    expect(errorOf(await wrong(OLGA))).toEqual(LIMITED)
  })

  test('is not counted if only the new password breaks the policy, nor if the change succeeds', async () => {
    await limitedTo({ password: { perUser: atMost(1) } })
    const page = await openExpiredPassword()
    for (const newPassword of ['!', 'Abc1!', 'Expired-Password-2', PASSWORD])
      expect(errorOf(await change(page, { oldPassword: PASSWORD, newPassword }))).toEqual(REFUSED_UPDATE)
    expect((await change(page, { oldPassword: PASSWORD })).json.status).toBe('SUCCESS')
    expect(await remainingWindows()).toEqual([])
  })

  test('counts by the limit of the known device there', async () => {
    await limitedTo({ password: { perUser: atMost(1), perKnownDevice: atMost(3) } })
    const page = await openExpiredPassword()
    await change(page, { oldPassword: PASSWORD })
    harness.sandbox.reset()
    await page.signIn(OLGA)
    const answers = await inTurn(4, () => change(page))
    expect(refusals(answers)).toEqual([...repeated(REFUSED_UPDATE, 3), LIMITED])
  })

  test('is not counted if the upstream fails', async () => {
    await limitedTo({ password: { perUser: atMost(1) } })
    const page = await openExpiredPassword()
    harness.sandbox.faults.authn.set({ kind: 'html', times: 1 })
    expect((await change(page)).status).toBeGreaterThanOrEqual(500)
    await remainingWindows()
    expect(errorOf(await change(page))).toEqual(REFUSED_UPDATE)
    expect(errorOf(await change(page))).toEqual(LIMITED)
  })
})

describe('a known device', () => {
  test('signs in while unknown devices have exhausted all limits', async () => {
    await limitedTo({ password: { perUser: atMost(2), perAddress: atMost(3), perKnownDevice: atMost(2) } })
    const known = await knownBrowser()
    const guesses = await inTurn(4, () => wrong(AMELIA, undefined, '203.0.113.5'))
    expect(refusals(guesses)).toEqual([REFUSED, REFUSED, LIMITED, LIMITED])
    const headers = { 'x-forwarded-for': '203.0.113.5' }
    const credentials = { username: AMELIA, password: PASSWORD }
    expect((await known.post('/api/v1/authn', credentials, { headers })).json.status).toBe('SUCCESS')
    expect(errorOf(await right(openBrowser(harness.gatehouse.url, FROM_PROXY)))).toEqual(LIMITED)
  })

  test('has a limit of its own, and does not use the limit of unknown devices', async () => {
    await limitedTo({ password: { perUser: atMost(2), perAddress: atMost(2), perKnownDevice: atMost(3) } })
    const known = await knownBrowser()
    const sameAddress = '203.0.113.5'
    expect(refusals(await inTurn(4, () => wrong(AMELIA, known, sameAddress)))).toEqual([
      ...repeated(REFUSED, 3),
      LIMITED,
    ])
    expect(refusals(await inTurn(3, () => wrong(AMELIA, undefined, sameAddress)))).toEqual([
      ...repeated(REFUSED, 2),
      LIMITED,
    ])
  })

  test('is known for that user only, under every spelling; an incomplete sign-in makes no device known', async () => {
    await limitedTo({ password: { perUser: atMost(1) } })
    const browser = await knownBrowser('amelia.stone')
    expect((await right(browser, TOMAS)).json.status).toBe('MFA_REQUIRED')
    for (const login of [AMELIA, TOMAS]) await wrong(login)
    expect((await right(browser, AMELIA)).json.status).toBe('SUCCESS')
    expect((await right(browser, 'amelia.stone')).json.status).toBe('SUCCESS')
    expect(errorOf(await right(browser, TOMAS))).toEqual(LIMITED)
  })

  test('stays known for 90 days after the last sign-in', async () => {
    await limitedTo({ password: { perUser: atMost(1) } })
    await knownBrowser()
    const client = harness.redis.client()
    const keys = await client.keys('gatehouse:known:{*')
    expect(keys).toHaveLength(2) // by the login and by the user id
    for (const key of keys) {
      expect(key).toMatch(/^gatehouse:known:\{[\w-]{43}\}:[\w-]{43}$/)
      expect(await client.get(key)).toBe('1')
      const days = (await client.pttl(key)) / 86_400_000
      expect(days).toBeGreaterThan(89.9)
      expect(days).toBeLessThanOrEqual(90)
    }
  })
})

describe('consecutive failures', () => {
  const inARow = (attempts: number) => ({ inARow: { attempts, perSeconds: 2_592_000 } })

  test('are reset by a complete sign-in in any browser', async () => {
    await limitedTo({ password: { perUser: { ...atMost(1000), ...inARow(3) } } })
    const known = await knownBrowser()
    for (let round = 0; round < 3; round++) {
      expect(refusals(await inTurn(4, () => wrong(AMELIA)))).toEqual([...repeated(REFUSED, 3), LIMITED])
      expect((await right(known)).json.status).toBe('SUCCESS')
    }
  })

  test('of known devices count over all of them', async () => {
    await limitedTo({ password: { perKnownUser: { ...atMost(1000), ...inARow(3) } } })
    const first = await knownBrowser()
    const second = await knownBrowser()
    expect(refusals(await inTurn(2, () => wrong(AMELIA, first)))).toEqual(repeated(REFUSED, 2))
    expect(refusals(await inTurn(2, () => wrong(AMELIA, second)))).toEqual([REFUSED, LIMITED])
    expect((await right(openBrowser(harness.gatehouse.url, FROM_PROXY))).json.status).toBe('SUCCESS')
    expect(errorOf(await wrong(AMELIA, second))).toEqual(REFUSED)
  })
})

test('all known devices of one user share a further limit', async () => {
  const shared = { perKnownUser: atMost(5, 600) }
  await limitedTo({ password: shared, recovery: shared })
  const browsers = await inTurn(8, () => knownBrowser())
  const recover = (browser: Browser) =>
    browser.post('/api/v1/authn/recovery/password', { username: AMELIA, factorType: 'EMAIL' })
  for (const [ask, allowed] of [
    [wrong.bind(undefined, AMELIA), REFUSED],
    [recover, [200, undefined]],
  ] as const) {
    const answers = []
    for (const browser of browsers) answers.push(await ask(browser))
    expect(refusals(answers)).toEqual([...repeated(allowed, 5), ...repeated(LIMITED, 3)])
  }
})

describe('keys, audit and outages', () => {
  test('keys contain no login and no address, and all of them expire', async () => {
    await limitedTo({ password: { perUser: atMost(2) } })
    await wrong(AMELIA, undefined, '203.0.113.5')
    const client = harness.redis.client()
    const keys = await client.keys('gatehouse:limit:{*')
    expect(keys).toHaveLength(3) // two of the user (a day, consecutive failures), one of the address
    for (const key of keys) {
      expect(key).toMatch(/^gatehouse:limit:\{[\w-]{43}\}(:in_a_row)?$/)
      expect(await client.pttl(key)).toBeGreaterThan(0)
      for (const [name, window] of Object.entries(await client.hgetall(key))) {
        expect(name).toMatch(/^password(:[a-z_]+)(:[\w-]{20})?:(burst|sustained|inARow)$/)
        expect(window).toMatch(/^1 \d{13} [\w-]{6}$/) // count, end of the window, id of the attempt that began it
      }
    }
    expect((await passwordWindows(client)).length).toBeGreaterThan(5)
  })

  test('a limit that is hit is counted by its name and audited, without login or code', async () => {
    await limitedTo({ password: { perUser: atMost(1) } })
    const guesses = await inTurn(3, () => wrong(AMELIA, undefined, '203.0.113.5'))
    expect(refusals(guesses)).toEqual([REFUSED, LIMITED, LIMITED])
    expect(await harness.gatehouse.metrics()).toContain('gatehouse_limit_hits_total{limit="password_user"} 2')
    const hits = harness.gatehouse.logLines().filter(({ event }) => event === 'limit_hit')
    expect(hits).toHaveLength(2)
    expect(hits[0]).toMatchObject({
      audit: true,
      limit: 'password_user',
      operation: 'primary',
      address: '203.0.113.5',
      loginHash: expect.stringMatching(/^[\w-]{16}$/),
      deviceHash: expect.stringMatching(/^[\w-]{16}$/),
      retryAfterSeconds: expect.any(Number),
    })
    expect(harness.gatehouse.logText()).not.toMatch(/amelia/i)
  })

  test('without Redis the response is 503, nothing is sent upstream, and no attempt is consumed', async () => {
    const limited = onlyLimits({ password: { perUser: atMost(2) } })
    harness = await startHarness({
      redis: { persist: true },
      tunables: (shipped) => ({
        ...limited(shipped),
        store: { connectTimeoutMs: 2000, commandTimeoutMs: 2000 },
      }),
    })
    const browser = await harness.visit()
    expect(errorOf(await wrong(AMELIA, browser))).toEqual(REFUSED)
    harness.clearUpstreamCalls()
    await harness.redis.kill()
    const answers = await inTurn(3, () => wrong(AMELIA, browser))
    expect(refusals(answers)).toEqual(repeated([503, 'E0000009'], 3))
    expect(harness.upstreamCalls()).toEqual([])
    await harness.redis.restart()
    const ready = async () => (await fetch(`${harness.gatehouse.opsUrl}/readyz`)).ok
    await until(ready)
    expect(refusals(await inTurn(2, () => wrong(AMELIA, browser)))).toEqual([REFUSED, LIMITED])
  })
})

test('a transaction in progress is not affected by the wrong passwords of other browsers', async () => {
  await limitedTo({ password: { perUser: atMost(1) } })
  const browser = await harness.visit()
  const mfaRequired = await right(browser, TOMAS)
  expect(refusals(await inTurn(2, () => wrong(TOMAS)))).toEqual([REFUSED, LIMITED])
  const done = await browser.post(verifyHref(mfaRequired, 'token:software:totp'), {
    stateToken: handleOf(mfaRequired),
    passCode: harness.sandbox.totpCode(TOMAS),
  })
  expect(done.json.status).toBe('SUCCESS')
})
