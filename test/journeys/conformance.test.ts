import { beforeEach, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, FROM_PROXY, OLGA, PASSWORD, PRIYA, TOMAS, useHarness, WALTER } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'
import { factorAt, handleOf, hrefAt, valueAt, verifyHref } from '../support/transaction-view.ts'

/**
 * Rows of the specification of the Authentication API that no other journey tests through the
 * broker (docs/conformance.md).
 */

/** How far the sandbox's clock is ahead of the broker's. */
let aheadMs = 0
const harness = useHarness({
  env: { TRUST_PROXY: '127.0.0.1/32', STEP_UP: 'on' },
  sandboxNow: () => Date.now() + aheadMs,
})
beforeEach(() => {
  aheadMs = 0
})

const AUTHN = '/api/v1/authn'
const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ERIN = 'erin.enroll@example.test'

async function signIn(body: object, browser?: Browser, headers: Record<string, string> = {}) {
  return (browser ?? (await harness.visit())).post(AUTHN, withPassword(body), { headers })
}

function withPassword(body: object): object {
  return 'username' in body ? { password: PASSWORD, ...body } : body
}

/** The same request, sent directly to the Authentication API as a trusted application. */
async function sendDirectly(
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

/** The API's response with the broker's origin in the links that lead to the API. */
function withBrokerOrigin({ text }: { text: string }): { text: string } {
  return {
    text: text.replace(new RegExp(`${harness.authnUrl}/(api|login)/`, 'g'), `${harness.gatehouse.url}/$1/`),
  }
}

/**
 * Without the values that differ from call to call: tokens, error ids and times; and without the
 * broker's session, which Okta does not have.
 */
function comparable({ text }: { text: string }): unknown {
  const body: unknown = JSON.parse(text, function (this: { status?: unknown }, key: string, value: unknown) {
    if (key === 'sessionToken' || key === 'session') return undefined
    if (key === 'expiresAt') return ISO_8601.test(String(value)) ? 'a time' : value
    // a lockout ends the transaction, so its link to cancel leads nowhere (S1)
    if (key === '_links' && this.status === 'LOCKED_OUT') return { ...Object(value), cancel: undefined }
    if (key === 'href') return String(value).replace(/stateToken=[\w-]+/, 'stateToken=…')
    return ['stateToken', 'errorId'].includes(key) ? typeof value : value
  })
  return body
}

/** Sign-ins whose responses must equal the API's own, except for tokens and origins. */
const MIRRORED: [row: string, body: object][] = [
  // shows
  ['SUCCESS', { username: AMELIA }],
  // shows
  ['SUCCESS by the short name', { username: 'amelia.stone' }],
  // shows
  // sandbox shows
  ['PASSWORD_EXPIRED', { username: OLGA }],
  // shows, F-4.3
  ['PASSWORD_WARN', { username: WALTER, options: { warnBeforePasswordExpired: true } }],
  // shows, F-1.1
  ['MFA_REQUIRED with a policy', { username: PRIYA }],
  // shows
  ['MFA_REQUIRED with seven factors', { username: 'max.many' }],
  // shows
  ['MFA_REQUIRED with enterprise tokens', { username: 'rosa.enterprise' }],
  // shows
  ['MFA_REQUIRED with a hardware token', { username: 'yuki.hardware' }],
  // shows, F-1.1
  ['MFA_ENROLL', { username: ERIN }],
  // shows
  ['LOCKED_OUT', { username: 'luis.locked' }],
  // shows
  ['invalid credentials', { username: AMELIA, password: 'wrong' }],
  // shows
  ['locked out, hidden', { username: 'lena.locked' }],
  // shows
  ['denied by the sign-on policy', { username: 'dora.denied' }],
  // shows
  // sandbox shows
  ['an app, no MFA required', { username: AMELIA, audience: 'payroll' }],
  // shows
  ['an app, verification required', { username: TOMAS, audience: 'travel' }],
  // shows
  ['an app, enrollment required', { username: ERIN, audience: 'intranet' }],
  // shows
  ['an app that is not supported', { username: AMELIA, audience: 'library' }],
]
// shows: F-1.6
test.each(MIRRORED)('the response is the same as that of the Authentication API: %s', async (_row, body) => {
  expectSame(await signIn(body), await sendDirectly(body))
})

/** "States and transitions": step-up with a state token, without and with a session at the org. */
test.each<[row: string, login: string | undefined, body: object]>([
  // shows
  ['no session', undefined, {}],
  // shows
  // sandbox shows
  ['no session, credentials', undefined, { username: AMELIA }],
  // shows
  ['a session, enrollment required', ERIN, {}],
  // shows
  ['a session, verification required', PRIYA, {}],
  // shows
  // sandbox shows
  ['a session, complete', AMELIA, {}],
  // shows
  ['a session, a password that expires', WALTER, { options: { warnBeforePasswordExpired: true } }],
])(
  'the response to a step-up is the same as that of the Authentication API: %s',
  async (_row, login, body) => {
    const begin = () =>
      onClassicEngine(harness).sandbox.startStepUp(
        'payroll',
        login,
        `${harness.gatehouse.url}/signin/step-up`,
      )
    const direct = await sendDirectly({ stateToken: begin().stateToken, ...body })
    const browser = openBrowser(harness.gatehouse.url, FROM_PROXY)
    const arrived = await navigate(browser, begin().redirectUrl)
    const stateToken = new URL(arrived.location ?? '').searchParams.get('stateToken')
    expectSame(await signIn({ stateToken, ...body }, browser), direct)
  },
)

/**
 * The second step of a sign-in: sent to the API with the state token, to the broker with the
 * handle.
 */
test.each([
  // shows: F-1.2, F-1.4, F-1.8
  // sandbox shows: F-1.2, F-1.8
  ['MFA_CHALLENGE for a code', 'sana.sms', 'sms', 'verify', {}],
  // shows: F-1.7
  // sandbox shows: F-1.7
  ['MFA_CHALLENGE of a push', PRIYA, 'push', 'verify', {}],
  // shows: F-1.2, F-1.4
  // sandbox shows: F-1.2
  ['MFA_ENROLL_ACTIVATE of a mail', ERIN, 'email', 'enroll', { factorType: 'email', provider: 'OKTA' }],
  // shows: F-1.7, F-1.9
  // sandbox shows: F-1.7, F-1.9
  ['MFA_ENROLL_ACTIVATE of a push', ERIN, 'push', 'enroll', { factorType: 'push', provider: 'OKTA' }],
])('the response to a second step is the same as that of the Authentication API: %s', async (...row) => {
  const [, username, factorType, link, fields] = row
  const hrefIn = (json: PageAnswer['json']) =>
    hrefAt({ json }, `${factorAt({ json }, factorType)}._links.${link}`)
  const begun = JSON.parse((await sendDirectly({ username })).text)
  const direct = await sendDirectly({ stateToken: begun.stateToken, ...fields }, hrefIn(begun))
  harness.sandbox.reset()
  const browser = await harness.visit()
  const asked = await signIn({ username }, browser)
  const answer = await browser.post(hrefIn(asked.json), { stateToken: handleOf(asked), ...fields })
  expect(withoutNewIds(answer)).toEqual(withoutNewIds(withBrokerOrigin(direct)))
})

/** Without the factor id and the QR token, which are new in each enrollment. */
function withoutNewIds({ text }: { text: string }): unknown {
  const id = String(valueAt(JSON.parse(text), '_embedded.factor.id'))
  return comparable({ text: text.replaceAll(id, 'an-id').replace(/\/qr\/[\w-]+/g, '/qr/a-token') })
}

function expectSame(answer: PageAnswer, direct: { status: number; text: string }) {
  expect(answer.status).toBe(direct.status)
  expect(comparable(answer)).toEqual(comparable(withBrokerOrigin(direct)))
  expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/)
}

