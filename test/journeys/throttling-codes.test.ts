import { afterEach, describe, expect, test } from '@jest/globals'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { atMost, onlyLimits, type SomeLimits } from '../support/limits.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf, factorAt, handleOf, hrefAt, verifyHref } from '../support/transaction-view.ts'

/** Codes, the messages that bring them, pushes and recoveries: what is limited once a sign-in has begun, or beside it. */
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

const PABLO = 'pablo.password@example.test'
const SANA = 'sana.sms@example.test'
const PENNY = 'penny.patient@example.test'
const QUENTIN = 'quentin.query@example.test'
const UNKNOWN = 'nobody.at.all@example.test'
const TOTP = 'token:software:totp'
const WRONG = [403, 'E0000068']
const LIMITED = [429, 'E0000047']
const wrongCode = { passCode: '000000' }

async function askedFor(login: string, browser?: Browser): Promise<PortalPage> {
  const page = await openPage(harness, browser)
  expect((await page.signIn(login)).json.status).toBe('MFA_REQUIRED')
  return page
}

async function signedIn(login: string): Promise<Browser> {
  const page = await askedFor(login)
  await page.verify(TOTP, { passCode: harness.sandbox.totpCode(login) })
  expect(page.held.json.status).toBe('SUCCESS')
  return page.browser
}

