import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { FaultRule } from '../../src/sandbox/fault-rules.ts'
import type { PamErrorName } from '../../src/sandbox/pam/pam-errors.ts'
import { rawExchange } from '../http/serve.ts'
import { type Browser, type JsonObject, openBrowser } from '../support/browser.ts'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { addError, type Origins, type RecordedErrors, recordErrors } from '../support/recorded-examples.ts'
import { valueAt } from '../support/transaction-view.ts'

/** The examples of errors in the OpenAPI document are answers of these journeys. */

const FILE = join(import.meta.dirname, '../../src/openapi/error-examples.json')
const AUTHN = '/api/v1/authn'
const ME = '/api/v1/sessions/me'
const user = (name: string) => `${name}@example.test`

const errors: RecordedErrors = {}
const nowMs = Date.now()
let harness: Harness
/** With short timeouts. */
let shortTimeouts: Gatehouse
let origins: Origins
beforeAll(async () => {
  harness = await startHarness({ now: () => nowMs, sandboxNow: () => nowMs, tunables: generousLimits })
  shortTimeouts = await startGatehouse({
    env: { ...harness.signInEnv, REDIS_URL: 'memory:' },
    tunables: (tunables) => ({
      ...tunables,
      http: {
        ...tunables.http,
        headersTimeoutMs: 400,
        requestTimeoutMs: 800,
        connectionsCheckIntervalMs: 50,
      },
      upstream: { ...tunables.upstream, authn: { ...tunables.upstream.authn, totalTimeoutMs: 300 } },
    }),
  })
  origins = [[harness.gatehouse.url, 'https://portal.example.com']]
})
afterAll(async () => {
  await shortTimeouts.stop()
  await harness.stop()
})
beforeEach(() => harness.sandbox.reset())

async function visit(): Promise<Browser> {
  const browser = await harness.visit()
  recordErrors(browser, errors, origins)
  return browser
}

async function signIn(name: string, password = PASSWORD): Promise<PortalPage> {
  const page = await openPage(harness, await visit())
  await page.begin(AUTHN, { username: user(name), password })
  return page
}

test('requests that the broker refuses', async () => {
  const { browser, stateToken } = await signIn('tomas.berg')
  await browser.post(AUTHN, { username: '' })
  await browser.post(AUTHN, undefined, { raw: '{' })
  await browser.post(AUTHN, undefined, { raw: '{}', headers: { 'content-type': 'text/plain' } })
  await browser.post(AUTHN, { username: 'x'.repeat(70_000) })
  await browser.get(`${ME}?x=`.padEnd(9000, 'x'))
  await browser.get(ME)
  await browser.get('/api/v1/sessions')
  await browser.post(AUTHN, { stateToken: `00${'x'.repeat(43)}` })
  await browser.get(ME, { headers: { 'sec-fetch-site': 'cross-site' } })
  await browser.post(`${AUTHN}/skip`, { stateToken })
  const signedIn = await signIn('amelia.stone')
  await signedIn.browser.get(ME, { headers: { 'x-gatehouse-session': 'another-tab' } })
})

