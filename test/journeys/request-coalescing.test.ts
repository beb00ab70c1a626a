import { beforeAll, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { sendConcurrently } from '../support/coalesced-requests.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { PASSWORD, PRIYA, TOMAS, useHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

/**
 * Repeated sends, or a proxy that sends a request twice: identical requests are one upstream
 * attempt, within a transaction on any number of replicas. A step that begins a transaction has no
 * lock, so of two identical sign-ins, each replica sends its own.
 */
const harness = useHarness()
let replicas: readonly Gatehouse[]
beforeAll(async () => {
  replicas = [harness.gatehouse, await harness.replica(), await harness.replica()]
})

const REQUESTS = 9

/** Sends the same request of one browser REQUESTS times at once, spread over these replicas. */
async function sendRepeatedly(
  replicas: readonly Gatehouse[],
  browser: Browser,
  path: string,
  body: object,
): Promise<PageAnswer[]> {
  const cookie = await browser.jar.getCookieString(harness.gatehouse.url)
  harness.clearUpstreamCalls()
  const sends = Array.from({ length: REQUESTS }, (_, n) => () => {
    const { url } = replicas[n % replicas.length] ?? harness.gatehouse
    return openBrowser(harness.gatehouse.url).post(url + path, body, { headers: { cookie } })
  })
  return sendConcurrently(harness, replicas, sends)
}

function expectSharedAnswer(answers: readonly PageAnswer[], status: number) {
  expect(answers.map((answer) => answer.status)).toEqual(Array(REQUESTS).fill(status))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  const sessions = answers.map(({ setCookies }) =>
    setCookies.find((cookie) => cookie.startsWith('gatehouse=')),
  )
  expect(new Set(sessions).size).toBe(1)
  expect(harness.upstreamCalls()).toHaveLength(1)
}

// shows: V2.3.4
test('identical sign-ins at one replica are one transaction, and identical codes one attempt', async () => {
  const browser = await harness.visit()
  const credentials = { username: TOMAS, password: PASSWORD }
  const mfaRequired = await sendRepeatedly([harness.gatehouse], browser, '/api/v1/authn', credentials)
  expectSharedAnswer(mfaRequired, 200)
  const [first] = mfaRequired
  if (first === undefined) throw new Error('no answer')
  const code = { stateToken: handleOf(first), passCode: harness.sandbox.totpCode(TOMAS) }
  const path = new URL(verifyHref(first, 'token:software:totp')).pathname
  const done = await sendRepeatedly(replicas, browser, path, code)
  expectSharedAnswer(done, 200)
  expect(done[0]?.json.status).toBe('SUCCESS')
})

test('identical polls share one upstream call, whatever their fingerprint and rememberDevice', async () => {
  const page = await openPage(harness)
  await page.signIn(PRIYA)
  await page.verify('push')
  harness.clearUpstreamCalls()
  const [poll, body] = [hrefAt(page.held, '_links.next'), { stateToken: handleOf(page.held) }]
  const send = (path: string, headers = {}) => {
    return () => page.browser.post(path, body, { headers })
  }
  const fingerprints = ['one', 'another'].map((print) => send(poll, { 'x-device-fingerprint': print }))
  const remembering = ['true', 'false'].map((remember) => send(`${poll}?rememberDevice=${remember}`))
  const answers = await sendConcurrently(harness, [harness.gatehouse], [...fingerprints, ...remembering])
  expect(answers.map(({ json }) => json.factorResult)).toEqual(Array(4).fill('WAITING'))
  expect(harness.upstreamCalls()).toHaveLength(1)
})
