import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Browser, openBrowser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { navigate } from '../support/navigate.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'
import { errorOf, verifyHref } from '../support/transaction-view.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    env: { STEP_UP: 'on' },
    tunables: onlyLimits({ push: { perUser: atMost(2) } }),
  })
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

const startStepUp = (login?: string) =>
  onClassicEngine(harness).sandbox.startStepUp('payroll', login, `${harness.gatehouse.url}/signin/step-up`)
    .stateToken

/** Imports the token; returns the handle. */
async function importToken(browser: Browser, token: string, origin = harness.gatehouse.url): Promise<string> {
  const { location } = await navigate(browser, `${origin}/signin/step-up?stateToken=${token}`)
  return new URL(location ?? '').searchParams.get('stateToken') ?? ''
}

const requestState = (browser: Browser, stateToken: string) => browser.post('/api/v1/authn', { stateToken })

test('the newest import wins: the older transaction ends', async () => {
  const browser = openBrowser(harness.gatehouse.url)
  const token = startStepUp()
  const first = await importToken(browser, token)
  expect((await requestState(browser, first)).json.status).toBe('UNAUTHENTICATED')
  const second = await importToken(browser, token)
  expect(errorOf(await requestState(browser, first))).toEqual([401, 'E0000011'])
  const credentials = { stateToken: second, username: AMELIA, password: PASSWORD }
  expect((await browser.post('/api/v1/authn', credentials)).json.status).toBe('SUCCESS')
})

test('pushes are counted over repeated imports of a token and previous steps between them', async () => {
  const browser = openBrowser(harness.gatehouse.url)
  const token = startStepUp(PRIYA)
  const pushing = await importToken(browser, token)
  const asked = await requestState(browser, pushing)
  let handle = pushing
  for (let n = 0; n < 2; n++) {
    expect((await browser.post(verifyHref(asked, 'push'), { stateToken: handle })).json.factorResult).toBe(
      'WAITING',
    )
    const reimported = await importToken(browser, token)
    expect((await requestState(browser, reimported)).json.status).toBe('MFA_CHALLENGE')
    expect((await browser.post('/api/v1/authn/previous', { stateToken: reimported })).status).toBe(200)
    const stale = await browser.post(verifyHref(asked, 'push'), { stateToken: handle })
    expect(errorOf(stale)).toEqual([401, 'E0000011'])
    handle = reimported
  }
  expect((await browser.post(verifyHref(asked, 'push'), { stateToken: handle })).status).toBe(429)
})
