import { afterEach, describe, expect, test } from '@jest/globals'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, startHarness, TOMAS } from '../support/harness.ts'
import { atMost, onlyLimits, type SomeLimits } from '../support/limits.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf, handleOf, hrefAt } from '../support/transaction-view.ts'

/** The limits on codes, messages that contain codes, pushes and recoveries. */
let harness: Harness
let aheadMs: number
afterEach(() => harness.stop())

async function limitedTo(limits: SomeLimits): Promise<void> {
  aheadMs = 0
  harness = await startHarness({
    tunables: (shipped) => {
      const only = onlyLimits(limits)(shipped)
      return { ...only, recovery: { ...only.recovery, resendAfterMs: 1 } }
    },
    sandboxNow: () => Date.now() + aheadMs,
  })
}

const SANA = 'sana.sms@example.test'
const PENNY = 'penny.patient@example.test'
const UNKNOWN = 'nobody.at.all@example.test'
const TOTP = 'token:software:totp'
const WRONG = [403, 'E0000068']
const LIMITED = [429, 'E0000047']
const wrongCode = { passCode: '000000' }

async function openVerification(login: string, browser?: Browser): Promise<PortalPage> {
  const page = await openPage(harness, browser)
  expect((await page.signIn(login)).json.status).toBe('MFA_REQUIRED')
  return page
}

async function openSession(login: string): Promise<Browser> {
  const page = await openVerification(login)
  await page.verify(TOTP, { passCode: harness.sandbox.totpCode(login) })
  expect(page.held.json.status).toBe('SUCCESS')
  return page.browser
}

