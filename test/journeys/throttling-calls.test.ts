import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf, factorAt, handleOf, hrefAt } from '../support/transaction-view.ts'

/** The limit on upstream calls per user (`limits.callsPerUser`): all users share the rate limit of the Okta org. */
const LIMIT = 6
const ERIN = 'erin.enroll@example.test'
const QUENTIN = 'quentin.query@example.test'
const LIMITED = [429, 'E0000047']
let nowMs = Date.now()
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    env: { STEP_UP: 'on', TRUST_PROXY: '127.0.0.1' },
    now: () => nowMs,
    sandboxNow: () => nowMs,
    tunables: (tunables) => ({
      ...tunables,
      recovery: { ...tunables.recovery, recoveryAnswerMs: 1 },
      limits: { ...tunables.limits, callsPerUser: { attempts: LIMIT, perSeconds: 60 } },
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

test('right passwords count too: a user who reaches the limit waits, another user does not', async () => {
  harness.clearUpstreamCalls()
  for (let n = 0; n < LIMIT; n++) expect((await signIn(AMELIA)).json.status).toBe('SUCCESS')
  const refused = await signIn(AMELIA.toUpperCase())
  expect([refused.status, refused.json.errorCode]).toEqual([429, 'E0000047'])
  expect(refused.headers.get('retry-after')).toBe('60')
  expect(refused.headers.get('x-rate-limit-limit')).toBe(String(LIMIT))
  expect(harness.upstreamCalls()).toHaveLength(LIMIT)
  expect((await signIn(TOMAS)).json.status).toBe('MFA_REQUIRED')
  expect(await harness.gatehouse.metrics()).toContain('gatehouse_limit_hits_total{limit="calls_user"} 1')
  nowMs += 60_000
  expect((await signIn(AMELIA)).json.status).toBe('SUCCESS')
})

test('state requests count, over all transactions of the user', async () => {
  const asked: { status: number }[] = []
  for (let n = 0; n < 3; n++) {
    const browser = await harness.visit()
    const begun = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    for (let m = 0; m < 3; m++)
      asked.push(await browser.post('/api/v1/authn', { stateToken: handleOf(begun) }))
  }
  expect(asked.map(({ status }) => status)).toEqual([...Array(LIMIT).fill(200), ...Array(3).fill(429)])
})

test('a recovery, which anyone can start for a username, does not count for that user', async () => {
  const otherBrowser = await harness.visit()
  const begun = await otherBrowser.post('/api/v1/authn/recovery/password', {
    username: AMELIA,
    factorType: 'SMS',
  })
  const body = { stateToken: handleOf(begun), passCode: '000000' }
  for (let n = 0; n < 2 * LIMIT; n++)
    expect((await otherBrowser.post(hrefAt(begun, '_links.next'), body)).status).toBe(403)
  expect((await signIn(AMELIA)).json.status).toBe('SUCCESS')
})

test('a request without the right password does not count for the user, even if the org rejects it for another reason', async () => {
  const body = { username: AMELIA, password: 'a-wrong-password', audience: 'no-such-app' }
  for (let n = 0; n < 2 * LIMIT; n++)
    expect((await (await harness.visit()).post('/api/v1/authn', body)).status).toBe(400)
  expect((await signIn(AMELIA)).json.status).toBe('SUCCESS')
})

test('identical polls share one upstream call, whatever their fingerprint and rememberDevice', async () => {
  const page = await openPage(harness)
  await page.signIn(PRIYA)
  await page.verify('push')
  harness.clearUpstreamCalls()
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

/** Makes `tries` calls and returns how many succeed before the first 429. All later calls must be 429 too. */
async function callsAllowed(tries: number, attempt: () => Promise<PageAnswer>): Promise<number> {
  const answers: PageAnswer[] = []
  for (let n = 0; n < tries; n++) answers.push(await attempt())
  const succeeded = answers.filter(({ status }) => status === 200).length
  expect(answers.slice(succeeded).map(errorOf)).toEqual(Array(tries - succeeded).fill(LIMITED))
  return succeeded
}

describe('a known device', () => {
  const ask = (browser: Browser, begun: PageAnswer) =>
    browser.post('/api/v1/authn', { stateToken: handleOf(begun) })
  const sendPassword = async (browser: Browser | Promise<Browser> = harness.visit()) =>
    (await browser).post('/api/v1/authn', { username: QUENTIN, password: PASSWORD })

  async function knownBrowser(): Promise<Browser> {
    const page = await openPage(harness)
    await page.signIn(QUENTIN)
    await page.verify('question', { answer: 'lighthouse' })
    expect(page.held.json.status).toBe('SUCCESS')
    nowMs += 60_000
    return page.browser
  }

  test('still works when an attacker who knows the password has used up the limit of unknown devices', async () => {
    const known = await knownBrowser()
    const otherBrowser = await harness.visit()
    const otherTransaction = await sendPassword(otherBrowser)
    expect(await callsAllowed(2 * LIMIT, () => sendPassword())).toBe(LIMIT - 1)
    expect(await callsAllowed(2 * LIMIT, () => ask(otherBrowser, otherTransaction))).toBe(LIMIT)

    const page = await openPage(harness, known)
    expect((await page.signIn(QUENTIN)).json.status).toBe('MFA_REQUIRED')
    expect((await ask(known, page.held)).json.status).toBe('MFA_REQUIRED')
    expect((await page.verify('question', { answer: 'lighthouse' })).json.status).toBe('SUCCESS')
    expect(errorOf(await sendPassword())).toEqual(LIMITED)
  })

  test('shares a separate limit with the other known devices of its user', async () => {
    const [one, other] = [await knownBrowser(), await knownBrowser()]
    expect(await callsAllowed(2 * LIMIT, () => sendPassword())).toBe(LIMIT)
    harness.clearUpstreamCalls()
    let n = 0
    expect(await callsAllowed(2 * LIMIT, () => sendPassword(n++ % 2 ? one : other))).toBe(LIMIT)
    expect(harness.upstreamCalls()).toHaveLength(LIMIT)
    expect(await harness.gatehouse.metrics()).toContain(
      `gatehouse_limit_hits_total{limit="calls_known_user"} ${LIMIT}`,
    )
  })

  test('is known for its user only', async () => {
    const known = await knownBrowser()
    const asTomas = (browser: Browser) =>
      browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    expect(await callsAllowed(LIMIT + 1, async () => asTomas(await harness.visit()))).toBe(LIMIT)
    expect(errorOf(await asTomas(known))).toEqual(LIMITED)
  })
})

describe('security questions and enrollment QR images', () => {
  const questionsIn = (held: PageAnswer) => hrefAt(held, `${factorAt(held, 'question')}._links.questions`)

  test('count together with the steps of the user', async () => {
    const page = await openPage(harness)
    const questions = questionsIn(await page.signIn(ERIN))
    const link = `${factorAt(page.held, 'token:software:totp')}._links.enroll`
    await page.follow(link, { factorType: 'token:software:totp', provider: 'OKTA' })
    const qrImage = hrefAt(page.held, '_embedded.factor._embedded.activation._links.qrcode')
    harness.clearUpstreamCalls()
    let n = 0
    expect(await callsAllowed(2 * LIMIT, () => page.browser.get(n++ % 2 ? questions : qrImage))).toBe(
      LIMIT - 1,
    )
    expect(harness.upstreamCalls()).toHaveLength(LIMIT - 1)
    expect(errorOf(await page.send('/api/v1/authn'))).toEqual(LIMITED)
    nowMs += 60_000
    expect(await callsAllowed(LIMIT, () => page.send('/api/v1/authn'))).toBe(LIMIT)
    expect(errorOf(await page.browser.get(questions))).toEqual(LIMITED)
  })

  test('are refused after the transaction has ended, unless another transaction of the device offers them', async () => {
    const [one, other] = [await openPage(harness), await openPage(harness)]
    const tab = await openPage(harness, one.browser)
    const questions = questionsIn(await one.signIn(ERIN))
    expect(questionsIn(await tab.signIn(ERIN))).toBe(questions)
    await other.signIn(ERIN)
    expect((await one.browser.get(questions)).status).toBe(200)
    await tab.send('/api/v1/authn/cancel')
    expect((await one.browser.get(questions)).status).toBe(200)
    await one.follow(`${factorAt(one.held, 'question')}._links.enroll`, {
      factorType: 'question',
      provider: 'OKTA',
      profile: { question: 'favorite_toy', answer: 'a spinning top' },
    })
    expect(one.held.json.status).toBe('SUCCESS')
    harness.clearUpstreamCalls()
    expect(errorOf(await one.browser.get(questions))).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
    expect((await other.browser.get(questions)).status).toBe(200)
  })
})

test('calls without a known user count by address (IPv6: by /64), not by handle', async () => {
  const { stateToken } = onClassicEngine(harness).sandbox.startStepUp(
    'payroll',
    undefined,
    harness.gatehouse.url,
  )
  const askedFrom = async (address: string, tries: number) => {
    const browser = openBrowser(harness.gatehouse.url, { 'x-forwarded-for': address })
    return callsAllowed(tries, async () => {
      const arrival = `${harness.gatehouse.url}/signin/step-up?stateToken=${stateToken}`
      const { location = '' } = await navigate(browser, arrival)
      return browser.post('/api/v1/authn', { stateToken: new URL(location).searchParams.get('stateToken') })
    })
  }
  expect(await askedFrom('2001:db8:1::1', 4)).toBe(4)
  expect(await askedFrom('2001:db8:1::2', 4)).toBe(LIMIT - 4)
  expect(await askedFrom('2001:db8:1:1::1', 1)).toBe(1)
  expect(await harness.gatehouse.metrics()).toContain('gatehouse_limit_hits_total{limit="calls_address"} 2')
})
