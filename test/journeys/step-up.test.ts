import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { handleOf, hrefAt, valueAt, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ env: { STEP_UP: 'on' } })
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

const APP = 'payroll'
const arrival = (stateToken: string) => `${harness.gatehouse.url}/signin/step-up?stateToken=${stateToken}`

/** The app sends the browser here; what comes out is a browser with a handle. */
async function importStepUp(browser = openBrowser(harness.gatehouse.url), login?: string) {
  const { stateToken } = harness.sandbox.startStepUp(APP, login, arrival(''))
  const arrived = await navigate(browser, arrival(stateToken))
  expect(arrived.status).toBe(303)
  const handle = new URL(arrived.location ?? '').searchParams.get('stateToken') ?? ''
  return { browser, handle, real: stateToken, arrived }
}

describe('a step-up that an app began', () => {
  test('comes in with a token, goes on with a handle, and ends at the app, once', async () => {
    const { browser, handle, real, arrived } = await importStepUp()
    expect(arrived.location?.startsWith(`${harness.gatehouse.url}/?stateToken=00`)).toBe(true)
    expect(arrived.location).not.toContain(real)
    expect(arrived.headers['referrer-policy']).toBe('no-referrer')
    expect(arrived.headers['cache-control']).toBe('no-store')
    expect(arrived.text).toBe('')

    const where = await browser.post('/api/v1/authn', { stateToken: handle })
    expect(where.json).toMatchObject({
      status: 'UNAUTHENTICATED',
      type: 'SESSION_STEP_UP',
      stateToken: handle,
    })
    const done = await browser.post('/api/v1/authn', {
      stateToken: handle,
      username: AMELIA,
      password: PASSWORD,
    })
    expect(done.json).toMatchObject({ status: 'SUCCESS', type: 'SESSION_STEP_UP' })
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(AMELIA)

    const original = hrefAt(done, '_links.next')
    expect(original).toBe(`${harness.gatehouse.url}/login/step-up/redirect?stateToken=${handle}`)
    const looked = await navigate(browser, original, { method: 'HEAD' })
    expect([looked.status, looked.location]).toEqual([405, undefined])
    const out = await navigate(browser, `${original}&evil=https://evil.example/`)
    expect(out.status).toBe(302)
    expect(out.location).toBe(`${harness.authnUrl}/login/step-up/redirect?stateToken=${real}`)
    const app = await fetch(out.location ?? '')
    expect(await app.text()).toContain('Signed in to the app')

    const again = await navigate(browser, original)
    expect([again.status, again.location]).toEqual([401, undefined])
    expect(again.headers['content-type']).toMatch(/text\/html/)
    expect(again.text).toContain('E0000011')
    expect(again.text).not.toContain(real)
  })

  test('asks for a factor where the policy wants one', async () => {
    const { browser, handle } = await importStepUp()
    const asked = await browser.post('/api/v1/authn', {
      stateToken: handle,
      username: TOMAS,
      password: PASSWORD,
    })
    expect(asked.json).toMatchObject({ status: 'MFA_REQUIRED', type: 'SESSION_STEP_UP', stateToken: handle })
    const done = await browser.post(verifyHref(asked, 'token:software:totp'), {
      stateToken: handle,
      passCode: harness.sandbox.totpCode(TOMAS),
    })
    expect(done.json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.amr).toEqual(['pwd', 'otp', 'mfa'])
  })

  test.each([
    ['policy requires enrollment → MFA_ENROLL', 'erin.enrol@example.test', 'MFA_ENROLL'],
    ['policy requires verification → MFA_REQUIRED', TOMAS, 'MFA_REQUIRED'],
    ['complete → SUCCESS', AMELIA, 'SUCCESS'],
  ])('of somebody who has a session at the org: %s', async (_, login, status) => {
    const { browser, handle } = await importStepUp(undefined, login)
    const where = await browser.post('/api/v1/authn', { stateToken: handle })
    expect(where.json).toMatchObject({ status, type: 'SESSION_STEP_UP' })
    if (status === 'SUCCESS')
      expect(hrefAt(where, '_links.next')).toContain('/login/step-up/redirect?stateToken=00')
    else expect(valueAt(where.json, '_embedded.factors')).not.toEqual([])
  })

  test('begun at the org (audience): the same way out; an app that is not supported is 400 and named', async () => {
    const browser = await harness.visit()
    const done = await browser.post('/api/v1/authn', {
      username: AMELIA,
      password: PASSWORD,
      audience: 'payroll',
    })
    expect(done.json).toMatchObject({ status: 'SUCCESS', type: 'SESSION_STEP_UP' })
    expect((await navigate(browser, hrefAt(done, '_links.next'))).status).toBe(302)
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(AMELIA)
    const unsupported = await browser.post('/api/v1/authn', {
      username: AMELIA,
      password: PASSWORD,
      audience: 'library',
    })
    expect([unsupported.status, unsupported.json.errorCode]).toEqual([400, 'E0000001'])
    expect(JSON.stringify(unsupported.json.errorCauses)).toMatch(/library/)
  })
})