test.each<[string, string]>([
  ['slow', `GET ${ME} HTTP/1.1\r\nHost: x\r\n`],
  ['an Expect header', `GET ${ME} HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n`],
  ['long headers', `GET ${ME} HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
])('refused before it is routed: %s', async (_name, request) => {
  const answer = await rawExchange(Number(new URL(shortTimeouts.url).port), request)
  const [, status = '', body = ''] = /^HTTP\/1.1 (\d+)[\s\S]*?\r\n\r\n[^{]*({[\s\S]*})/.exec(answer) ?? []
  addError(errors, Number(status), JSON.parse(body), origins)
})

test('wrong credentials, codes, answers and passwords', async () => {
  await signIn('amelia.stone', 'Wrong-Password-1')
  const totp = await signIn('tomas.berg')
  for (let attempt = 0; attempt < 6; attempt += 1)
    await totp.verify('token:software:totp', { passCode: '000000' })
  const expired = await signIn('olga.expired')
  await expired.follow('_links.next', { oldPassword: PASSWORD, newPassword: 'short' })
  const recovery = await openPage(harness, await visit())
  await recovery.begin(`${AUTHN}/recovery/token`, {
    recoveryToken: harness.sandbox.recoveryToken(user('amelia.stone')),
  })
  await recovery.follow('_links.next', { answer: 'wrong' })
})

test('messages that were sent recently', async () => {
  for (const [name, factorType] of [
    ['sana.sms', 'sms'],
    ['carl.call', 'call'],
  ] as const) {
    const page = await signIn(name)
    await page.verify(factorType)
    await page.follow('_links.resend.0')
  }
})

const USERS = '/v1/teams/example-team/users'
const TOKEN = '/v1/teams/example-team/service_token'
const PAM_FAILURES: readonly (readonly [PamErrorName, string])[] = [
  ['invalid_request', USERS],
  ['authentication_error', USERS],
  ['forbidden_error', USERS],
  ['resource_already_exists', USERS],
  ['quota_exceeded', USERS],
  ['resource_deprecated', USERS],
  ['resource_does_not_exist', USERS],
  ['resource_does_not_exist', TOKEN],
  ['too_many_requests', USERS],
  ['client_closed_connection', USERS],
  ['service_offline', USERS],
  ['gateway_timeout', USERS],
  ['disabled_team', USERS],
]

/** A replica and an empty store, because a failure pauses the calls that follow it. */
test.each(PAM_FAILURES)('PAM answers %s to %s', async (name, path) => {
  await harness.redis.client().flushall()
  const browser = openBrowser((await harness.replica()).url)
  recordErrors(browser, errors, origins)
  await browser.get(ME)
  await browser.post(AUTHN, { username: user('amelia.stone'), password: PASSWORD })
  harness.sandbox.pamControl.failNext({ error: name, path, times: 'always' })
  await browser.get('/api/v1/pam/me')
  await browser.get('/api/v1/pam/me?maxAge=0')
})

test('an error of Okta that the operations do not list', async () => {
  const { jar, origin } = await visit()
  const body = error('E0000008', 'The requested path was not found')
  harness.sandbox.faults.authn.set({ kind: 'status', status: 410, body })
  const answer = await fetch(origin + AUTHN, {
    method: 'POST',
    headers: { cookie: await jar.getCookieString(origin), 'content-type': 'application/json' },
    body: JSON.stringify({ username: user('amelia.stone'), password: PASSWORD }),
  })
  addError(errors, answer.status, (await answer.json()) as JsonObject, origins)
})

/** The broker's answer, and Okta's failure that causes it. */
const OKTA_FAILURES: readonly (readonly [string, FaultRule])[] = [
  ['500-E0000009', { kind: 'status', status: 500, body: error('E0000009', 'Internal Server Error') }],
  ['502-E0000009', { kind: 'html' }],
  // last: it closes the rate-limit gate
  [
    '429-E0000047',
    {
      kind: 'status',
      status: 429,
      body: error('E0000047', 'API call exceeded rate limit due to too many requests.'),
    },
  ],
]

function error(errorCode: string, errorSummary: string) {
  return { errorCode, errorSummary, errorLink: errorCode, errorId: 'oaeExample0000000001', errorCauses: [] }
}

test('Okta does not answer, or refuses the API token', async () => {
  const slow = openBrowser(shortTimeouts.url)
  await slow.get(ME)
  recordErrors(slow, errors, origins)
  const release = harness.sandbox.faults.authn.hold()
  await slow.post(AUTHN, { username: user('amelia.stone'), password: PASSWORD })
  release()
  harness.sandbox.apiTokens.clear()
  await slow.post(AUTHN, { username: user('amelia.stone'), password: PASSWORD })
  harness.sandbox.apiTokens.add(harness.sandbox.apiToken)
})

test.each(OKTA_FAILURES)('Okta fails: %s', async (key, fault) => {
  harness.sandbox.faults.authn.set(fault)
  await signIn('amelia.stone')
  expect(errors).toHaveProperty([key])
})

test('the examples are those of src/openapi/error-examples.json; when this is red: RECORD_EXAMPLES=1 npx jest openapi-error-examples', () => {
  const sorted = Object.fromEntries(
    Object.entries(errors).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
  if (process.env.RECORD_EXAMPLES === '1') writeFileSync(FILE, `${JSON.stringify(sorted, null, 2)}\n`)
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(sorted)
  expect(valueAt(sorted, '401-E0000011.errorCode')).toBe('E0000011')
})
