import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import {
  AMELIA,
  FROM_PROXY,
  type Harness,
  OLGA,
  PASSWORD,
  PRIYA,
  startHarness,
  TOMAS,
  WALTER,
} from '../support/harness.ts'
import { limitIsOver } from '../support/limit-is-over.ts'
import { navigate } from '../support/navigate.ts'
import { factorAt, handleOf, hrefAt, valueAt, verifyHref } from '../support/transaction-view.ts'

/** Rows of the sign-in API specification, seen through the broker, that no other journey shows (docs/conformance.md). */

/** The sandbox's clock runs ahead of ours by this much. */
let aheadMs = 0
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    env: { TRUST_PROXY: '127.0.0.1/32', STEP_UP: 'on' },
    sandboxNow: () => Date.now() + aheadMs,
  })
})
afterAll(() => harness.stop())
beforeEach(() => {
  aheadMs = 0
  harness.sandbox.reset()
})

const AUTHN = '/api/v1/authn'
const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ERIN = 'erin.enrol@example.test'

async function signIn(body: object, browser?: Browser, headers: Record<string, string> = {}) {
  return (browser ?? (await harness.visit())).post(AUTHN, withPassword(body), { headers })
}

function withPassword(body: object): object {
  return 'username' in body ? { password: PASSWORD, ...body } : body
}

/** The same request, straight to the sign-in API as a trusted application. */
async function straight(
  body: object,
  href = harness.authnUrl + AUTHN,
): Promise<{ status: number; text: string }> {
  const response = await fetch(href, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `SSWS ${harness.sandbox.apiToken}` },
    body: JSON.stringify(withPassword(body)),
  })
  return { status: response.status, text: await response.text() }
}

/** What the sign-in API answers, with the broker's address in the links that lead to the API. */
function moved({ text }: { text: string }): { text: string } {
  return {
    text: text.replace(new RegExp(`${harness.authnUrl}/(api|login)/`, 'g'), `${harness.gatehouse.url}/$1/`),
  }
}

/** Tokens, ids of errors and moments differ from call to call. */
function comparable({ text }: { text: string }): unknown {
  const body: unknown = JSON.parse(text, (key: string, value: unknown) => {
    if (key === 'sessionToken') return undefined
    if (key === 'expiresAt') return ISO_8601.test(String(value)) ? 'a moment' : value
    if (key === 'href') return String(value).replace(/stateToken=[\w-]+/, 'stateToken=…')
    return ['stateToken', 'errorId'].includes(key) ? typeof value : value
  })
  return body
}

/** The objects of the specification, member by member: nothing is left out, added or moved but tokens and addresses. */
const MIRRORED: [row: string, body: object][] = [
  ['SUCCESS', { username: AMELIA }],
  ['SUCCESS by the short name', { username: 'amelia.stone' }],
  ['PASSWORD_EXPIRED', { username: OLGA }],
  ['PASSWORD_WARN', { username: WALTER, options: { warnBeforePasswordExpired: true } }],
  ['MFA_REQUIRED with a policy', { username: PRIYA }],
  ['MFA_REQUIRED with seven factors', { username: 'max.many' }],
  ['MFA_REQUIRED with enterprise tokens', { username: 'rosa.enterprise' }],
  ['MFA_REQUIRED with a hardware token', { username: 'yuki.hardware' }],
  ['MFA_ENROLL', { username: ERIN }],
  ['LOCKED_OUT', { username: 'luis.locked' }],
  ['invalid credentials', { username: AMELIA, password: 'wrong' }],
  ['locked out, hidden', { username: 'lena.locked' }],
  ['denied by the sign-on policy', { username: 'dora.denied' }],
  ['an app, no MFA required', { username: AMELIA, audience: 'payroll' }],
  ['an app, verification required', { username: TOMAS, audience: 'travel' }],
  ['an app, enrollment required', { username: ERIN, audience: 'intranet' }],
  ['an app that is not supported', { username: AMELIA, audience: 'library' }],
]
test.each(MIRRORED)('the answer is the sign-in API’s own, member by member: %s', async (_row, body) => {
  expectSame(await signIn(body), await straight(body))
})

