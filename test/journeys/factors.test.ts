import { describe, expect, test } from '@jest/globals'
import { AMELIA, PASSWORD, PRIYA, TOMAS, useHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf, factorAt, hrefAt, valueAt } from '../support/transaction-view.ts'

const SANA = 'sana.sms@example.test'
const CARL = 'carl.call@example.test'
const MAX = 'max.many@example.test'

/** How far the sandbox's clock is ahead of the broker's, so that no test waits 30 seconds. */
let aheadMs = 0
const harness = useHarness({ sandboxNow: () => Date.now() + aheadMs })

const codeSentTo = (login: string) =>
  harness.sandbox.outbox.latest(login, 'factor-code')?.code ?? 'none was sent'

async function openVerification(login: string): Promise<PortalPage> {
  const page = await openPage(harness)
  const asked = await page.signIn(login)
  expect(asked.json.status).toBe('MFA_REQUIRED')
  return page
}

async function expectNoSession(page: PortalPage) {
  expect(await page.session()).toBeUndefined()
}

async function expectSession(page: PortalPage, login: string, amr: string[]) {
  expect(page.held.json.status).toBe('SUCCESS')
  expect(page.held.json.sessionToken).toBeUndefined()
  expect(await page.session()).toMatchObject({ login, amr })
}

describe('a factor that is verified in one step', () => {
  // shows: V6.5.1
  test('a replayed code opens no session; the next code does', async () => {
    const passCode = harness.sandbox.totpCode(TOMAS)
    const first = await openVerification(TOMAS)
    await first.verify('token:software:totp', { passCode })
    await expectSession(first, TOMAS, ['pwd', 'otp', 'mfa'])

    const second = await openVerification(TOMAS)
    const replayed = await second.verify('token:software:totp', { passCode })
    expect([replayed.status, replayed.json.factorResult]).toEqual([200, 'PASSCODE_REPLAYED'])
    expect(replayed.setCookies).toEqual([])
    await expectNoSession(second)
    await second.follow('_links.next', { passCode: harness.sandbox.totpCode(TOMAS) })
    await expectSession(second, TOMAS, ['pwd', 'otp', 'mfa'])
  })
})

describe('a code that is sent', () => {
  // shows: F-1.4, F-1.25, F-2.12, F-2.15
  // sandbox shows: F-1.25, F-2.12, F-2.15
  test.each([
    ['text message', SANA, 'sms', 'E0000109'],
    ['call', CARL, 'call', 'E0000133'],
  ])('a second %s within 30 seconds is refused; after them it is sent', async (...row) => {
    const [, login, factorType, errorCode] = row
    const page = await openVerification(login)
    await page.verify(factorType)
    const first = codeSentTo(login)
    for (const link of ['_links.next', '_links.resend.0']) {
      const tooSoon = await page.follow(link)
      expect(errorOf(tooSoon)).toEqual([429, errorCode])
      expect(tooSoon.headers.get('retry-after')).toBe('30')
    }
    expect(harness.sandbox.outbox.messages).toHaveLength(1)

    aheadMs += 31_000
    const resent = await page.follow('_links.resend.0')
    expect(resent.json.status).toBe('MFA_CHALLENGE')
    expect(harness.sandbox.outbox.messages).toHaveLength(2)
    expect(codeSentTo(login)).not.toBe(first)
    expect(errorOf(await page.follow('_links.next', { passCode: first }))).toEqual([403, 'E0000068'])
    await page.follow('_links.next', { passCode: codeSentTo(login) })
    expect(page.held.json.status).toBe('SUCCESS')
  })
})