test('both calls of a step-up with credentials are over in the time of one step, as its lock expects', async () => {
  const hurried = await startHarness({
    env: { STEP_UP: 'on' },
    tunables: (tunables) => ({
      ...tunables,
      upstream: {
        ...tunables.upstream,
        authn: { ...tunables.upstream.authn, connectTimeoutMs: 3000, totalTimeoutMs: 3000 },
      },
    }),
  })
  try {
    const { stateToken } = hurried.sandbox.startStepUp(
      APP,
      undefined,
      `${hurried.gatehouse.url}/signin/step-up`,
    )
    const browser = openBrowser(hurried.gatehouse.url)
    const arrived = await navigate(
      browser,
      `${hurried.gatehouse.url}/signin/step-up?stateToken=${stateToken}`,
    )
    const handle = new URL(arrived.location ?? '').searchParams.get('stateToken') ?? ''
    hurried.sandbox.faults.authn.set({ kind: 'delay', ms: 2000 }) // each by itself would be in time
    const answer = await browser.post('/api/v1/authn', {
      stateToken: handle,
      username: AMELIA,
      password: PASSWORD,
    })
    expect([answer.status, answer.json.errorCode]).toEqual([504, 'E0000009'])
    expect(hurried.upstreamCalls().length).toBeLessThanOrEqual(2)
  } finally {
    await hurried.stop()
  }
})

