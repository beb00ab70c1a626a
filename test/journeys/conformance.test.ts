import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, type House, OLGA, PASSWORD, PRIYA, startHouse, TOMAS, WALTER } from '../support/house.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

/** Rows of the sign-in API specification, seen through the broker, that no other journey shows (docs/conformance.md). */

let house: House
beforeAll(async () => {
  house = await startHouse({ env: { TRUST_PROXY: '127.0.0.1/32' } })
})
afterAll(() => house.stop())
beforeEach(() => house.sandbox.reset())

const AUTHN = '/api/v1/authn'
const ERIN = 'erin.enrol@example.test'

async function signIn(body: object, browser?: Browser, headers: Record<string, string> = {}) {
  return (browser ?? (await house.visit())).post(AUTHN, { password: PASSWORD, ...body }, { headers })
}

/** The same request, straight to the sign-in API as a trusted application. */
async function straight(body: object): Promise<{ status: number; text: string }> {
  const response = await fetch(house.authnUrl + AUTHN, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `SSWS ${house.sandbox.apiToken}` },
    body: JSON.stringify({ password: PASSWORD, ...body }),
  })
  return { status: response.status, text: await response.text() }
}

/** Tokens, ids of errors and times differ from call to call; addresses are the broker's instead of the upstream's. */
function comparable({ text }: { text: string }): unknown {
  const body: unknown = JSON.parse(
    text.replaceAll(house.authnUrl, house.gatehouse.url),
    (key: string, value: unknown) => {
      if (key === 'sessionToken') return undefined
      return ['stateToken', 'expiresAt', 'errorId'].includes(key) ? typeof value : value
    },
  )
  return JSON.parse(JSON.stringify(body).replace(/stateToken=[\w-]+/g, 'stateToken=…'))
}

/** The objects of the specification, member by member: nothing is left out, added or moved but tokens and addresses. */
const MIRRORED: [row: string, body: object][] = [
  ['SUCCESS', { username: AMELIA }],
  ['SUCCESS by the short name', { username: 'amelia.stone' }],
  ['PASSWORD_EXPIRED', { username: OLGA }],
  ['PASSWORD_WARN', { username: WALTER, options: { warnBeforePasswordExpired: true } }],
  ['MFA_REQUIRED with a policy', { username: PRIYA }],
  ['MFA_REQUIRED with seven factors', { username: 'max.many' }],
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
  const own = await straight(body)
  const answer = await signIn(body)
  expect(answer.status).toBe(own.status)
  expect(comparable(answer)).toEqual(comparable(own))
  expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/)
})

test('the list of factors under the name that the specification gives it passes on, and can be followed', async () => {
  house.sandbox.settings.factorListName = 'factor'
  const browser = await house.visit()
  const asked = await signIn({ username: TOMAS }, browser)
  const verify = hrefAt(asked, '_embedded.factor.0._links.verify')
  expect(verify).toContain(house.gatehouse.url)
  const passCode = house.sandbox.totpCode(TOMAS)
  const done = await browser.post(verify, { stateToken: handleOf(asked), passCode })
  expect(done.json.status).toBe('SUCCESS')
})

/** "Rules for deviceToken" 2 and 3: the same browser is the same device, another one is not. */
async function withCode(browser: Browser, login: string, query: string): Promise<unknown> {
  const answer = await signIn({ username: login }, browser)
  if (answer.json.status !== 'MFA_REQUIRED') return answer.json.status
  house.sandbox.person(login).factors[0]?.usedSteps.clear()
  const body = { stateToken: handleOf(answer), passCode: house.sandbox.totpCode(login) }
  const done = await browser.post(`${verifyHref(answer, 'token:software:totp')}${query}`, body)
  expect(done.json.status).toBe('SUCCESS')
  return 'MFA_REQUIRED'
}

test.each([
  ['per device, remembered', 'dev.device', '?rememberDevice=true'],
  ['per session', 'sven.session', ''],
  ['new device', 'bea.newdevice', ''],
])(
  'a browser that was verified is spared the factor, another one is asked: %s',
  async (_row, login, query) => {
    const [own, other] = [await house.visit(), await house.visit()]
    expect(await withCode(own, login, query)).toBe('MFA_REQUIRED')
    expect(await withCode(own, login, query)).toBe('SUCCESS')
    expect(await withCode(other, login, query)).toBe('MFA_REQUIRED')
  },
)

/** "Header rules" 1, and "What the service does": policies depend on the client's address. */
test('the client’s own address reaches the sign-on policy, behind a trusted proxy', async () => {
  const from = (address: string) =>
    signIn({ username: 'oscar.office' }, undefined, { 'x-forwarded-for': address })
  expectError(await from('203.0.113.66'), 401, 'E0000004')
  expect((await from('198.51.100.7')).json.status).toBe('SUCCESS')
  expect(house.sandbox.signIns.map(({ address }) => address)).toEqual(['203.0.113.66', '198.51.100.7'])
})

/** "Header rules" 2, and "Events". */
test('the page’s device fingerprint reaches the sign-in API: a new one sends a mail, once', async () => {
  for (let times = 0; times < 2; times += 1)
    await signIn({ username: AMELIA }, undefined, { 'x-device-fingerprint': 'print-1' })
  const mails = house.sandbox.outbox.messages.filter(({ purpose }) => purpose === 'new-device')
  expect(mails).toHaveLength(1)
})

/** "Change password", revokeSessions. */
test.each([
  ['revokeSessions true', { revokeSessions: true }],
  ['revokeSessions left out', {}],
])('change_password passes on as it was asked for: %s', async (_row, more) => {
  const browser = await house.visit()
  const expired = await signIn({ username: OLGA }, browser)
  house.forget()
  const passwords = { oldPassword: PASSWORD, newPassword: 'Another-Password-2', ...more }
  const body = { stateToken: handleOf(expired), ...passwords }
  expect((await browser.post(hrefAt(expired, '_links.next'), body)).json.status).toBe('SUCCESS')
  expect(house.upstreamCalls().map((call) => call.body)).toEqual([
    { stateToken: expect.any(String), ...passwords },
  ])
})

/** "Limits": the lifetime of a transaction. */
test('a transaction that is over at the sign-in API is over here: 401 E0000011', async () => {
  const browser = await house.visit()
  const asked = await signIn({ username: TOMAS }, browser)
  house.sandbox.expireTransactions()
  expectError(await browser.post(AUTHN, { stateToken: handleOf(asked) }), 401, 'E0000011')
})

/** "Versioning". */
test('the version is in the path: another one does not exist, and nothing is sent', async () => {
  const browser = openBrowser(house.gatehouse.url)
  const answer = await browser.post('/api/v2/authn', { username: AMELIA, password: PASSWORD })
  expectError(answer, 404, 'E0000007')
  expect(house.upstreamCalls()).toEqual([])
})

function expectError(answer: PageAnswer, status: number, errorCode: string) {
  expect([answer.status, answer.json.errorCode]).toEqual([status, errorCode])
}
