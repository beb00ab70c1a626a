import { describe, expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { useStubHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { StubError } from '../support/stub-upstream.ts'
import { errorOf, handleOf, hrefAt } from '../support/transaction-view.ts'

/** Response shapes of real orgs and of old recordings, and unknown ones. */
const TOKEN = '00stateToken_of-the-upstream_0123456789abc'
const SESSION_TOKEN = '20111sessionToken-of-the-upstream-0123456'
const USER = { id: '00ushapes00000000001', profile: { login: 'wilma@example.test' } }
const CREDENTIALS = { username: 'wilma@example.test', password: 'Plainly-Fake-1' }
const successOf = (user: object | undefined) => ({
  status: 'SUCCESS',
  sessionToken: SESSION_TOKEN,
  _embedded: { user },
})
const SUCCESS = successOf(USER)
const VERIFY = '/api/v1/authn/factors/fct1/verify'

const harness = useStubHarness({
  answer: (_req, res) => res.writeHead(204).end(), // if no response is queued
  env: {
    AUTHN_LINK_ORIGINS: 'https://Login.Example.test, https://org.example.test:8443',
  },
  tunables: generousLimits,
  constants: { upstream: { breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 1 } } },
})

/** A page whose sign-in got this response. */
async function pageWith(answer: object): Promise<PortalPage> {
  const page = await openPage(harness)
  harness.stub.answers({ stateToken: TOKEN, status: 'MFA_REQUIRED', _embedded: { user: USER }, ...answer })
  expect((await page.begin('/api/v1/authn', CREDENTIALS)).status).toBe(200)
  for (const token of [TOKEN, SESSION_TOKEN]) expect(page.held.text).not.toContain(token)
  return page
}

const metric = async (line: string): Promise<number> => {
  const found = (await harness.gatehouse.metrics()).split('\n').find((one) => one.startsWith(`${line} `))
  return Number(found?.split(' ').at(-1) ?? 0)
}
const linesOf = (event: string) => harness.gatehouse.logLines().filter((line) => line.event === event)
const post = (href: string) => ({ href, hints: { allow: ['POST'] } })

describe('a link', () => {
  test.each([
    // shows: F-4.2
    ['no origin (relative)', () => ''],
    // shows: F-1.13
    ['an origin of AUTHN_LINK_ORIGINS with a port', () => 'https://org.example.test:8443'],
  ])('with %s is moved to PUBLIC_URL, and its step is sent to AUTHN_BASE_URL', async (_, origin) => {
    const page = await pageWith({ _links: { next: { name: 'verify', ...post(origin() + VERIFY) } } })
    expect(hrefAt(page.held, '_links.next')).toBe(harness.gatehouse.url + VERIFY)
    harness.stub.answers(SUCCESS)
    await page.follow('_links.next', { passCode: '123456' })
    const { url, body } = harness.stub.requests.at(-1) ?? {}
    expect([url, body]).toEqual([VERIFY, { stateToken: TOKEN, passCode: '123456' }])
    expect(await page.session()).toMatchObject({ login: 'wilma@example.test' })
  })
})

describe('a long list of factors', () => {
  const factors = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const verify = post(`${harness.stub.origin}/api/v1/authn/factors/fct${at}/verify`)
      return { id: `fct${at}`, factorType: 'sms', _links: { verify } }
    })

  test('with more steps than a transaction can keep is 502, counted and logged, and the transaction remains', async () => {
    const page = await pageWith({ _embedded: { user: USER, factors: factors(2) } })
    const before = await metric('gatehouse_requests_refused_total{reason="too_many_steps"}')
    const verify = hrefAt(page.held, '_embedded.factors.0._links.verify')
    harness.stub.answers({
      stateToken: TOKEN,
      status: 'MFA_REQUIRED',
      _embedded: { user: USER, factors: factors(2001) },
    })
    expect(errorOf(await page.send(verify))).toEqual([502, 'E0000009'])
    expect(await metric('gatehouse_requests_refused_total{reason="too_many_steps"}')).toBe(before + 1)
    expect(linesOf('too_many_steps')).toMatchObject([{ level: 'error', count: 2001 }])
    harness.stub.answers(SUCCESS)
    expect((await page.send(verify, { passCode: '1' })).json.status).toBe('SUCCESS')
  })
})

