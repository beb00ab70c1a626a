import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf, factorAt, handleOf, hrefAt } from '../support/transaction-view.ts'

/** How much one person may ask of the org, right or wrong: its rate limit is everybody's. */
const MOST = 6
const ERIN = 'erin.enrol@example.test'
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
      limits: { ...tunables.limits, callsPerUser: { attempts: MOST, perSeconds: 60 } },
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

/** Makes so many calls, and counts those before the first 429; all later ones must get 429 too. */
async function callsAllowed(tries: number, attempt: () => Promise<PageAnswer>): Promise<number> {
  const answers: PageAnswer[] = []
  for (let n = 0; n < tries; n++) answers.push(await attempt())
  const through = answers.filter(({ status }) => status === 200).length
  expect(answers.slice(through).map(errorOf)).toEqual(Array(tries - through).fill(LIMITED))
  return through
}

describe('a known device', () => {
  const ask = (browser: Browser, begun: PageAnswer) =>
    browser.post('/api/v1/authn', { stateToken: handleOf(begun) })
  const showPassword = async (browser: Browser | Promise<Browser> = harness.visit()) =>
    (await browser).post('/api/v1/authn', { username: QUENTIN, password: PASSWORD })

  async function knownBrowser(): Promise<Browser> {
    const page = await openPage(harness)
    await page.signIn(QUENTIN)
    await page.verify('question', { answer: 'lighthouse' })
    expect(page.held.json.status).toBe('SUCCESS')
    nowMs += 60_000
    return page.browser
  }

  test('works while an attacker who knows the password has used up the limit that all devices share', async () => {
    const known = await knownBrowser()
    const stranger = await harness.visit()
    const theirs = await showPassword(stranger)
    expect(await callsAllowed(2 * MOST, () => showPassword())).toBe(MOST - 1)
    expect(await callsAllowed(2 * MOST, () => ask(stranger, theirs))).toBe(MOST)

    const page = await openPage(harness, known)
    expect((await page.signIn(QUENTIN)).json.status).toBe('MFA_REQUIRED')
    expect((await ask(known, page.held)).json.status).toBe('MFA_REQUIRED')
    expect((await page.verify('question', { answer: 'lighthouse' })).json.status).toBe('SUCCESS')
    expect(errorOf(await showPassword())).toEqual(LIMITED)
  })

  test('shares one more limit with the other known devices of its user', async () => {
    const [one, other] = [await knownBrowser(), await knownBrowser()]
    expect(await callsAllowed(2 * MOST, () => showPassword())).toBe(MOST)
    harness.forget()
    let n = 0
    expect(await callsAllowed(2 * MOST, () => showPassword(n++ % 2 ? one : other))).toBe(MOST)
    expect(harness.upstreamCalls()).toHaveLength(MOST)
    expect(await harness.gatehouse.metrics()).toContain(
      `gatehouse_limit_hits_total{limit="calls_known_person"} ${MOST}`,
    )
  })

  test('is known for its user only', async () => {
    const known = await knownBrowser()
    const asTomas = (browser: Browser) =>
      browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
    expect(await callsAllowed(MOST + 1, async () => asTomas(await harness.visit()))).toBe(MOST)
    expect(errorOf(await asTomas(known))).toEqual(LIMITED)
  })
})

describe('security questions and enrolment pictures', () => {
  const questionsIn = (held: PageAnswer) => hrefAt(held, `${factorAt(held, 'question')}._links.questions`)

  test('count together with the steps of the user', async () => {
    const page = await openPage(harness)
    const questions = questionsIn(await page.signIn(ERIN))
    const link = `${factorAt(page.held, 'token:software:totp')}._links.enroll`
    await page.follow(link, { factorType: 'token:software:totp', provider: 'OKTA' })
    const picture = hrefAt(page.held, '_embedded.factor._embedded.activation._links.qrcode')
    harness.forget()
    let n = 0
    expect(await callsAllowed(2 * MOST, () => page.browser.get(n++ % 2 ? questions : picture))).toBe(MOST - 1)
    expect(harness.upstreamCalls()).toHaveLength(MOST - 1)
    expect(errorOf(await page.send('/api/v1/authn'))).toEqual(LIMITED)
    nowMs += 60_000
    expect(await callsAllowed(MOST, () => page.send('/api/v1/authn'))).toBe(MOST)
    expect(errorOf(await page.browser.get(questions))).toEqual(LIMITED)
  })

  test('are refused when the transaction is over, but not to another transaction of the same device', async () => {
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
    harness.forget()
    expect(errorOf(await one.browser.get(questions))).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
    expect((await other.browser.get(questions)).status).toBe(200)
  })
})

test('where no user is named, calls count by address (IPv6: by /64), not by handle', async () => {
  const { stateToken } = harness.sandbox.startStepUp('payroll', undefined, harness.gatehouse.url)
  const askedFrom = async (address: string, tries: number) => {
    const browser = openBrowser(harness.gatehouse.url, { 'x-forwarded-for': address })
    return callsAllowed(tries, async () => {
      const arrival = `${harness.gatehouse.url}/signin/step-up?stateToken=${stateToken}`
      const { location = '' } = await navigate(browser, arrival)
      return browser.post('/api/v1/authn', { stateToken: new URL(location).searchParams.get('stateToken') })
    })
  }
  expect(await askedFrom('2001:db8:1::1', 4)).toBe(4)
  expect(await askedFrom('2001:db8:1::2', 4)).toBe(MOST - 4)
  expect(await askedFrom('2001:db8:1:1::1', 1)).toBe(1)
  expect(await harness.gatehouse.metrics()).toContain('gatehouse_limit_hits_total{limit="calls_address"} 2')
})