/** "States and transitions": activation tokens, each for one use. */
test.each([
  ['user has password, no MFA', 'anna.activate'],
  ['user has password, MFA configured', 'arno.activate'],
  ['user created without credentials', 'aida.nopassword'],
])(
  'the answer to an activation token is the sign-in API’s own, member by member: %s',
  async (_row, login) => {
    const own = await straight({ token: harness.sandbox.activationToken(login) })
    harness.sandbox.reset()
    expectSame(await signIn({ token: harness.sandbox.activationToken(login) }), own)
  },
)

/** "States and transitions": step-up with a state token, without and with a session at the org. */
test.each<[row: string, login: string | undefined, body: object]>([
  ['no session', undefined, {}],
  ['no session, credentials', undefined, { username: AMELIA }],
  ['a session, enrollment required', ERIN, {}],
  ['a session, verification required', PRIYA, {}],
  ['a session, complete', AMELIA, {}],
  ['a session, a password that expires', WALTER, { options: { warnBeforePasswordExpired: true } }],
])('the answer to a step-up is the sign-in API’s own, member by member: %s', async (_row, login, body) => {
  const begin = () => harness.sandbox.startStepUp('payroll', login, `${harness.gatehouse.url}/signin/step-up`)
  const own = await straight({ stateToken: begin().stateToken, ...body })
  const browser = openBrowser(harness.gatehouse.url, FROM_PROXY)
  const arrived = await navigate(browser, begin().redirectUrl)
  const stateToken = new URL(arrived.location ?? '').searchParams.get('stateToken')
  expectSame(await signIn({ stateToken, ...body }, browser), own)
})

/** The second step of a sign-in: its links are followed there with the state token, here with the handle. */
test.each([
  ['MFA_CHALLENGE of a code', 'sana.sms', 'sms', 'verify', {}],
  ['MFA_CHALLENGE of a push', PRIYA, 'push', 'verify', {}],
  ['MFA_ENROLL_ACTIVATE of a mail', ERIN, 'email', 'enroll', { factorType: 'email', provider: 'OKTA' }],
  ['MFA_ENROLL_ACTIVATE of a push', ERIN, 'push', 'enroll', { factorType: 'push', provider: 'OKTA' }],
])('the answer to a second step is the sign-in API’s own, member by member: %s', async (...row) => {
  const [, username, factorType, link, fields] = row
  const hrefIn = (json: PageAnswer['json']) =>
    hrefAt({ json }, `${factorAt({ json }, factorType)}._links.${link}`)
  const begun = JSON.parse((await straight({ username })).text)
  const own = await straight({ stateToken: begun.stateToken, ...fields }, hrefIn(begun))
  harness.sandbox.reset()
  const browser = await harness.visit()
  const asked = await signIn({ username }, browser)
  const answer = await browser.post(hrefIn(asked.json), { stateToken: handleOf(asked), ...fields })
  expect(withoutNewIds(answer)).toEqual(withoutNewIds(moved(own)))
})

/** A factor that is being enrolled has an id and a picture of its own each time. */
function withoutNewIds({ text }: { text: string }): unknown {
  const id = String(valueAt(JSON.parse(text), '_embedded.factor.id'))
  return comparable({ text: text.replaceAll(id, 'an-id').replace(/\/qr\/[\w-]+/g, '/qr/a-token') })
}

function expectSame(answer: PageAnswer, own: { status: number; text: string }) {
  expect(answer.status).toBe(own.status)
  expect(comparable(answer)).toEqual(comparable(moved(own)))
  expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/)
}

/** "Header rules" 2: whether a factor is asked for depends on the device token alone. */
test('another browser with the same fingerprint is another device', async () => {
  const login = 'bea.newdevice@example.test'
  const fingerprint = { 'x-device-fingerprint': 'print-1' }
  const [own, other] = [await harness.visit(), await harness.visit()]
  const asked = await signIn({ username: login }, own, fingerprint)
  const body = { stateToken: handleOf(asked), passCode: harness.sandbox.totpCode(login) }
  await own.post(verifyHref(asked, 'token:software:totp'), body, { headers: fingerprint })
  expect((await signIn({ username: login }, own)).json.status).toBe('SUCCESS')
  expect((await signIn({ username: login }, other, fingerprint)).json.status).toBe('MFA_REQUIRED')
})

/** "Header rules" 1, and "What the service does": policies depend on the client's address. */
test('the client’s own address reaches the sign-on policy, behind a trusted proxy', async () => {
  const from = (address: string) =>
    signIn({ username: 'oscar.office' }, undefined, { 'x-forwarded-for': address })
  expectError(await from('203.0.113.66'), 401, 'E0000004')
  expect((await from('198.51.100.7')).json.status).toBe('SUCCESS')
  expect(harness.sandbox.signIns.map(({ address }) => address)).toEqual(['203.0.113.66', '198.51.100.7'])
})

