import { afterEach, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { sendConcurrently } from '../support/coalesced-requests.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { handleOf, hrefAt } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Recovery steps that wait on purpose must not take up what sign-ins need. */

const UNKNOWN = 'nobody.at.all@example.test'
const USERS = [AMELIA, UNKNOWN]
const HOUR_MS = 3_600_000

let harness: Harness
afterEach(() => harness.stop())

const start = (browser: Browser, username: string, factorType = 'SMS') =>
  browser.post('/api/v1/authn/recovery/password', { username, factorType })

/** An answer without its random values. */
const anonymous = ({ status, text, headers, json }: PageAnswer) => ({
  status,
  names: [...headers.keys()].filter((name) => name !== 'set-cookie').toSorted(),
  retryAfter: headers.get('retry-after'),
  body: text.replaceAll(String(json.errorId), '<error id>'),
})

test('a refusal that follows from the broker’s own record comes at once, alike for known and unknown users', async () => {
  let answerMs = 20
  const nowMs = Date.now()
  harness = await startHarness({
    now: () => nowMs,
    tunables: (tunables) => ({
      ...tunables,
      recovery: { ...tunables.recovery, recoveryAnswerMs: answerMs, maxWrongCodes: 1 },
    }),
  })
  answerMs = HOUR_MS
  const slow = await harness.replica()
  const refusals: object[][] = []
  for (const username of USERS) {
    const browser = await harness.visit()
    const started = await start(browser, username)
    const stateToken = handleOf(started)
    const code = { stateToken, passCode: '000000' }
    expect((await browser.post(hrefAt(started, '_links.next'), code)).json.errorCode).toBe('E0000068')
    harness.forget()
    const onSlow = (path: string, body: object) =>
      browser.post(slow.url + new URL(path, slow.url).pathname, body)
    const answers = [
      await onSlow('/api/v1/authn/previous', { stateToken }),
      await onSlow('/api/v1/authn/skip', { stateToken }),
      await onSlow('/api/v1/authn', { stateToken, username: AMELIA, password: PASSWORD }),
      await onSlow(hrefAt(started, '_links.next'), code),
      await onSlow(hrefAt(started, '_links.resend'), { stateToken }),
      await onSlow('/api/v1/authn/recovery/password', { username, factorType: 'SMS' }),
    ]
    expect(answers.map(({ status, json }) => [status, json.errorCode])).toEqual([
      [403, 'E0000079'],
      [403, 'E0000079'],
      [403, 'E0000079'],
      [403, 'E0000069'],
      [429, 'E0000109'],
      [429, 'E0000109'],
    ])
    expect(harness.upstreamCalls()).toEqual([])
    refusals.push(answers.map(anonymous))
  }
  expect(refusals[0]).toEqual(refusals[1])
})

test('equal steps are one whatever fingerprint of the device the browser names, alike for known and unknown users', async () => {
  harness = await startHarness({
    tunables: (tunables) => ({ ...tunables, recovery: { ...tunables.recovery, recoveryAnswerMs: 20 } }),
  })
  for (const username of USERS) {
    const browser = await harness.visit()
    const started = await start(browser, username)
    const stateToken = handleOf(started)
    const verifyFrom = (fingerprint: string) => () =>
      browser.post(
        hrefAt(started, '_links.next'),
        { stateToken, passCode: '000000' },
        { headers: { 'x-device-fingerprint': fingerprint } },
      )
    harness.forget()
    const { sandbox, redis, gatehouse } = harness
    const answers = await sendConcurrently(
      { sandbox, redis, brokers: [gatehouse] },
      ['one', 'another'].map(verifyFrom),
    )
    for (const { json } of answers) expect(json.errorCode).toBe('E0000068')
    expect(harness.upstreamCalls()).toHaveLength(1)
  }
})

test.each(['verify', 'resend'])(
  'while a recovery %s waits, a third request of its transaction is refused at once',
  async (move) => {
    harness = await startHarness({
      tunables: (tunables) => ({ ...tunables, recovery: { ...tunables.recovery, resendAfterMs: 1 } }),
    })
    for (const username of USERS) {
      const browser = await harness.visit()
      const started = await start(browser, username)
      const path = new URL(hrefAt(started, '_links.next')).pathname.replace(/verify$/, move)
      const body = { stateToken: handleOf(started), ...(move === 'verify' ? { passCode: '000000' } : {}) }
      harness.forget()
      const letGo = harness.sandbox.faults.authn.hold({})
      const waiting = [browser.post(path, body), browser.post(path, body)]
      await until(() => harness.upstreamCalls().length === 1)
      const third = await browser.post(path, body)
      expect([third.status, third.json.errorCode]).toEqual([503, 'E0000009'])
      letGo()
      await Promise.all(waiting)
    }
  },
)

test('recoveries that wait take up places of their own: signing in goes on', async () => {
  const PLACES = 2
  harness = await startHarness({
    env: { TRUST_PROXY: '127.0.0.1' },
    tunables: (tunables) => {
      const { load } = tunables.http
      const inFlight = { ...load.inFlight, sign_in: PLACES, recovery: PLACES }
      return { ...tunables, http: { ...tunables.http, load: { ...load, inFlight } } }
    },
  })
  let addresses = 0
  const visitor = () => openBrowser(harness.gatehouse.url, { 'x-forwarded-for': `192.0.2.${++addresses}` })
  const letGo = harness.sandbox.faults.authn.hold({ times: PLACES })
  const waiting = USERS.map((username) => start(visitor(), username, 'EMAIL'))
  await until(() => harness.upstreamCalls().length === PLACES)
  const turnedAway = await start(visitor(), UNKNOWN, 'EMAIL')
  expect([turnedAway.status, turnedAway.json.errorCode]).toEqual([503, 'E0000009'])
  const signedIn = await visitor().post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect(signedIn.json.status).toBe('SUCCESS')
  letGo()
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200)
})
