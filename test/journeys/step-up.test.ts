import { describe, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, PASSWORD, TOMAS, useHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'
import { handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

const harness = useHarness({ env: { STEP_UP: 'on' } })

const APP = 'payroll'
const arrival = (stateToken: string) => `${harness.gatehouse.url}/signin/step-up?stateToken=${stateToken}`

/** Imports a step-up that an app has started; returns the browser and its handle. */
async function importStepUp(browser = openBrowser(harness.gatehouse.url), login?: string) {
  const { stateToken } = onClassicEngine(harness).sandbox.startStepUp(APP, login, arrival(''))
  const arrived = await navigate(browser, arrival(stateToken))
  expect(arrived.status).toBe(303)
  const handle = new URL(arrived.location ?? '').searchParams.get('stateToken') ?? ''
  return { browser, handle, real: stateToken, arrived }
}

describe('a step-up started by an app', () => {
  // shows, F-2.2
  // sandbox shows, F-1.14
  test('arrives with a token, continues with a handle, and redirects to the app once', async () => {
    const { browser, handle, real, arrived } = await importStepUp()
    expect(arrived.location?.startsWith(`${harness.gatehouse.url}/?stateToken=00`)).toBe(true)
    expect(arrived.location).not.toContain(real)
    expect(arrived.headers['referrer-policy']).toBe('no-referrer')
    expect(arrived.headers['cache-control']).toBe('no-store')
    expect(arrived.text).toBe('')

    const stateAnswer = await browser.post('/api/v1/authn', { stateToken: handle })
    expect(stateAnswer.json).toMatchObject({
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
    const headAnswer = await navigate(browser, original, { method: 'HEAD' })
    expect([headAnswer.status, headAnswer.location]).toEqual([405, undefined])
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
})

describe('an imported token', () => {
  // shows: V6.3.4, V7.6.2
  test('that is already signed in at Okta opens no session', async () => {
    const { browser, handle } = await importStepUp(undefined, AMELIA)
    const stateAnswer = await browser.post('/api/v1/authn', { stateToken: handle })
    expect(stateAnswer.json.status).toBe('SUCCESS')
    expect(stateAnswer.setCookies.join()).not.toContain('gatehouse=')
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
  })

  // shows: V16.3.3
  test('of a user other than the session’s is refused, and the session is kept', async () => {
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
})

test('of two imports of one token, the newer wins: the older transaction ends', async () => {
  const { browser, handle: older, real } = await importStepUp()
  const requestState = (stateToken: string) => browser.post('/api/v1/authn', { stateToken })
  expect((await requestState(older)).json.status).toBe('UNAUTHENTICATED')
  const { location = '' } = await navigate(browser, arrival(real))
  const newer = new URL(location).searchParams.get('stateToken')
  expect((await requestState(older)).json.errorCode).toBe('E0000011')
  const credentials = { stateToken: newer, username: AMELIA, password: PASSWORD }
  expect((await browser.post('/api/v1/authn', credentials)).json.status).toBe('SUCCESS')
})

describe('the arrival', () => {
  // shows: V3.5.3
  test.each([
    ['a prefetch', { 'sec-purpose': 'prefetch' }],
    ['an unknown destination', { 'sec-fetch-mode': '', 'sec-fetch-dest': '' }],
  ])('as %s is refused, and stores nothing', async (_, headers) => {
    const { stateToken } = onClassicEngine(harness).sandbox.startStepUp(APP, undefined, arrival(''))
    const browser = openBrowser(harness.gatehouse.url)
    const answer = await navigate(browser, arrival(stateToken), { headers })
    expect([answer.status, answer.location]).toEqual([403, undefined])
    expect(answer.text).not.toContain(stateToken)
  })

  test('does not exist unless STEP_UP is on', async () => {
    const off = await harness.replica({ STEP_UP: 'off' })
    const answer = await navigate(
      openBrowser(off.url),
      `${off.url}/signin/step-up?stateToken=${'a'.repeat(40)}`,
    )
    expect(answer.status).toBe(404)
  })
})

describe('the redirect to the app', () => {
  // shows
  // sandbox shows
  test('is refused if it was not offered', async () => {
    const { browser, handle } = await importStepUp()
    for (const path of ['/login/step-up/redirect', '/login/token/redirect', '/sso/idps/0oa1']) {
      const refused = await navigate(browser, `${harness.gatehouse.url}${path}?stateToken=${handle}`)
      expect([refused.status, refused.location]).toEqual([403, undefined])
      expect(refused.text).toContain('E0000079')
    }
  })
})
