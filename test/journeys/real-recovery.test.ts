import { beforeEach, describe, expect, test } from '@jest/globals'
import { statusOf } from 'gatehouse-sandbox/authn/user-lifecycle'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { AMELIA, PASSWORD, useHarness } from '../support/harness.ts'
import { errorOf, handleOf, hrefAt } from '../support/transaction-view.ts'

/** Recovery at an org that behaves as real orgs do: each test names the fact (docs/unproven.md). */
const harness = useHarness({
  tunables: (tunables) => ({ ...tunables, recovery: { ...tunables.recovery, recoveryAnswerMs: 1 } }),
})
beforeEach(async () => {
  await harness.redis.client().flushall()
})

const RECOVERY = '/api/v1/authn/recovery'
const MILA = 'mila.nophone@example.test'
const ANSWER = 'gatehouse'
const NEW_PASSWORD = 'Another-Password-2'

const start = (browser: Browser, body: object) => browser.post(`${RECOVERY}/password`, body)
const redeem = (browser: Browser, recoveryToken: string) =>
  browser.post(`${RECOVERY}/token`, { recoveryToken })
const signIn = async (browser: Browser, username: string, password = PASSWORD) =>
  browser.post('/api/v1/authn', { username, password })
const follow = (browser: Browser, answer: PageAnswer, body: object = {}, link = '_links.next') =>
  browser.post(hrefAt(answer, link), { stateToken: handleOf(answer), ...body })
const sentTo = (login: string) => harness.sandbox.outbox.messages.filter((message) => message.login === login)

test.each(['EMAIL', 'SMS', 'CALL'])(
  'R1: a recovery by %s that a stranger starts changes nothing for the user, who signs in with the password',
  async (factorType) => {
    await start(await harness.visit(), { username: AMELIA, factorType })
    expect(statusOf(harness.sandbox.user(AMELIA))).toBe('ACTIVE')
    expect((await signIn(await harness.visit(), AMELIA)).json.status).toBe('SUCCESS')
    expect(sentTo(AMELIA)).toHaveLength(1)
  },
)

test('R3: Okta sees the address of the user, although no API token is sent', async () => {
  const replica = await harness.replica({ TRUST_PROXY: '127.0.0.1' })
  const body = JSON.stringify({ username: AMELIA, factorType: 'EMAIL' })
  harness.clearUpstreamCalls()
  await fetch(`${replica.url}${RECOVERY}/password`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      'x-forwarded-for': '198.51.100.7',
    },
    body,
  })
  const [call] = harness.upstreamCalls()
  expect(call?.headers).toMatchObject({ 'x-forwarded-for': '198.51.100.7' })
  expect(call?.headers).not.toHaveProperty('authorization')
})

describe('R5: a new password after a recovery', () => {
  test.each([
    ['ends the user’s other sessions', {}, 404],
    ['ends them with revokeSessions: true', { revokeSessions: true }, 404],
    ['keeps them with revokeSessions: false', { revokeSessions: false }, 200],
  ])('%s', async (_name, more, status) => {
    const [elsewhere, here] = [await harness.visit(), await harness.visit()]
    await signIn(elsewhere, MILA)
    const redeemed = await redeem(here, harness.sandbox.recoveryToken(MILA))
    const done = await follow(here, redeemed, { newPassword: NEW_PASSWORD, ...more })
    expect(done.json.status).toBe('SUCCESS')
    expect((await here.get('/api/v1/sessions/me')).json.login).toBe(MILA)
    expect((await elsewhere.get('/api/v1/sessions/me')).status).toBe(status)
  })

  test('by code ends them too, and the sign-in goes on with a factor', async () => {
    const TOMAS = 'tomas.berg@example.test'
    harness.sandbox.user(TOMAS).config.signOnPolicy = 'always'
    const [elsewhere, here] = [await harness.visit(), await harness.visit()]
    const challenged = await signIn(elsewhere, TOMAS)
    const code = () => ({ passCode: harness.sandbox.totpCode(TOMAS) })
    const verify = '_embedded.factors.0._links.verify'
    await follow(elsewhere, challenged, code(), verify)
    expect((await elsewhere.get('/api/v1/sessions/me')).status).toBe(200)

    const started = await start(here, { username: TOMAS, factorType: 'SMS' })
    const asked = await follow(here, started, { passCode: sentTo(TOMAS).at(-1)?.code })
    const answered = await follow(here, asked, { answer: ANSWER })
    const required = await follow(here, answered, { newPassword: NEW_PASSWORD })
    expect(required.json.status).toBe('MFA_REQUIRED')
    expect((await elsewhere.get('/api/v1/sessions/me')).status).toBe(404)
    await follow(here, required, code(), verify)
    expect((await here.get('/api/v1/sessions/me')).json.login).toBe(TOMAS)
  })

  test('after an activation does not end sessions unless asked to', async () => {
    const AIDA = 'aida.nopassword@example.test'
    const [elsewhere, here] = [await harness.visit(), await harness.visit()]
    const activate = async (browser: Browser) =>
      browser.post('/api/v1/authn', { token: harness.sandbox.activationToken(AIDA) })
    const [first, second] = [await activate(elsewhere), await activate(here)]
    await follow(elsewhere, first, { newPassword: NEW_PASSWORD })
    await follow(here, second, { newPassword: `${NEW_PASSWORD}-3` })
    expect((await elsewhere.get('/api/v1/sessions/me')).status).toBe(200)
  })
})