/** "Change password", body: stateToken is required. */
test('a step without a state token is 400, names the field, and nothing is sent upstream', async () => {
  const browser = await harness.visit()
  const expired = await signIn({ username: OLGA }, browser)
  harness.forget()
  const passwords = { oldPassword: PASSWORD, newPassword: 'Another-Password-2' }
  const answer = await browser.post(hrefAt(expired, '_links.next'), passwords)
  expectError(answer, 400, 'E0000001')
  expect(answer.json.errorCauses).toEqual([{ errorSummary: expect.stringMatching(/^stateToken: /) }])
  expect(harness.upstreamCalls()).toEqual([])
})

/** "States and transitions": activation tokens. */
test('an activation token that is expired is a failed sign-in: 401 E0000004', async () => {
  const token = harness.sandbox.activationToken('anna.activate')
  aheadMs = 8 * 24 * 60 * 60_000
  const browser = await harness.visit()
  expectError(await browser.post(AUTHN, { token }), 401, 'E0000004')
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
})

test('after the first password an enrolment follows, where a factor is needed', async () => {
  const person = harness.sandbox.user('aida.nopassword')
  person.config = { ...person.config, signOnPolicy: 'always' }
  const browser = await harness.visit()
  const reset = await browser.post(AUTHN, { token: harness.sandbox.activationToken(person.login) })
  const body = { stateToken: handleOf(reset), newPassword: 'Another-Password-2' }
  const enrol = await browser.post(hrefAt(reset, '_links.next'), body)
  expect(enrol.json.status).toBe('MFA_ENROLL')
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
})

/** "Errors", 429. */
test('a rate limit of the sign-in API passes on with its three headers', async () => {
  const browser = await harness.visit()
  harness.sandbox.faults.authn.set({ kind: 'rate-limited', times: 1 })
  const answer = await signIn({ username: AMELIA }, browser)
  expectError(answer, 429, 'E0000047')
  expect(answer.json.errorSummary).toBe('API call exceeded rate limit due to too many requests.')
  for (const name of ['limit', 'remaining', 'reset'])
    expect(answer.headers.get(`x-rate-limit-${name}`)).toMatch(/^\d+$/)
  await limitIsOver(() => signIn({ username: AMELIA }, browser))
})

/** "Limits": the lifetime of a transaction. */
test('a transaction that is over at the sign-in API is over here: 401 E0000011', async () => {
  const browser = await harness.visit()
  const asked = await signIn({ username: TOMAS }, browser)
  harness.sandbox.expireTransactions()
  expectError(await browser.post(AUTHN, { stateToken: handleOf(asked) }), 401, 'E0000011')
})

/** The PAM API's rate limit headers: `X-RateLimit-Reset` where there is no `X-RateLimit-Retry-At`. */
test('a limit of the PAM API that names its full reset only holds until then', async () => {
  const browser = await harness.visit()
  await signIn({ username: AMELIA }, browser)
  const reset = String(Math.ceil(Date.now() / 1000) + 60)
  harness.sandbox.faults.pam.set({
    kind: 'status',
    status: 429,
    path: '/v1/teams/example-team/users',
    headers: {
      'X-RateLimit-Limit': '10',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': reset,
      'X-RateLimit-Retry-At': '0', // in the place of the sandbox's own
    },
  })
  for (let times = 0; times < 2; times += 1) {
    const answer = await browser.get('/api/v1/pam/me')
    expectError(answer, 503, 'pam_rate_limited')
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(50)
  }
  expect(harness.sandbox.requestLog.pam.entries.filter(({ path }) => path.includes('/users/'))).toHaveLength(
    1,
  )
})

/** "Versioning". */
test('the version is in the path: another one does not exist, and nothing is sent', async () => {
  const browser = openBrowser(harness.gatehouse.url, FROM_PROXY)
  const answer = await browser.post('/api/v2/authn', { username: AMELIA, password: PASSWORD })
  expectError(answer, 404, 'E0000007')
  expect(harness.upstreamCalls()).toEqual([])
})

function expectError(answer: PageAnswer, status: number, errorCode: string) {
  expect([answer.status, answer.json.errorCode]).toEqual([status, errorCode])
}