describe('a status', () => {
  test.each([
    // shows: F-1.5
    'CONSENT_REQUIRED',
    // shows: F-1.5
    'ADMIN_CONSENT_REQUIRED',
    // shows: F-1.5
    'DEVICE_ACTIVATE',
    // shows: F-1.5
    'PROFILE_REQUIRED',
    // shows: F-1.5
    'POLL',
    // shows: F-1.5
    'FACTOR_REQUIRED',
    // shows: F-1.5
    'FACTOR_ENROLL',
    // shows: F-1.5
    'FACTOR_ENROLL_ACTIVATE',
    'NEVER_SEEN_BEFORE',
  ])('%s of a recording continues the same transaction and opens no session', async (status) => {
    const page = await pageWith({ _links: { next: post(harness.stub.origin + VERIFY) } })
    const odd = { stateToken: TOKEN, status, profitable: null, _embedded: { user: USER, scopes: ['a'] } }
    harness.stub.answers({ ...odd, sessionToken: SESSION_TOKEN }, odd, odd, SUCCESS)
    const seen = await page.follow('_links.next', { passCode: '1' })
    expect(seen.json).toEqual({ ...odd, stateToken: page.stateToken })
    expect(seen.setCookies).toEqual([])
    expect(await page.session()).toBeUndefined()
    for (const path of ['/api/v1/authn', '/api/v1/authn/introspect']) {
      expect((await page.send(path)).json.status).toBe(status)
      expect(harness.stub.requests.at(-1)?.body).toMatchObject({ stateToken: TOKEN })
    }
    expect((await page.send('/api/v1/authn')).json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ userId: USER.id })
  })

  // shows: F-1.15, F-6.5
  test('SUCCESS with a state token opens the session and ends the handle', async () => {
    const page = await pageWith({ _links: { next: post(harness.stub.origin + VERIFY) } })
    harness.stub.answers({ ...SUCCESS, stateToken: TOKEN })
    const done = await page.follow('_links.next', { passCode: '1' })
    const session = await page.session()
    expect(session).toMatchObject({ userId: USER.id })
    const { stateToken } = page
    expect(done.json).toEqual({ status: 'SUCCESS', stateToken, _embedded: { user: USER, session } })
    harness.stub.reset()
    expect(errorOf(await page.send('/api/v1/authn'))).toEqual([401, 'E0000011'])
    expect(harness.stub.requests).toEqual([])
  })

  // shows: V15.3.1
  test('SUCCESS with its tokens in other fields: they reach neither the page nor the session', async () => {
    const page = await openPage(harness)
    const photo = { href: `https://x.example/?a=${TOKEN}` }
    const profile = { ...USER.profile, note: `see ${SESSION_TOKEN}`, photo }
    harness.stub.answers({ ...SUCCESS, stateToken: TOKEN, _embedded: { user: { ...USER, profile } } })
    const { text } = await page.begin('/api/v1/authn', CREDENTIALS)
    const session = await page.session()
    expect(session).toMatchObject({ userId: USER.id, profile: { note: 'see ' } })
    for (const token of [TOKEN, SESSION_TOKEN]) expect(text + JSON.stringify(session)).not.toContain(token)
  })

  test('that names a different user than before raises an alarm and opens no session', async () => {
    const page = await pageWith({ _links: { next: post(harness.stub.origin + VERIFY) } })
    harness.stub.answers({ ...SUCCESS, _embedded: { user: { ...USER, id: '00uOtherUser' } } }, SUCCESS)
    expect(errorOf(await page.follow('_links.next', { passCode: '1' }))).toEqual([502, 'E0000009'])
    expect(await page.session()).toBeUndefined()
    expect(linesOf('user_mismatch')).toMatchObject([{ level: 'error', operation: 'verify' }])
  })
})

