import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { handleOf, hrefAt } from '../support/transaction-view.ts'

/** How much one person may ask of the org, right or wrong: its rate limit is everybody's. */
const MOST = 6
let nowMs = Date.now()
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    now: () => nowMs,
    sandboxNow: () => nowMs,
    tunables: (tunables) => ({
      ...tunables,
      recovery: { ...tunables.recovery, recoveryAnswerMs: 1 },
      limits: { ...tunables.limits, callsPerPerson: { attempts: MOST, perSeconds: 60 } },
    }),
  })
})
afterAll(() => harness.stop())
beforeEach(() => {
  nowMs += 3_600_000
  harness.sandbox.reset()
})

const signIn = async (username: string) =>
  (await harness.visit()).post('/api/v1/authn', { username, password: PASSWORD })

test('who has the right password signs in so often, and then waits; another person does not', async () => {
  harness.forget()
  for (let n = 0; n < MOST; n++) expect((await signIn(AMELIA)).json.status).toBe('SUCCESS')
  const refused = await signIn(AMELIA.toUpperCase())
  expect([refused.status, refused.json.errorCode]).toEqual([429, 'E0000047'])
  expect(refused.headers.get('retry-after')).toBe('60')
  expect(refused.headers.get('x-rate-limit-limit')).toBe(String(MOST))
  expect(harness.upstreamCalls()).toHaveLength(MOST)
  expect((await signIn(TOMAS)).json.status).toBe('MFA_REQUIRED')
  expect(await harness.gatehouse.metrics()).toContain('gatehouse_limit_hits_total{limit="calls_person"} 1')
  nowMs += 60_000
  expect((await signIn(AMELIA)).json.status).toBe('SUCCESS')
})

test('"where am I?" counts, in however many transactions', async () => {
  const asked: { status: number }[] = []
  for (let n = 0; n < 3; n++) {
    const browser = await harness.visit()
    const begun = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    for (let m = 0; m < 3; m++)
      asked.push(await browser.post('/api/v1/authn', { stateToken: handleOf(begun) }))
  }
  expect(asked.map(({ status }) => status)).toEqual([...Array(MOST).fill(200), ...Array(3).fill(429)])
})

test('a recovery, which anybody may begin for a name, uses up nothing of that person', async () => {
  const stranger = await harness.visit()
  const begun = await stranger.post('/api/v1/authn/recovery/password', {
    username: AMELIA,
    factorType: 'SMS',
  })
  const body = { stateToken: handleOf(begun), passCode: '000000' }
  for (let n = 0; n < 2 * MOST; n++)
    expect((await stranger.post(hrefAt(begun, '_links.next'), body)).status).toBe(403)
  expect((await signIn(AMELIA)).json.status).toBe('SUCCESS')
})

test('who knows no password uses up nothing of the person named, whatever the org refuses first', async () => {
  const shown = { username: AMELIA, password: 'a-wrong-password', audience: 'no-such-app' }
  for (let n = 0; n < 2 * MOST; n++)
    expect((await (await harness.visit()).post('/api/v1/authn', shown)).status).toBe(400)
  expect((await signIn(AMELIA)).json.status).toBe('SUCCESS')
})

test('polls are held whatever else a browser says with each of them', async () => {
  const page = await openPage(harness)
  await page.signIn(PRIYA)
  await page.verify('push')
  harness.forget()
  const poll = hrefAt(page.held, '_links.next')
  const body = { stateToken: handleOf(page.held) }
  const answers = await Promise.all([
    page.browser.post(poll, body, { headers: { 'x-device-fingerprint': 'one' } }),
    page.browser.post(poll, body, { headers: { 'x-device-fingerprint': 'another' } }),
    page.browser.post(`${poll}?rememberDevice=true`, body),
    page.browser.post(`${poll}?rememberDevice=false`, body),
  ])
  expect(answers.map(({ json }) => json.factorResult)).toEqual(Array(4).fill('WAITING'))
  expect(harness.upstreamCalls()).toHaveLength(1)
})
