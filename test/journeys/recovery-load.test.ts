import { afterEach, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { sendConcurrently } from '../support/coalesced-requests.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { handleOf, hrefAt } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Recovery steps that are delayed on purpose must not use up the capacity for sign-ins. */

const UNKNOWN = 'nobody.at.all@example.test'
const USERS = [AMELIA, UNKNOWN]
const HOUR_MS = 3_600_000

let harness: Harness
afterEach(() => harness.stop())

const start = (browser: Browser, username: string, factorType = 'SMS') =>
  browser.post('/api/v1/authn/recovery/password', { username, factorType })

/** A response without its random values. */
const anonymous = ({ status, text, headers, json }: PageAnswer) => ({
  status,
  names: [...headers.keys()].filter((name) => name !== 'set-cookie').toSorted(),
  retryAfter: headers.get('retry-after'),
  body: text.replaceAll(String(json.errorId), '<error id>'),
})

test('a refusal by the broker’s own record is not delayed, and is equal for known and unknown users', async () => {
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
    harness.clearUpstreamCalls()
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

test('identical steps share one upstream call whatever their fingerprint, for known and unknown users', async () => {
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
    harness.clearUpstreamCalls()
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
  'while a recovery %s is in progress, a third request of its transaction is refused at once',
  async (step) => {
    harness = await startHarness({
      tunables: (tunables) => ({ ...tunables, recovery: { ...tunables.recovery, resendAfterMs: 1 } }),
    })
    for (const username of USERS) {
      const browser = await harness.visit()
      const started = await start(browser, username)
      const path = new URL(hrefAt(started, '_links.next')).pathname.replace(/verify$/, step)
      const body = { stateToken: handleOf(started), ...(step === 'verify' ? { passCode: '000000' } : {}) }
      harness.clearUpstreamCalls()
      const release = harness.sandbox.faults.authn.hold({})
      const waiting = [browser.post(path, body), browser.post(path, body)]
      await until(() => harness.upstreamCalls().length === 1)
      const third = await browser.post(path, body)
      expect([third.status, third.json.errorCode]).toEqual([503, 'E0000009'])
      release()
      await Promise.all(waiting)
    }
  },
)

test('delayed recoveries use up their own class only: sign-in still works', async () => {
  const MAX_IN_FLIGHT = 2
  harness = await startHarness({
    env: { TRUST_PROXY: '127.0.0.1' },
    tunables: (tunables) => {
      const { load } = tunables.http
      const inFlight = { ...load.inFlight, sign_in: MAX_IN_FLIGHT, recovery: MAX_IN_FLIGHT }
      return { ...tunables, http: { ...tunables.http, load: { ...load, inFlight } } }
    },
  })
  let addresses = 0
  const newBrowser = () => openBrowser(harness.gatehouse.url, { 'x-forwarded-for': `192.0.2.${++addresses}` })
  const release = harness.sandbox.faults.authn.hold({ times: MAX_IN_FLIGHT })
  const waiting = USERS.map((username) => start(newBrowser(), username, 'EMAIL'))
  await until(() => harness.upstreamCalls().length === MAX_IN_FLIGHT)
  const shed = await start(newBrowser(), UNKNOWN, 'EMAIL')
  expect([shed.status, shed.json.errorCode]).toEqual([503, 'E0000009'])
  const signedIn = await newBrowser().post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect(signedIn.json.status).toBe('SUCCESS')
  release()
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200)
})