describe('a push', () => {
  // shows: F-1.16, F-2.13
  // sandbox shows: F-1.16, F-2.13
  test.each([
    ['that is rejected', 'rita.reject@example.test', 2, 'REJECTED'],
    ['that is not answered', 'theo.timeout@example.test', 3, 'TIMEOUT'],
  ])('%s opens no session, and can be resent', async (_, login, polls, factorResult) => {
    const page = await openVerification(login)
    await page.verify('push')
    for (let poll = 1; poll < polls; poll += 1) {
      expect((await page.follow('_links.next')).json.factorResult).toBe('WAITING')
    }
    expect((await page.follow('_links.next')).json).toMatchObject({ status: 'MFA_CHALLENGE', factorResult })
    await expectNoSession(page)
    expect((await page.follow('_links.resend.0')).json.factorResult).toBe('WAITING')
    harness.sandbox.answerPush(login, 'approve')
    await page.follow('_links.next')
    await expectSession(page, login, ['pwd', 'swk', 'mfa'])
  })

  // shows: F-4.7
  test('continues after a poll that got the org’s 429', async () => {
    const page = await openVerification(PRIYA)
    await page.verify('push')
    const path = new URL(hrefAt(page.held, '_links.next')).pathname
    harness.sandbox.faults.authn.set({ kind: 'rate-limited', path, times: 1 })
    expect(errorOf(await page.follow('_links.next'))).toEqual([429, 'E0000047'])
    expect((await page.follow('_links.next')).json.factorResult).toBe('WAITING')
    harness.sandbox.answerPush(PRIYA, 'approve')
    await page.follow('_links.next')
    await expectSession(page, PRIYA, ['pwd', 'swk', 'mfa'])
  })

  test('is polled at most every 100 ms, also with an empty passCode', async () => {
    const page = await openVerification(PRIYA)
    await page.verify('push')
    const startedAt = performance.now()
    for (let poll = 0; poll < 3; poll += 1) await page.follow('_links.next', { passCode: '' })
    expect(performance.now() - startedAt).toBeGreaterThan(190)
  })

  // shows: F-2.21
  // sandbox shows: F-2.21
  test('only autoPush and rememberDevice are sent upstream as query parameters', async () => {
    const page = await openVerification(PRIYA)
    const verify = hrefAt(page.held, `${factorAt(page.held, 'push')}._links.verify`)
    harness.clearUpstreamCalls()
    for (const query of ['?autoPush=yes', '?autoPush=true&autoPush=true', '?rememberDevice=']) {
      expect(errorOf(await page.send(verify, {}, { query }))).toEqual([400, 'E0000001'])
    }
    expect(harness.upstreamCalls()).toEqual([])

    const waiting = await page.send(
      verify,
      {},
      { query: '?autoPush=true&rememberDevice=false&updatePhone=true&x=1' },
    )
    expect(harness.upstreamCalls().map(({ query }) => query)).toEqual([
      { autoPush: 'true', rememberDevice: 'false' },
    ])
    const resend = hrefAt(waiting, '_links.resend.0')
    const again = await page.send(resend, {}, { query: '?rememberDevice=true&autoPush=false&x=1' })
    expect([again.status, harness.upstreamCalls().at(-1)?.query]).toEqual([
      200,
      { rememberDevice: 'true', autoPush: 'false' },
    ])
    const factorId = String(valueAt(waiting.json, '_embedded.factor.id'))
    expect(valueAt(waiting.json, '_embedded.policy.factorsPolicyInfo')).toEqual({
      [factorId]: { autoPushEnabled: false }, // Okta saves the choice when the push is approved
    })
  })
})

describe('a choice of factors', () => {
  // shows: F-2.20
  // sandbox shows: F-2.20
  test('is reached with previous; the earlier challenge opens no session, another factor does', async () => {
    const page = await openVerification(MAX)
    await page.verify('push')
    harness.sandbox.answerPush(MAX, 'approve')
    const back = await page.follow('_links.prev')
    expect(back.json.status).toBe('MFA_REQUIRED')
    await expectNoSession(page)

    await page.verify('sms')
    const code = codeSentTo(MAX)
    await page.follow('_links.prev')
    await page.verify('call')
    expect(errorOf(await page.follow('_links.next', { passCode: code }))).toEqual([403, 'E0000068'])
    await page.follow('_links.prev')
    await page.verify('question', { answer: 'lighthouse' })
    await expectSession(page, MAX, ['pwd', 'kba', 'mfa'])
  })
})

describe('the fingerprint of a device', () => {
  // shows
  // sandbox shows
  test('that is unknown causes one email; a malformed one is not sent upstream', async () => {
    const page = await openPage(harness)
    const signIn = (fingerprint: string) =>
      page.browser.post(
        '/api/v1/authn',
        { username: AMELIA, password: PASSWORD },
        { headers: { 'x-device-fingerprint': fingerprint } },
      )
    const emails = () => harness.sandbox.outbox.messages.filter(({ purpose }) => purpose === 'new-device')

    await signIn('with space')
    expect(emails()).toEqual([])
    await signIn('print-1')
    expect(emails()).toMatchObject([{ to: AMELIA }])
    await signIn('print-1')
    expect(emails()).toHaveLength(1)
    await signIn('print-2')
    expect(emails()).toHaveLength(2)
  })
})