describe('wrong codes', () => {
  test('are limited in one sign-in: then the right code is refused too, and nothing is sent upstream', async () => {
    await limitedTo({ code: { perTransaction: { burst: { attempts: 2, perSeconds: 3600 } } } })
    const page = await openVerification(TOMAS)
    for (let n = 0; n < 2; n++) expect(errorOf(await page.verify(TOTP, wrongCode))).toEqual(WRONG)
    harness.clearUpstreamCalls()
    const right = { passCode: harness.sandbox.totpCode(TOMAS) }
    expect(errorOf(await page.verify(TOTP, right))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
    const again = await openVerification(TOMAS)
    expect((await again.verify(TOTP, right)).json.status).toBe('SUCCESS')
  })

  test('are limited per user over two sign-ins; a known device has its own limit', async () => {
    await limitedTo({ code: { perUser: atMost(3), perKnownDevice: atMost(2) } })
    const known = await openSession(TOMAS)
    const pages = [await openVerification(TOMAS), await openVerification('tomas.berg')]
    const answers: unknown[] = []
    for (let n = 0; n < 5; n++)
      answers.push(errorOf((await pages[n % 2]?.verify(TOTP, wrongCode)) as PageAnswer))
    expect(answers).toEqual([WRONG, WRONG, WRONG, LIMITED, LIMITED])
    const own = await openVerification(TOMAS, known)
    expect(errorOf(await own.verify(TOTP, wrongCode))).toEqual(WRONG)
    const done = await own.verify(TOTP, { passCode: harness.sandbox.totpCode(TOMAS) })
    expect(done.json.status).toBe('SUCCESS')
  })

  test('of a recovery are limited equally for known and unknown users', async () => {
    await limitedTo({ code: { perUser: atMost(3) } })
    const conversations: unknown[] = []
    for (const username of [AMELIA, UNKNOWN]) {
      const answers: PageAnswer[] = []
      for (let n = 0; n < 2; n++) {
        const browser = await harness.visit()
        const started = await startRecovery(browser, username, 'SMS')
        const code = { stateToken: handleOf(started), passCode: '000000' }
        for (let tried = 0; tried < 2; tried++)
          answers.push(await browser.post(hrefAt(started, '_links.next'), code))
      }
      conversations.push(answers.map((answer) => [errorOf(answer), answer.headers.get('x-rate-limit-limit')]))
    }
    expect(conversations[0]).toEqual([...Array.from({ length: 3 }, () => [WRONG, null]), [LIMITED, '3']])
    expect(conversations[1]).toEqual(conversations[0])
  })
})

describe('messages that contain a code', () => {
  test('an empty code requests a message and is no attempt; messages are limited per user', async () => {
    await limitedTo({
      code: { perUser: atMost(1), perTransaction: { burst: { attempts: 1, perSeconds: 60 } } },
      message: { perUser: atMost(3), perKnownDevice: atMost(1) },
    })
    const first = await openVerification(SANA)
    expect((await first.verify('sms', { passCode: '' })).json.status).toBe('MFA_CHALLENGE')
    aheadMs += 31_000
    expect((await first.follow('_links.resend.0')).status).toBe(200)
    aheadMs += 31_000
    const second = await openVerification(SANA)
    expect((await second.verify('sms')).json.status).toBe('MFA_CHALLENGE')
    harness.clearUpstreamCalls()
    aheadMs += 31_000
    expect(errorOf(await second.follow('_links.resend.0'))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
    const passCode = harness.sandbox.outbox.latest(SANA, 'factor-code')?.code ?? ''
    expect((await second.follow('_links.next', { passCode })).json.status).toBe('SUCCESS')

    const own = await openVerification(SANA, second.browser)
    expect((await own.verify('sms')).json.status).toBe('MFA_CHALLENGE') // the device is known now
    aheadMs += 31_000
    expect(errorOf(await own.follow('_links.resend.0'))).toEqual(LIMITED)
  })
})

describe('pushes', () => {
  test('are limited per user over sign-ins; polls do not count, and a known device has its own limit', async () => {
    await limitedTo({ push: { perUser: atMost(2), perKnownDevice: atMost(2) } })
    const page = await openVerification(PENNY)
    await page.verify('push')
    for (let n = 0; n < 2; n++) expect((await page.follow('_links.next')).json.factorResult).toBe('WAITING')
    expect((await page.follow('_links.next')).json.status).toBe('SUCCESS')

    const otherPage = await openVerification(PENNY)
    expect((await otherPage.verify('push')).json.factorResult).toBe('WAITING')
    expect((await otherPage.follow('_links.next')).json.factorResult).toBe('WAITING')
    harness.clearUpstreamCalls()
    expect(errorOf(await (await openVerification(PENNY)).verify('push'))).toEqual(LIMITED)
    expect(harness.upstreamCalls().filter(({ path }) => path.includes('/verify'))).toEqual([])

    const own = await openVerification(PENNY, page.browser)
    expect((await own.verify('push')).json.factorResult).toBe('WAITING')
  })
})

describe('recoveries', () => {
  test('are limited per user, equally for known and unknown users', async () => {
    await limitedTo({ recovery: { perUser: atMost(2) } })
    const conversations: unknown[] = []
    for (const username of [AMELIA, UNKNOWN]) {
      const answers: PageAnswer[] = []
      for (let n = 0; n < 4; n++) {
        const kind = n % 2 === 0 ? 'password' : 'unlock'
        answers.push(await startRecovery(await harness.visit(), username, 'EMAIL', kind))
      }
      conversations.push(answers.map(({ status, headers }) => [status, headers.get('x-rate-limit-limit')]))
    }
    expect(conversations[0]).toEqual([
      [200, null],
      [200, null],
      [429, '2'],
      [429, '2'],
    ])
    expect(conversations[1]).toEqual(conversations[0])
  })
})

let recoveries = 0
/** The relay state is different each time, so that no request is coalesced with an earlier one. */
function startRecovery(browser: Browser, username: string, factorType: string, kind = 'password') {
  const relayState = `r${++recoveries}`
  return browser.post(`/api/v1/authn/recovery/${kind}`, { username, factorType, relayState })
}
