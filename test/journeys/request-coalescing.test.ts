import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { makeBrokerDirectory } from '../support/broker-process.ts'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { sendConcurrently } from '../support/coalesced-requests.ts'
import { type Gatehouse, patientTunables } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Impatient clicks, a proxy that sends a request twice: what reaches the upstream is one attempt, on however many replicas. */
let harness: Harness
let replicas: readonly Gatehouse[]
beforeAll(async () => {
  harness = await startHarness()
  replicas = [harness.gatehouse, await harness.replica(), await harness.replica()]
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

const CLICKS = 9

/** The same request of one browser, so many times at once, spread over the replicas. */
async function click(browser: Browser, path: string, body: object): Promise<PageAnswer[]> {
  const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
  harness.forget()
  const clicks = Array.from({ length: CLICKS }, (_, n) => () => {
    const { url } = replicas[n % replicas.length] ?? harness.gatehouse
    return openBrowser(harness.gatehouse.url).post(url + path, body, { headers: { cookie } })
  })
  return sendConcurrently({ ...harness, brokers: replicas }, clicks)
}

function expectOneAnswer(answers: readonly PageAnswer[], status: number) {
  expect(answers.map((answer) => answer.status)).toEqual(Array(CLICKS).fill(status))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  const sessions = answers.map(({ setCookies }) =>
    setCookies.find((cookie) => cookie.startsWith('gatehouse=')),
  )
  expect(new Set(sessions).size).toBe(1)
  expect(harness.upstreamCalls()).toHaveLength(1)
}

test('a sign-in is one attempt upstream and one session', async () => {
  const browser = await harness.visit()
  const answers = await click(browser, '/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expectOneAnswer(answers, 200)
  expect(answers[0]?.json.status).toBe('SUCCESS')
  const other = await harness.visit()
  await other.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect((await other.get('/api/v1/sessions')).json.sessions).toHaveLength(2)
})

test('a wrong password is one attempt, upstream and of what a person may try', async () => {
  const browser = await harness.visit()
  const body = { username: TOMAS, password: 'wrong-password' }
  expectOneAnswer(await click(browser, '/api/v1/authn', body), 401)
})

test('a sign-in that goes on is one transaction, and its code one attempt', async () => {
  const browser = await harness.visit()
  const asked = await click(browser, '/api/v1/authn', { username: TOMAS, password: PASSWORD })
  expectOneAnswer(asked, 200)
  const [first] = asked
  if (first === undefined) throw new Error('no answer')
  const code = { stateToken: handleOf(first), passCode: harness.sandbox.totpCode(TOMAS) }
  const path = new URL(verifyHref(first, 'token:software:totp')).pathname
  const done = await click(browser, path, code)
  expectOneAnswer(done, 200)
  expect(done[0]?.json.status).toBe('SUCCESS')
})

test('a code asked for by text message is sent once', async () => {
  const browser = await harness.visit()
  const body = { username: 'tomas.berg@example.test', factorType: 'SMS' }
  expectOneAnswer(await click(browser, '/api/v1/authn/recovery/password', body), 200)
})

test('another browser with the same credentials is an attempt of its own', async () => {
  const [one, other] = [await harness.visit(), await harness.visit()]
  harness.forget()
  const credentials = { username: AMELIA, password: PASSWORD }
  const answers = await Promise.all([one, other].map((browser) => browser.post('/api/v1/authn', credentials)))
  expect(answers.map(({ json }) => json.status)).toEqual(['SUCCESS', 'SUCCESS'])
  expect(harness.upstreamCalls()).toHaveLength(2)
})

test('a replica that dies at a step holds it up no longer than its lock', async () => {
  const home = await makeBrokerDirectory(() => {
    const tunables = patientTunables()
    const { upstream, transaction } = tunables
    return {
      ...tunables,
      upstream: { ...upstream, authn: { ...upstream.authn, connectTimeoutMs: 1000, totalTimeoutMs: 1000 } },
      transaction: { ...transaction, stepLockMs: 2000 },
    }
  })
  try {
    const dying = await home.start({
      ...harness.signInEnv,
    })
    const browser = await harness.visit()
    const asked = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    const path = new URL(verifyHref(asked, 'token:software:totp')).pathname
    const code = { stateToken: handleOf(asked), passCode: harness.sandbox.totpCode(TOMAS) }
    const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
    harness.sandbox.faults.authn.set({ kind: 'delay', ms: 60_000, times: 1 })
    harness.forget()
    const lost = browser.post(dying.url + path, code, { headers: { cookie } }).catch(() => 'lost')
    await until(() => harness.upstreamCalls().length === 1)
    dying.child.kill('SIGKILL')
    expect(await lost).toBe('lost')
    expect((await browser.post(path, code)).json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(TOMAS)
  } finally {
    await home.remove()
  }
})

test('no lock is left', async () => {
  const redis = harness.redis.client()
  await until(async () => (await redis.keys('gatehouse:lock:*')).every((key) => key.split(':').length > 3))
})