/** "Header rules" 2: whether a factor is required depends on the device token alone. */
// shows
// sandbox shows
test('another browser with the same fingerprint is another device', async () => {
  const login = 'bea.newdevice@example.test'
  const fingerprint = { 'x-device-fingerprint': 'print-1' }
  const [first, other] = [await harness.visit(), await harness.visit()]
  const asked = await signIn({ username: login }, first, fingerprint)
  const body = { stateToken: handleOf(asked), passCode: harness.sandbox.totpCode(login) }
  await first.post(verifyHref(asked, 'token:software:totp'), body, { headers: fingerprint })
  expect((await signIn({ username: login }, first)).json.status).toBe('SUCCESS')
  expect((await signIn({ username: login }, other, fingerprint)).json.status).toBe('MFA_REQUIRED')
})

/** "Header rules" 1, and "What the service does": policies depend on the client's address. */
// shows, F-6.3
// sandbox shows
test('behind a trusted proxy, the sign-on policy sees the client’s address', async () => {
  const from = (address: string) =>
    signIn({ username: 'oscar.office' }, undefined, { 'x-forwarded-for': address })
  expectError(await from('203.0.113.66'), 401, 'E0000004')
  expect((await from('198.51.100.7')).json.status).toBe('SUCCESS')
  expect(harness.sandbox.signIns.map(({ address }) => address)).toEqual(['203.0.113.66', '198.51.100.7'])
})

/** "States and transitions": activation tokens. */
// shows
test('an expired activation token is a failed sign-in: 401 E0000004', async () => {
  const token = harness.sandbox.activationToken('anna.activate')
  aheadMs = 8 * 24 * 60 * 60_000
  const browser = await harness.visit()
  expectError(await browser.post(AUTHN, { token }), 401, 'E0000004')
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
})

// shows
// sandbox shows
test('an enrollment follows the first password if a factor is required', async () => {
  const person = harness.sandbox.user('aida.nopassword')
  person.config = { ...person.config, signOnPolicy: 'always' }
  const browser = await harness.visit()
  const reset = await browser.post(AUTHN, { token: harness.sandbox.activationToken(person.login) })
  const body = { stateToken: handleOf(reset), newPassword: 'Another-Password-2' }
  const enroll = await browser.post(hrefAt(reset, '_links.next'), body)
  expect(enroll.json.status).toBe('MFA_ENROLL')
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
})

function expectError(answer: PageAnswer, status: number, errorCode: string) {
  expect([answer.status, answer.json.errorCode]).toEqual([status, errorCode])
}
