import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser } from '../support/browser.ts'
import { type StubHarness, startStubHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { StubError, type StubRequest, sendJson } from '../support/stub-upstream.ts'

/**
 * Fixation: an attacker imports a step-up token of their own into the victim's browser, and
 * advances that transaction at Okta while the victim types. This upstream returns the transaction's
 * state, and ignores credentials and codes in a state that does not expect them.
 */
const TOKEN = '00plainly-fake-planted-token-00000001'
const AUTHN = '/api/v1/authn'
const VERIFY = `${AUTHN}/factors/ost1/verify`
const PUSH = `${AUTHN}/factors/opf1/verify`
const VICTIM = { id: '00u-victim', profile: { login: 'victim@example.test' } }
const MALLORY = { id: '00u-mallory', profile: { login: 'mallory@example.test' } }
const FACTORS = [
  { id: 'ost1', factorType: 'token:software:totp' },
  { id: 'opf1', factorType: 'push' },
]
const CREDENTIALS = { username: VICTIM.profile.login, password: 'plainly-a-fake-password' }
const CODE = { passCode: '123456' }
const OPS_TOKEN = 'plainly-fake-ops-token'

type State = { readonly status: string } & Readonly<Record<string, unknown>>
const UNAUTHENTICATED: State = { status: 'UNAUTHENTICATED' }
const waiting = (user: object): State => ({
  status: 'MFA_CHALLENGE',
  factorResult: 'WAITING',
  _embedded: { user, factor: FACTORS[1] },
})
const required = (user: object): State => ({ status: 'MFA_REQUIRED', _embedded: { user, factors: FACTORS } })
const success = (user: object): State => ({ status: 'SUCCESS', _embedded: { user } })

let harness: StubHarness
let state: State
let answerTo: (req: StubRequest) => State | StubError
let waitFor: (req: StubRequest) => Promise<void>
beforeAll(async () => {
  harness = await startStubHarness({
    env: { STEP_UP: 'on', OPS_TOKEN },
    async answer(req, res) {
      await waitFor(req)
      const answer = answerTo(req)
      if (answer instanceof StubError) return sendJson(res, answer.status, answer.body)
      const links = [VERIFY, PUSH].map((path) => ({
        href: harness.stub.origin + path,
        hints: { allow: ['POST'] },
      }))
      const _links = { next: links }
      sendJson(res, 200, { stateToken: TOKEN, type: 'SESSION_STEP_UP', _links, ...answer })
    },
  })
})
afterAll(() => harness.stop())
beforeEach(() => {
  harness.stub.reset()
  state = UNAUTHENTICATED
  answerTo = () => state
  waitFor = async () => {}
})

/** Opens the attacker's link in the victim's browser, whose page then requests the state. */
async function importByAttacker(): Promise<{ browser: Browser; stateToken: string }> {
  const browser = openBrowser(harness.gatehouse.url)
  browser.allowAnyTransaction()
  const arrived = await navigate(browser, `${harness.gatehouse.url}/signin/step-up?stateToken=${TOKEN}`)
  const stateToken = new URL(arrived.location ?? '').searchParams.get('stateToken') ?? ''
  expect((await browser.post(AUTHN, { stateToken })).json.status).toBe(state.status)
  harness.stub.reset()
  return { browser, stateToken }
}

const hasSession = async (browser: Browser) => (await browser.get('/api/v1/sessions/me')).status === 200
/** The paths of the requests that had this field. */
const pathsSentWith = (field: string) =>
  harness.stub.requests.flatMap(({ body, path }) =>
    typeof body === 'object' && body !== null && field in body ? [path] : [],
  )

/** The attacker approves a push on their own phone, and the victim's page polls. */
async function approveByAttacker(browser: Browser, stateToken: string, user: object) {
  state = success(user)
  expect((await browser.post(PUSH, { stateToken })).json.status).toBe('SUCCESS')
}

describe('a password that is typed after the transaction was moved to another user', () => {
  test('is not sent, and proves nothing', async () => {
    const { browser, stateToken } = await importByAttacker()
    state = waiting(MALLORY)
    const answer = await browser.post(AUTHN, { stateToken, ...CREDENTIALS })
    expect([answer.status, answer.json.status]).toEqual([200, 'MFA_CHALLENGE'])
    expect(pathsSentWith('password')).toEqual([])
    await approveByAttacker(browser, stateToken, MALLORY)
    expect(await hasSession(browser)).toBe(false)
  })

  test('proves nothing if the move happens between the state request and the password', async () => {
    const { browser, stateToken } = await importByAttacker()
    answerTo = () => {
      const now = state
      state = waiting(MALLORY)
      return now
    }
    const answer = await browser.post(AUTHN, { stateToken, ...CREDENTIALS })
    expect([answer.status, answer.json.status]).toEqual([200, 'MFA_CHALLENGE'])
    expect(pathsSentWith('password')).toHaveLength(1)
    answerTo = () => state
    await approveByAttacker(browser, stateToken, MALLORY)
    expect(await hasSession(browser)).toBe(false)
  })
})

test('a code that is typed after the transaction has advanced is not sent, and opens no session', async () => {
  state = required(MALLORY)
  const { browser, stateToken } = await importByAttacker()
  state = success(MALLORY)
  const answer = await browser.post(VERIFY, { stateToken, ...CODE })
  expect([answer.status, answer.json.status]).toEqual([200, 'SUCCESS'])
  expect(pathsSentWith('passCode')).toEqual([])
  expect(await hasSession(browser)).toBe(false)
})

describe('the user’s own', () => {
  /** The upstream accepts the password, and requires a push, which is approved. */
  async function openSession(username: string): Promise<Browser> {
    const { browser, stateToken } = await importByAttacker()
    answerTo = ({ body }) => {
      const isPassword = typeof body === 'object' && body !== null && 'password' in body
      if (isPassword) state = waiting(VICTIM)
      return state
    }
    const answer = await browser.post(AUTHN, { stateToken, ...CREDENTIALS, username })
    expect(answer.json.status).toBe('MFA_CHALLENGE')
    await approveByAttacker(browser, stateToken, VICTIM)
    return browser
  }

  test.each([
    ['opens a session', ' Victim@Example.TEST', true],
    ['opens no session with the login of another user', 'vic', false],
  ])('password %s: %j', async (_, username, opens) => {
    expect(await hasSession(await openSession(username))).toBe(opens)
  })
})