describe('a state token that changes inside a transaction', () => {
  // shows: F-4.4
  test('the handle stays the same, and the newest token is sent upstream', async () => {
    const page = await pageWith({ _links: { next: post(harness.stub.origin + VERIFY) } })
    const second = `${TOKEN}-the-second`
    const third = '00an-entirely-different-state-token-0123456'
    const challenge = { status: 'MFA_CHALLENGE', _embedded: { user: USER } }
    harness.stub.answers(
      { ...challenge, stateToken: second, note: TOKEN },
      { ...challenge, stateToken: third, note: second },
      new StubError(403, 'E0000068'),
      { ...SUCCESS, note: `${TOKEN} ${third}` },
    )
    for (const note of ['', '']) {
      const answer = await page.send(VERIFY)
      expect(answer.json).toMatchObject({ stateToken: page.stateToken, note })
      expect(answer.text).not.toContain('-the-second')
    }
    expect(errorOf(await page.send(VERIFY, { passCode: 'wrong' }))).toEqual([403, 'E0000068'])
    const done = await page.send(VERIFY, { passCode: 'right' })
    const session = await page.session()
    expect(session).toMatchObject({ userId: USER.id })
    expect(done.json).toEqual({ status: 'SUCCESS', _embedded: { user: USER, session }, note: ' ' })
    const sent = harness.stub.requests.slice(1).map(({ body }) => (body as { stateToken: string }).stateToken)
    expect(sent).toEqual([TOKEN, second, third, third])
  })

  // shows
  test('when Okta ends it, it is ended here too, and nothing more is sent upstream', async () => {
    const page = await pageWith({ _links: { next: post(harness.stub.origin + VERIFY) } })
    harness.stub.answers(new StubError(401, 'E0000011'))
    expect(errorOf(await page.follow('_links.next'))).toEqual([401, 'E0000011'])
    harness.stub.reset()
    expect(errorOf(await page.follow('_links.next'))).toEqual([401, 'E0000011'])
    expect(harness.stub.requests).toEqual([])
  })
})

test('a cancel that Okta answers 204 ends the transaction', async () => {
  const page = await pageWith({ _links: { cancel: { href: `${harness.stub.origin}/api/v1/authn/cancel` } } })
  const stateToken = handleOf(page.held)
  const cancelled = await page.follow('_links.cancel')
  expect([cancelled.status, cancelled.text]).toEqual([200, '{}'])
  expect(harness.stub.requests.at(-1)?.path).toBe('/api/v1/authn/cancel')
  expect(errorOf(await page.browser.post('/api/v1/authn', { stateToken }))).toEqual([401, 'E0000011'])
})

test('another step whose answer is empty is 502, and its transaction continues', async () => {
  const page = await pageWith({ _links: { next: { name: 'verify', href: harness.stub.origin + VERIFY } } })
  expect(errorOf(await page.follow('_links.next'))).toEqual([502, 'E0000009'])
  harness.stub.answers(SUCCESS)
  expect((await page.follow('_links.next')).json.status).toBe('SUCCESS')
})

// shows
test('429s to many others stop no one: every sign-in is sent, and a 429 reaches only its own caller', async () => {
  for (let n = 1; n <= 20; n++) {
    const [limited, other] = [await openPage(harness), await openPage(harness)]
    harness.stub.answers(new StubError(429, 'E0000047'), SUCCESS)
    expect(errorOf(await limited.signIn(`limited-${n}@example.test`))).toEqual([429, 'E0000047'])
    expect((await other.signIn(`user-${n}@example.test`)).json.status).toBe('SUCCESS')
  }
  expect(harness.stub.requests).toHaveLength(40)
})