describe('R6: a token of an email', () => {
  test('is redeemed again after its first transaction has expired', async () => {
    const browser = await harness.visit()
    const token = harness.sandbox.recoveryToken(MILA)
    const first = await redeem(browser, token)
    harness.sandbox.expireTransactions()
    const expired = await follow(browser, first, { newPassword: NEW_PASSWORD })
    expect(errorOf(expired)).toEqual([401, 'E0000011'])
    const again = await redeem(browser, token)
    expect((await follow(browser, again, { newPassword: NEW_PASSWORD })).json.status).toBe('SUCCESS')
  })

  test('to activate an account is redeemed again until the password is set', async () => {
    const browser = await harness.visit()
    const token = harness.sandbox.activationToken('aida.nopassword')
    await browser.post('/api/v1/authn', { token })
    const again = await browser.post('/api/v1/authn', { token })
    expect((await follow(browser, again, { newPassword: NEW_PASSWORD })).json.status).toBe('SUCCESS')
    expect(errorOf(await browser.post('/api/v1/authn', { token }))).toEqual([401, 'E0000004'])
  })

  test('lives as long as Okta says: 5 minutes 30 seconds', async () => {
    const { json } = await redeem(await harness.visit(), harness.sandbox.recoveryToken(MILA))
    const leftS = (Date.parse(String(json.expiresAt)) - Date.now()) / 1000
    expect(leftS).toBeGreaterThan(300)
    expect(leftS).toBeLessThanOrEqual(330)
  })
})

test.each(['E0000105', 'E0000110', 'E0000006'] as const)(
  'R7: used links, refused with %s, count as guesses of their address, which is stopped after 20',
  async (usedLink) => {
    harness.sandbox.settings.usedLink = usedLink
    const token = harness.sandbox.recoveryToken(MILA)
    const browser = await harness.visit()
    await follow(browser, await redeem(browser, token), { newPassword: NEW_PASSWORD })
    harness.clearUpstreamCalls()
    for (let n = 0; n < 20; n += 1)
      expect(errorOf(await redeem(await harness.visit(), token))).toEqual([403, usedLink])
    expect(errorOf(await redeem(await harness.visit(), token))).toEqual([429, 'E0000047'])
    expect(harness.upstreamCalls()).toHaveLength(20)
  },
)

test('R8: after too many wrong recovery answers the page is told that the account is locked', async () => {
  const browser = await harness.visit()
  const asked = await redeem(browser, harness.sandbox.recoveryToken(AMELIA))
  const errors: unknown[] = []
  for (let n = 0; n < 5; n += 1)
    errors.push((await follow(browser, asked, { answer: `wrong ${n}` })).json.errorCode)
  expect(errors).toEqual([...Array(4).fill('E0000087'), 'E0000119'])
})

describe('R9: a name that Okta also finds by email', () => {
  test('starts the recovery of the same user', async () => {
    const browser = await harness.visit()
    const EMIL = 'emil.emails@example.test'
    const names = [EMIL, 'emil@mail.example.test', 'emil.private@example.org']
    for (const username of names) await start(browser, { username, factorType: 'EMAIL' })
    expect(sentTo(EMIL)).toHaveLength(names.length)
  })
})

describe('R10: relayState', () => {
  const FOREIGN = 'https://other.example.test/where?x=1'

  test.each(['EMAIL', 'SMS'])(
    'by %s is returned, and not sent to Okta, which would refuse it',
    async (factorType) => {
      const browser = await harness.visit()
      harness.clearUpstreamCalls()
      const started = await start(browser, { username: AMELIA, factorType, relayState: FOREIGN })
      expect(started.json).toMatchObject({ status: 'RECOVERY_CHALLENGE', relayState: FOREIGN })
      expect(harness.upstreamCalls().map(({ body }) => body)).toEqual([{ username: AMELIA, factorType }])
      expect(sentTo(AMELIA)).toHaveLength(1)
    },
  )

  test('is returned with every answer of a recovery by code, until its end', async () => {
    const browser = await harness.visit()
    const started = await start(browser, { username: AMELIA, factorType: 'SMS', relayState: FOREIGN })
    const asked = await follow(browser, started, { passCode: sentTo(AMELIA).at(-1)?.code })
    const state = await browser.post('/api/v1/authn', { stateToken: handleOf(asked) })
    const answered = await follow(browser, asked, { answer: ANSWER })
    const done = await follow(browser, answered, { newPassword: NEW_PASSWORD })
    expect(done.json.status).toBe('SUCCESS')
    for (const { json } of [asked, state, answered, done]) expect(json.relayState).toBe(FOREIGN)
  })

  test('is returned by cancel', async () => {
    const browser = await harness.visit()
    const started = await start(browser, { username: AMELIA, factorType: 'SMS', relayState: FOREIGN })
    const asked = await follow(browser, started, { passCode: sentTo(AMELIA).at(-1)?.code })
    expect((await follow(browser, asked, {}, '_links.cancel')).json).toEqual({ relayState: FOREIGN })
  })

  test('of a sign-in is Okta’s', async () => {
    const browser = await harness.visit()
    const body = { username: AMELIA, password: PASSWORD, relayState: 'anything' }
    expect((await browser.post('/api/v1/authn', body)).json.relayState).toBe('anything')
  })
})
