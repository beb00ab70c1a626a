import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, TOMAS, useHarness } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf } from '../support/transaction-view.ts'

/** The limits on codes, pushes and recoveries. */
const limits = onlyLimits({
  code: { perUser: atMost(3), perTransaction: { burst: { attempts: 2, perSeconds: 3600 } } },
  push: { perUser: atMost(2), perKnownDevice: atMost(2) },
  recovery: { perUser: atMost(2) },
})
const harness = useHarness({
  tunables(shipped) {
    const { recovery, ...limited } = limits(shipped)
    return { ...limited, recovery: { ...recovery, resendAfterMs: 1 } }
  },
})
beforeEach(() => harness.redis.client().flushall())

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

describe('wrong codes', () => {
  // shows: V6.6.3
  test('are limited in one sign-in: then the right code is refused too, and nothing is sent upstream', async () => {
    const page = await openVerification(TOMAS)
    for (let n = 0; n < 2; n++) expect(errorOf(await page.verify(TOTP, wrongCode))).toEqual(WRONG)
    harness.clearUpstreamCalls()
    const right = { passCode: harness.sandbox.totpCode(TOMAS) }
    expect(errorOf(await page.verify(TOTP, right))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
    const again = await openVerification(TOMAS)
    expect((await again.verify(TOTP, right)).json.status).toBe('SUCCESS')
  })

  test('the prompts of a token are none: a PIN that its server refuses, and the wait for the next code (S11)', async () => {
    const login = 'rufus.newpin@example.test'
    const page = await openVerification(login)
    const enter = async (passCode: string) => errorOf(await page.verify('token', { passCode }))
    const prompt = [409, 'E0000113']
    expect(await enter(harness.sandbox.totpCode(login))).toEqual(prompt)
    for (const pin of ['1', '12', '123', 'letters', '1234']) expect(await enter(pin)).toEqual(prompt)
    await page.verify('token', { passCode: `1234${harness.sandbox.totpCode(login)}` })
    expect(await page.session()).toMatchObject({ login, amr: ['pwd', 'hwk', 'mfa'] })

    const nadia = 'nadia.nextcode@example.test'
    const other = await openVerification(nadia)
    const first = await other.verify('token', { passCode: harness.sandbox.totpCode(nadia) })
    expect(errorOf(first)).toEqual([403, 'E0000106'])
    await other.verify('token', { passCode: harness.sandbox.totpCode(nadia) })
    expect(await other.session()).toMatchObject({ login: nadia })
  })

  test('of a recovery are limited equally for known and unknown users', async () => {
    for (const username of [AMELIA, UNKNOWN]) {
      const answers: unknown[] = []
      for (const _recovery of [1, 2]) {
        const page = await openPage(harness)
        await startRecovery(page, username, 'SMS')
        for (const _code of [1, 2]) {
          const answer = await page.follow('_links.next', wrongCode)
          answers.push([errorOf(answer), answer.headers.get('x-rate-limit-limit')])
        }
      }
      expect(answers).toEqual([...Array(3).fill([WRONG, null]), [LIMITED, '3']])
    }
  })
})

describe('pushes', () => {
  // shows: V6.6.4
  test('are limited per user over sign-ins; polls do not count, and a known device has its own limit', async () => {
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

test('recoveries are limited per user, equally for known and unknown users', async () => {
  for (const username of [AMELIA, UNKNOWN]) {
    const answers: unknown[] = []
    for (const kind of ['password', 'unlock', 'password', 'unlock']) {
      const { status, headers } = await startRecovery(await openPage(harness), username, 'EMAIL', kind)
      answers.push([status, headers.get('x-rate-limit-limit')])
    }
    expect(answers).toEqual([...Array(2).fill([200, null]), ...Array(2).fill([429, '2'])])
  }
})

let recoveries = 0
/** The relay state is different each time, so that no request is coalesced with an earlier one. */
function startRecovery(page: PortalPage, username: string, factorType: string, kind = 'password') {
  const relayState = `r${++recoveries}`
  return page.begin(`/api/v1/authn/recovery/${kind}`, { username, factorType, relayState })
}