describe('planting is refused', () => {
  test('a token that is signed in upstream already opens no session', async () => {
    const { browser, handle } = await importStepUp(undefined, AMELIA)
    const where = await browser.post('/api/v1/authn', { stateToken: handle })
    expect(where.json.status).toBe('SUCCESS')
    expect(where.setCookies.join()).not.toContain('gatehouse=')
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
  })

  test('credentials that the org does not look at, because it waits for none, open no session either', async () => {
    const { browser, handle } = await importStepUp()
    harness.sandbox.faults.authn.set({
      kind: 'status',
      status: 200,
      path: '/api/v1/authn',
      times: 1,
      body: {
        status: 'SUCCESS',
        type: 'SESSION_STEP_UP',
        _embedded: { user: { id: '00uSignedIn', profile: { login: TOMAS } } },
      },
    })
    const credentials = { username: AMELIA, password: 'whatever-1' }
    const done = await browser.post('/api/v1/authn', { stateToken: handle, ...credentials })
    expect([done.status, done.json.status]).toEqual([200, 'SUCCESS'])
    expect(done.setCookies.join()).not.toContain('gatehouse=')
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
  })

  test('a push that whoever planted the token approves opens no session; the app is reached all the same', async () => {
    const { browser, handle } = await importStepUp(undefined, PRIYA)
    const asked = await browser.post('/api/v1/authn', { stateToken: handle })
    const waiting = await browser.post(verifyHref(asked, 'push'), { stateToken: handle })
    expect(waiting.json).toMatchObject({ status: 'MFA_CHALLENGE', factorResult: 'WAITING' })
    harness.sandbox.answerPush(PRIYA, 'approve')
    const done = await browser.post(hrefAt(waiting, '_links.next'), { stateToken: handle })
    expect(done.json).toMatchObject({ status: 'SUCCESS', type: 'SESSION_STEP_UP' })
    expect(done.setCookies.join()).not.toContain('gatehouse=')
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
    expect((await navigate(browser, hrefAt(done, '_links.next'))).status).toBe(302)
  })

  test.each(['passCode', 'answer', 'password', 'signatureData'])(
    'nor does it with a made-up %s, which the org does not look at for a push',
    async (name) => {
      const { browser, handle } = await importStepUp(undefined, PRIYA)
      const asked = await browser.post('/api/v1/authn', { stateToken: handle })
      const waiting = await browser.post(verifyHref(asked, 'push'), { stateToken: handle })
      harness.sandbox.answerPush(PRIYA, 'approve')
      const made = { stateToken: handle, [name]: 'made-up' }
      const done = await browser.post(hrefAt(waiting, '_links.next'), made)
      expect(done.json).toMatchObject({ status: 'SUCCESS', type: 'SESSION_STEP_UP' })
      expect(done.setCookies.join()).not.toContain('gatehouse=')
      expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
    },
  )

  test('a code that was typed here opens one', async () => {
    const { browser, handle } = await importStepUp(undefined, PRIYA)
    const asked = await browser.post('/api/v1/authn', { stateToken: handle })
    const code = { stateToken: handle, passCode: harness.sandbox.totpCode(PRIYA) }
    const done = await browser.post(verifyHref(asked, 'token:software:totp'), code)
    expect(done.json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json).toMatchObject({ login: PRIYA, amr: ['otp'] })
  })

  test("another person's than the open session's is refused, and that session stays", async () => {
    const browser = await harness.visit()
    await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD }).then((asked) =>
      browser.post(verifyHref(asked, 'token:software:totp'), {
        stateToken: handleOf(asked),
        passCode: harness.sandbox.totpCode(TOMAS),
      }),
    )
    const before = await browser.get('/api/v1/sessions/me')
    expect(before.json.login).toBe(TOMAS)
    const { handle } = await importStepUp(browser, AMELIA)
    const refused = await browser.post('/api/v1/authn', { stateToken: handle })
    expect([refused.status, refused.json.errorCode]).toEqual([403, 'E0000006'])
    expect(refused.text).not.toContain(AMELIA)
    expect((await browser.get('/api/v1/sessions/me')).json.id).toBe(before.json.id)
    expect((await browser.post('/api/v1/authn', { stateToken: handle })).json.errorCode).toBe('E0000011')

    const { handle: second } = await importStepUp(browser)
    const typed = await browser.post('/api/v1/authn', {
      stateToken: second,
      username: AMELIA,
      password: PASSWORD,
    })
    expect([typed.status, typed.json.errorCode]).toEqual([403, 'E0000006'])
    expect((await browser.get('/api/v1/sessions/me')).json.id).toBe(before.json.id)
  })

  test('nor does it replace a session that another user has opened while its code is under way', async () => {
    const { browser, handle } = await importStepUp(undefined, PRIYA)
    const asked = await browser.post('/api/v1/authn', { stateToken: handle })
    const letGo = harness.sandbox.faults.authn.hold({ path: '/api/v1/authn/factors', times: 1 })
    const code = { stateToken: handle, passCode: harness.sandbox.totpCode(PRIYA) }
    const isVerified = () => harness.upstreamCalls().some(({ path }) => path.endsWith('/verify'))
    harness.forget()
    const answering = browser.post(verifyHref(asked, 'token:software:totp'), code)
    await until(isVerified)
    await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    letGo()
    const refused = await answering
    expect([refused.status, refused.json.errorCode]).toEqual([403, 'E0000006'])
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(AMELIA)
  })

  test('the same person may step up in an open session', async () => {
    const browser = await harness.visit()
    await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    const before = await browser.get('/api/v1/sessions/me')
    const { handle } = await importStepUp(browser, AMELIA)
    const where = await browser.post('/api/v1/authn', { stateToken: handle })
    expect(where.json.status).toBe('SUCCESS')
    expect((await navigate(browser, hrefAt(where, '_links.next'))).status).toBe(302)
    expect((await browser.get('/api/v1/sessions/me')).json.id).toBe(before.json.id)
  })
})