describe('wrong codes', () => {
  test('are limited in one sign-in; the right one after them as well, and nothing is sent upstream', async () => {
    await limitedTo({ code: { perTransaction: { burst: { attempts: 2, perSeconds: 3600 } } } })
    const page = await askedFor(TOMAS)
    for (let n = 0; n < 2; n++) expect(errorOf(await page.verify(TOTP, wrongCode))).toEqual(WRONG)
    harness.forget()
    const rightOne = { passCode: harness.sandbox.totpCode(TOMAS) }
    expect(errorOf(await page.verify(TOTP, rightOne))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
    const anew = await askedFor(TOMAS)
    expect((await anew.verify(TOTP, rightOne)).json.status).toBe('SUCCESS')
  })

  test('are limited by the person over two sign-ins, by code and by answer, but for browsers that are known', async () => {
    await limitedTo({ code: { perUser: atMost(3), perKnownDevice: atMost(2) } })
    const known = await signedIn(TOMAS)
    const pages = [await askedFor(TOMAS), await askedFor('tomas.berg')]
    const answers: unknown[] = []
    for (let n = 0; n < 5; n++)
      answers.push(errorOf((await pages[n % 2]?.verify(TOTP, wrongCode)) as PageAnswer))
    expect(answers).toEqual([WRONG, WRONG, WRONG, LIMITED, LIMITED])
    const own = await askedFor(TOMAS, known)
    expect(errorOf(await own.verify(TOTP, wrongCode))).toEqual(WRONG)
    const done = await own.verify(TOTP, { passCode: harness.sandbox.totpCode(TOMAS) })
    expect(done.json.status).toBe('SUCCESS')
  })

  test('a wrong answer is one too, and a right one or a failure of the org is none', async () => {
    await limitedTo({ code: { perUser: atMost(2) } })
    for (let n = 0; n < 3; n++) {
      const page = await askedFor(QUENTIN)
      harness.sandbox.faults.authn.set({ kind: 'html', path: '/api/v1/authn/factors', times: 1 })
      expect((await page.verify('question', { answer: 'lighthouse' })).status).toBe(502)
      expect((await page.verify('question', { answer: 'lighthouse' })).json.status).toBe('SUCCESS')
    }
    const page = await askedFor(QUENTIN)
    const answers: unknown[] = []
    for (let n = 0; n < 3; n++) answers.push(errorOf(await page.verify('question', { answer: 'windmill' })))
    expect(answers).toEqual([WRONG, WRONG, LIMITED])
  })

  test('that the org refuses with 200 are wrong ones too', async () => {
    await limitedTo({ code: { perUser: atMost(2) } })
    const page = await askedFor(TOMAS)
    const body = {
      status: 'MFA_CHALLENGE',
      factorResult: 'REJECTED',
      stateToken: harness.sandbox.tokensIssued().at(-1),
    }
    const path = '/api/v1/authn/factors'
    harness.sandbox.faults.authn.set({ kind: 'status', status: 200, path, times: 2, body })
    const asked = page.held
    const guess = async () => {
      const verify = { stateToken: handleOf(asked), ...wrongCode }
      const answer = await page.browser.post(verifyHref(asked, TOTP), verify)
      return answer.json.factorResult ?? errorOf(answer)
    }
    expect([await guess(), await guess(), await guess()]).toEqual(['REJECTED', 'REJECTED', LIMITED])
  })

  test('are limited by the address', async () => {
    await limitedTo({ code: { perAddress: atMost(2) } })
    expect(errorOf(await (await askedFor(TOMAS)).verify(TOTP, wrongCode))).toEqual(WRONG)
    expect(errorOf(await (await askedFor(QUENTIN)).verify('question', { answer: 'windmill' }))).toEqual(WRONG)
    expect(errorOf(await (await askedFor(TOMAS)).verify(TOTP, wrongCode))).toEqual(LIMITED)
  })

  test('of a recovery are limited alike for who exists and who does not', async () => {
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

describe('wrong passwords of a password factor', () => {
  test('count with wrong passwords at the start of a sign-in, and nothing is sent upstream beyond the limit', async () => {
    await limitedTo({ password: { perUser: atMost(3) } })
    const pages = [await askedFor(PABLO), await askedFor(PABLO)]
    const wrong = { password: 'Not-The-Password-1' }
    const signIn = { username: PABLO, ...wrong }
    expect(errorOf(await (await harness.visit()).post('/api/v1/authn', signIn))).toEqual([401, 'E0000004'])
    for (const page of pages) expect(errorOf(await page.verify('password', wrong))).toEqual(WRONG)
    harness.forget()
    expect(errorOf(await (pages[0] as PortalPage).verify('password', { password: PASSWORD }))).toEqual(
      LIMITED,
    )
    expect(errorOf(await (await harness.visit()).post('/api/v1/authn', signIn))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
  })
})

describe('codes that are sent', () => {
  test('an empty code or none asks for one and is no guess; so many are sent to a person', async () => {
    await limitedTo({
      code: { perUser: atMost(1), perTransaction: { burst: { attempts: 1, perSeconds: 60 } } },
      message: { perUser: atMost(3), perKnownDevice: atMost(1) },
    })
    const first = await askedFor(SANA)
    expect((await first.verify('sms', { passCode: '' })).json.status).toBe('MFA_CHALLENGE')
    aheadMs += 31_000
    expect((await first.follow('_links.resend.0')).status).toBe(200)
    aheadMs += 31_000
    const second = await askedFor(SANA)
    expect((await second.verify('sms')).json.status).toBe('MFA_CHALLENGE')
    harness.forget()
    aheadMs += 31_000
    expect(errorOf(await second.follow('_links.resend.0'))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
    const passCode = harness.sandbox.outbox.latest(SANA, 'factor-code')?.code ?? ''
    expect((await second.follow('_links.next', { passCode })).json.status).toBe('SUCCESS')

    const own = await askedFor(SANA, second.browser)
    expect((await own.verify('sms')).json.status).toBe('MFA_CHALLENGE') // known by now
    aheadMs += 31_000
    expect(errorOf(await own.follow('_links.resend.0'))).toEqual(LIMITED)
  })

  test('one that the org did not send, because it had just sent one, is given back', async () => {
    await limitedTo({ message: { perUser: atMost(2) } })
    const page = await askedFor(SANA)
    await page.verify('sms')
    for (let n = 0; n < 3; n++)
      expect(errorOf(await page.follow('_links.resend.0'))).toEqual([429, 'E0000109'])
    aheadMs += 31_000
    expect((await page.follow('_links.resend.0')).status).toBe(200)
    aheadMs += 31_000
    expect(errorOf(await page.follow('_links.resend.0'))).toEqual(LIMITED)
  })
})

describe('pushes', () => {
  test('are limited by the person over sign-ins; polls are none, and a stranger leaves the known browser its own', async () => {
    await limitedTo({ push: { perUser: atMost(2), perKnownDevice: atMost(2) } })
    const page = await askedFor(PENNY)
    await page.verify('push')
    for (let n = 0; n < 2; n++) expect((await page.follow('_links.next')).json.factorResult).toBe('WAITING')
    expect((await page.follow('_links.next')).json.status).toBe('SUCCESS')

    const stranger = await askedFor(PENNY)
    expect((await stranger.verify('push')).json.factorResult).toBe('WAITING')
    expect((await stranger.follow('_links.next')).json.factorResult).toBe('WAITING')
    harness.forget()
    expect(errorOf(await (await askedFor(PENNY)).verify('push'))).toEqual(LIMITED)
    expect(harness.upstreamCalls().filter(({ path }) => path.includes('/verify'))).toEqual([])

    const own = await askedFor(PENNY, page.browser)
    expect((await own.verify('push')).json.factorResult).toBe('WAITING')
  })

  test('a new one after a rejection, a resent one and one after going back are pushes like the first', async () => {
    await limitedTo({ push: { perUser: atMost(4) } })
    const page = await askedFor(PENNY)
    const verify = hrefAt(page.held, `${factorAt(page.held, 'push')}._links.verify`)
    expect((await page.send(verify)).json.factorResult).toBe('WAITING')
    harness.sandbox.answerPush(PENNY, 'reject')
    expect((await page.send(verify)).json.factorResult).toBe('REJECTED')
    expect((await page.send(verify)).json.factorResult).toBe('WAITING')
    expect((await page.send('/api/v1/authn/previous')).json.status).toBe('MFA_REQUIRED')
    expect((await page.send(verify)).json.factorResult).toBe('WAITING')
    expect((await page.send('/api/v1/authn')).json.factorResult).toBe('WAITING')
    expect((await page.send(verify)).json.factorResult).toBe('WAITING')
    expect((await page.send('/api/v1/authn/previous')).json.status).toBe('MFA_REQUIRED')
    expect((await page.send(verify)).json.factorResult).toBe('WAITING')
    expect((await page.send('/api/v1/authn/previous')).json.status).toBe('MFA_REQUIRED')
    expect(errorOf(await page.send(verify))).toEqual(LIMITED)
  })

  test('one whose answer is refused because another user’s session is open has gone out all the same', async () => {
    await limitedTo({ push: { perUser: atMost(1) } })
    const page = await openPage(harness)
    const recoveryToken = harness.sandbox.recoveryToken(PRIYA)
    await page.begin('/api/v1/authn/recovery/token', { recoveryToken })
    await page.follow('_links.next', { newPassword: 'Chosen-By-Myself-7' })
    expect((await (await openPage(harness, page.browser)).signIn(AMELIA)).json.status).toBe('SUCCESS')
    expect(errorOf(await page.verify('push'))).toEqual([403, 'E0000006'])
    const stranger = await openPage(harness)
    await stranger.signIn(PRIYA, { password: 'Chosen-By-Myself-7' })
    expect(errorOf(await stranger.verify('push'))).toEqual(LIMITED)
  })

  test.each(['passCode', 'answer', 'password'])(
    'one with a made-up %s is a push all the same',
    async (name) => {
      await limitedTo({ push: { perUser: atMost(2) } })
      const page = await askedFor(PENNY)
      const verify = hrefAt(page.held, `${factorAt(page.held, 'push')}._links.verify`)
      const answers: unknown[] = []
      for (let n = 0; n < 3; n++) {
        answers.push(errorOf(await page.send(verify, { [name]: 'made-up' })))
        await page.send('/api/v1/authn/previous')
      }
      expect(answers).toEqual([[200, undefined], [200, undefined], LIMITED])
    },
  )
})

describe('messages that bring a code', () => {
  test.each(['answer', 'password'])(
    'are limited also when they are asked for with a made-up %s',
    async (name) => {
      await limitedTo({ message: { perUser: atMost(2) } })
      const page = await askedFor(SANA)
      const verify = hrefAt(page.held, `${factorAt(page.held, 'sms')}._links.verify`)
      const answers: unknown[] = []
      for (let n = 0; n < 3; n++) {
        aheadMs += 31_000
        answers.push(errorOf(await page.send(verify, { [name]: 'made-up' })))
        await page.send('/api/v1/authn/previous')
      }
      expect(answers).toEqual([[200, undefined], [200, undefined], LIMITED])
    },
  )
})

describe('recoveries', () => {
  test.each(['EMAIL', 'SMS'])(
    'by %s are limited by the person, alike for who exists and who does not',
    async (way) => {
      await limitedTo({ recovery: { perUser: atMost(2) } })
      const conversations: unknown[] = []
      for (const username of [AMELIA, UNKNOWN]) {
        const answers: PageAnswer[] = []
        for (let n = 0; n < 4; n++) {
          answers.push(
            await startRecovery(await harness.visit(), username, way, n % 2 === 0 ? 'password' : 'unlock'),
          )
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
    },
  )

  test('are limited by the address', async () => {
    await limitedTo({ recovery: { perAddress: atMost(2) } })
    const statuses: number[] = []
    for (let n = 0; n < 3; n++)
      statuses.push((await startRecovery(await harness.visit(), `somebody-${n}`, 'EMAIL')).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  test('the person can begin one in a known browser when strangers have used up theirs', async () => {
    await limitedTo({ recovery: { perUser: atMost(1), perAddress: atMost(1), perKnownDevice: atMost(1) } })
    const known = await harness.visit()
    await known.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    const statuses = async (browser: Browser) => [
      (await startRecovery(browser, AMELIA, 'EMAIL')).status,
      (await startRecovery(browser, AMELIA, 'EMAIL')).status,
    ]
    expect(await statuses(await harness.visit())).toEqual([200, 429])
    expect(await statuses(known)).toEqual([200, 429])
  })

  test('one that met trouble at the org is given back', async () => {
    await limitedTo({ recovery: { perUser: atMost(1) } })
    const body = { errorCode: 'E0000009', errorSummary: 'x', errorLink: 'x', errorId: 'x', errorCauses: [] }
    harness.sandbox.faults.authn.set({ kind: 'status', status: 500, body, times: 2 })
    const browser = await harness.visit()
    const statuses: number[] = []
    for (let n = 0; n < 4; n++) statuses.push((await startRecovery(browser, AMELIA, 'EMAIL')).status)
    expect(statuses).toEqual([502, 502, 200, 429])
  })
})

let recoveries = 0
/** Each with a relay state of its own, so that none is taken for the one before. */
function startRecovery(browser: Browser, username: string, factorType: string, kind = 'password') {
  const relayState = `r${++recoveries}`
  return browser.post(`/api/v1/authn/recovery/${kind}`, { username, factorType, relayState })
}
