import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Browser, openBrowser } from '../support/browser.ts'
import { TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { navigate } from '../support/navigate.ts'
import { errorOf, verifyHref } from '../support/transaction-view.ts'

/** One state token of the org has one transaction here, however often, wherever and by whatever key it is brought in. */
const OTHER_KEY = Buffer.alloc(32, 'another-plainly-fake-key').toString('base64')

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    env: { STEP_UP: 'on' },
    tunables: onlyLimits({ push: { perUser: atMost(2) } }),
  })
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

const begun = (login?: string) =>
  harness.sandbox.startStepUp('payroll', login, `${harness.gatehouse.url}/signin/step-up`).stateToken

/** The handle that the browser gets for this token. */
async function arrived(browser: Browser, token: string, origin = harness.gatehouse.url): Promise<string> {
  const { location } = await navigate(browser, `${origin}/signin/step-up?stateToken=${token}`)
  return new URL(location ?? '').searchParams.get('stateToken') ?? ''
}

const look = (browser: Browser, stateToken: string) => browser.post('/api/v1/authn', { stateToken })

/** Which of these handles have a transaction. */
async function living(browser: Browser, handles: readonly string[]): Promise<string[]> {
  const looks = await Promise.all(handles.map((handle) => look(browser, handle)))
  return handles.filter((_, n) => looks[n]?.status === 200)
}

test('the newest import wins: the older one is over', async () => {
  const browser = openBrowser(harness.gatehouse.url)
  const token = begun()
  const first = await arrived(browser, token)
  expect((await look(browser, first)).json.status).toBe('UNAUTHENTICATED')
  const second = await arrived(browser, token)
  expect(errorOf(await look(browser, first))).toEqual([401, 'E0000011'])
  const credentials = { stateToken: second, username: AMELIA, password: PASSWORD }
  expect((await browser.post('/api/v1/authn', credentials)).json.status).toBe('SUCCESS')
})

test('also in another browser, and at another replica', async () => {
  const browser = openBrowser(harness.gatehouse.url)
  const token = begun()
  const first = await arrived(browser, token)
  const replica = await harness.replica()
  const other = openBrowser(replica.url)
  const second = await arrived(other, token, replica.url)
  expect(errorOf(await look(browser, first))).toEqual([401, 'E0000011'])
  expect((await look(other, second)).status).toBe(200)
})

test('and while the keys are being rotated', async () => {
  const key = TEST_KEY
  const next = await harness.replica({ SECRET_KEYS: `${OTHER_KEY},${key}` })
  const former = await harness.replica({ SECRET_KEYS: `${key},${OTHER_KEY}` })
  const browser = openBrowser(former.url)
  const token = begun()
  const first = await arrived(browser, token, former.url)
  const moved = openBrowser(next.url)
  const second = await arrived(moved, token, next.url)
  expect(errorOf(await look(browser, first))).toEqual([401, 'E0000011'])
  const third = await arrived(browser, token, former.url)
  expect(errorOf(await look(moved, second))).toEqual([401, 'E0000011'])
  expect((await look(browser, third)).status).toBe(200)
})

test('of imports at once one is left, and other tokens are untouched', async () => {
  const browser = openBrowser(harness.gatehouse.url)
  await browser.get('/api/v1/sessions/me')
  const other = await arrived(browser, begun())
  const token = begun()
  const handles = await Promise.all(Array.from({ length: 6 }, () => arrived(browser, token)))
  expect(await living(browser, handles)).toHaveLength(1)
  expect(await living(browser, [other])).toEqual([other])
})

test('so pushes are counted, however a token is brought in and moved between them', async () => {
  const browser = openBrowser(harness.gatehouse.url)
  const token = begun(PRIYA)
  const pushing = await arrived(browser, token)
  const asked = await look(browser, pushing)
  let handle = pushing
  for (let n = 0; n < 2; n++) {
    expect((await browser.post(verifyHref(asked, 'push'), { stateToken: handle })).json.factorResult).toBe(
      'WAITING',
    )
    const back = await arrived(browser, token)
    expect((await look(browser, back)).json.status).toBe('MFA_CHALLENGE')
    expect((await browser.post('/api/v1/authn/previous', { stateToken: back })).status).toBe(200)
    const stale = await browser.post(verifyHref(asked, 'push'), { stateToken: handle })
    expect(errorOf(stale)).toEqual([401, 'E0000011'])
    handle = back
  }
  expect((await browser.post(verifyHref(asked, 'push'), { stateToken: handle })).status).toBe(429)
})