describe('the arrival', () => {
  test.each([
    ['a fetch', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    ['a frame', { 'sec-fetch-dest': 'iframe' }],
    ['a picture', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }],
    ['a prefetch', { 'sec-purpose': 'prefetch' }],
    ['nobody knows what', { 'sec-fetch-mode': '', 'sec-fetch-dest': '' }],
  ])('as %s is refused, and keeps nothing', async (_, headers) => {
    const { stateToken } = harness.sandbox.startStepUp(APP, undefined, arrival(''))
    const browser = openBrowser(harness.gatehouse.url)
    const answer = await navigate(browser, arrival(stateToken), { headers })
    expect([answer.status, answer.location]).toEqual([403, undefined])
    expect(answer.text).not.toContain(stateToken)
  })

  test.each([
    '',
    'short',
    'x'.repeat(513),
    'with%20space-0123456789',
    '<script>alert(1)</script>-0123456789',
  ])('with what is no state token (%s) is 400', async (token) => {
    const answer = await navigate(openBrowser(harness.gatehouse.url), arrival(token))
    expect([answer.status, answer.location]).toEqual([400, undefined])
    expect(answer.text).not.toContain('<script>')
  })

  test('is limited by address', async () => {
    const limited = await startHarness({
      env: { STEP_UP: 'on' },
      tunables: (tunables) => ({
        ...tunables,
        limits: { ...tunables.limits, stepUpPerAddress: { attempts: 2, perSeconds: 60 } },
      }),
    })
    try {
      const browser = openBrowser(limited.gatehouse.url)
      const go = () =>
        navigate(browser, `${limited.gatehouse.url}/signin/step-up?stateToken=${'a'.repeat(40)}`)
      expect([(await go()).status, (await go()).status, (await go()).status]).toEqual([303, 303, 429])
    } finally {
      await limited.stop()
    }
  })

  test('does not exist unless it was switched on', async () => {
    const off = await harness.replica({ STEP_UP: 'off' })
    const answer = await navigate(
      openBrowser(off.url),
      `${off.url}/signin/step-up?stateToken=${'a'.repeat(40)}`,
    )
    expect(answer.status).toBe(404)
  })
})

describe('the way out', () => {
  afterEach(() => harness.sandbox.faults.authn.clear())

  test.each([
    ['another device', 'other'],
    ['no device', 'none'],
  ])('is refused to %s, and stays for its own', async (_, who) => {
    const { browser, handle } = await importStepUp()
    const done = await browser.post('/api/v1/authn', {
      stateToken: handle,
      username: AMELIA,
      password: PASSWORD,
    })
    const original = hrefAt(done, '_links.next')
    const stranger = who === 'other' ? await harness.visit() : openBrowser(harness.gatehouse.url)
    const refused = await navigate(stranger, original)
    expect([refused.status, refused.location]).toEqual([401, undefined])
    expect((await navigate(browser, original)).status).toBe(302)
  })

  test.each([
    ['fetched', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    ['framed', { 'sec-fetch-dest': 'iframe' }],
    ['prefetched', { 'sec-purpose': 'prefetch' }],
    ['opened without a word of what it is', { 'sec-fetch-mode': '', 'sec-fetch-dest': '' }],
  ])('is refused when %s, and not used up', async (_how, headers) => {
    const { browser, handle } = await importStepUp()
    const credentials = { username: AMELIA, password: PASSWORD }
    const done = await browser.post('/api/v1/authn', { stateToken: handle, ...credentials })
    const original = hrefAt(done, '_links.next')
    for (const href of [original, `${harness.gatehouse.url}/login/token/redirect?stateToken=${handle}`]) {
      const refused = await navigate(browser, href, { headers })
      expect([refused.status, refused.location]).toEqual([403, undefined])
      expect(refused.text).toContain('E0000006')
    }
    expect((await navigate(browser, original)).status).toBe(302)
  })

  test('to what was not offered is refused', async () => {
    const { browser, handle } = await importStepUp()
    for (const path of ['/login/step-up/redirect', '/login/token/redirect', '/sso/idps/0oa1']) {
      const refused = await navigate(browser, `${harness.gatehouse.url}${path}?stateToken=${handle}`)
      expect([refused.status, refused.location]).toEqual([403, undefined])
      expect(refused.text).toContain('E0000079')
    }
  })

  test('of an identity provider in the middle of a sign-in leads to the very link, and the sign-in goes on', async () => {
    const browser = await harness.visit()
    const asked = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    const stateToken = handleOf(asked)
    const real = harness.sandbox.tokensIssued().at(-1)
    const link = `${harness.authnUrl}/sso/idps/0oaIdp1?stateToken=${real}&fromURI=%2Fhome`
    harness.sandbox.faults.authn.set({
      kind: 'status',
      status: 200,
      path: '/api/v1/authn',
      times: 1,
      body: {
        status: 'MFA_REQUIRED',
        stateToken: real,
        _links: { next: { href: link, hints: { allow: ['GET'] } } },
      },
    })
    const answer = await browser.post('/api/v1/authn', { stateToken })
    const out = await navigate(browser, hrefAt(answer, '_links.next'))
    expect([out.status, out.location]).toEqual([302, link])
    expect((await browser.post('/api/v1/authn', { stateToken })).json.status).toBe('MFA_REQUIRED')
  })
})
