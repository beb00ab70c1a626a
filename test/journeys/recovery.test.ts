import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { AMELIA, useHarness } from '../support/harness.ts'
import { handleOf, hrefAt } from '../support/transaction-view.ts'

/** Of the next replica. Short, so that the tests are fast. */
let answerMs = 20
const RESEND_AFTER_MS = 60_000
const CHALLENGE_MS = 4 * 60_000

/** The clock of the broker and the sandbox; tests advance it. */
let nowMs = Date.now()

const harness = useHarness({
  now: () => nowMs,
  sandboxNow: () => nowMs,
  tunables: (tunables) => ({
    ...tunables,
    recovery: { ...tunables.recovery, recoveryAnswerMs: answerMs, resendAfterMs: RESEND_AFTER_MS },
  }),
})
beforeEach(async () => {
  nowMs = Date.now()
  await harness.redis.client().flushall()
})

const START = '/api/v1/authn/recovery/password'
const UNKNOWN = 'nobody.at.all@example.test'
const FORBIDDEN = 'hugo.norecovery@example.test'
const NO_PHONE = 'mila.nophone@example.test'
/** The account can only be unlocked by an administrator: Okta refuses with E0000119. */
const LOCKED = 'lars.locked@example.test'
/**
 * Okta recovers no password of these (R4), and refuses the last one even to public applications
 * (R11).
 */
const REFUSED = ['yara.young', 'stella.staged', 'luis.locked', 'fiona.federated'].map(
  (name) => `${name}@example.test`,
)
/**
 * Okta tells public applications that this user exists, so the broker makes a decoy transaction.
 */
const FEDERATED = 'fiona.federated@example.test'
const WITH_PHONE = AMELIA
/** The answer to the recovery question of all users here. */
const ANSWER = 'gatehouse'
const NEW_PASSWORD = 'Another-Password-2'

/** Ends the pause after a message: on the broker's clock, and in Redis, which has its own clock. */
async function endPause() {
  nowMs += RESEND_AFTER_MS + 1
  const redis = harness.redis.client()
  for (const key of await redis.keys('gatehouse:limit:recovery-sent:*')) await redis.del(key)
}

function start(browser: Browser, username: string, factorType: string, kind = 'password') {
  return browser.post(`/api/v1/authn/recovery/${kind}`, { username, factorType })
}

/** A response without its random values; the rest must be equal for all users. */
function anonymous({ status, text, headers, json }: PageAnswer): object {
  const withoutValues = text
    .replaceAll(String(json.stateToken ?? 'no state token'), '<handle>')
    .replaceAll(String(json.errorId ?? 'no error id'), '<error id>')
    .replaceAll(harness.gatehouse.url, '<origin>')
  const names = [...headers.keys()].filter((name) => name !== 'set-cookie').toSorted()
  const times = /"expiresAt":"[^"]*"/
  return {
    status,
    names,
    length: headers.get('content-length'),
    body: withoutValues.replace(times, '<time>'),
  }
}

describe('known and unknown users cannot be told apart', () => {
  // shows: F-3.2, V6.3.8, V6.6.3
  test.each(['EMAIL', 'SMS'])(
    'by %s: known and unknown users, and users without recovery or phone, get the same response',
    async (factorType) => {
      const answers: object[] = []
      const steps: object[][] = []
      for (const username of [WITH_PHONE, UNKNOWN, FORBIDDEN, NO_PHONE, LOCKED, ...REFUSED]) {
        const browser = await harness.visit()
        const started = await start(browser, username, factorType)
        expect(started.json.status).toBe('RECOVERY_CHALLENGE')
        expect(started.text).not.toMatch(/recoveryToken|_embedded|"user"/)
        answers.push(anonymous(started))
        if (factorType === 'EMAIL') continue
        steps.push(await wholeConversation(browser, started))
      }
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
      expect(new Set(steps.map((step) => JSON.stringify(step))).size).toBeLessThanOrEqual(1)
    },
  )

  test.each([
    ['E0000146', 'SMS'],
    ['E0000150', 'SMS'],
    ['E0000205', 'CALL'],
    ['E0000118', 'EMAIL'],
  ] as const)(
    'a limit of Okta on messages, which only known users reach, is not shown: %s',
    async (sendLimit, factorType) => {
      harness.sandbox.settings.sendLimit = sendLimit
      const seen: object[] = []
      for (const username of [WITH_PHONE, UNKNOWN, FEDERATED]) {
        const browser = await harness.visit()
        const started = await start(browser, username, factorType)
        expect(started.status).toBe(200)
        seen.push(anonymous(started), factorType === 'EMAIL' ? [] : await wholeConversation(browser, started))
      }
      const [started, conversation] = seen
      expect(seen).toEqual(Array(3).fill([started, conversation]).flat())
    },
  )

  const lifetimeOf = ({ json }: PageAnswer) => Date.parse(String(json.expiresAt)) - nowMs

  test('a challenge expires at the same time for known and unknown users, also after a resend', async () => {
    for (const username of [UNKNOWN, WITH_PHONE, UNKNOWN]) {
      const browser = await harness.visit()
      await endPause()
      const started = await start(browser, username, 'SMS')
      expect(lifetimeOf(started)).toBe(CHALLENGE_MS)
      const stateToken = handleOf(started)
      await endPause()
      const resent = await browser.post(hrefAt(started, '_links.resend'), { stateToken })
      expect(lifetimeOf(resent)).toBe(CHALLENGE_MS)
      nowMs += CHALLENGE_MS - 1
      expect((await browser.post('/api/v1/authn', { stateToken })).status).toBe(200)
    }
  })

  /** Every step of a challenge except with the right code. */
  async function wholeConversation(browser: Browser, started: PageAnswer): Promise<object[]> {
    const stateToken = handleOf(started)
    const verify = hrefAt(started, '_links.next')
    const resend = hrefAt(started, '_links.resend')
    const answers = [
      await browser.post('/api/v1/authn', { stateToken }),
      await browser.post('/api/v1/authn/introspect', { stateToken }),
      await browser.post(verify, { stateToken, passCode: '000000' }),
      await browser.post(resend, { stateToken }),
      await browser.post('/api/v1/authn/previous', { stateToken }),
      await browser.post('/api/v1/authn/skip', { stateToken }),
      await browser.post('/api/v1/authn', { stateToken, username: AMELIA, password: 'x' }),
    ]
    await endPause()
    answers.push(await browser.post(resend, { stateToken }))
    for (let attempt = 0; attempt < 5; attempt += 1) {
      answers.push(await browser.post(verify, { stateToken, passCode: `00000${attempt}` }))
    }
    answers.push(await browser.post(hrefAt(started, '_links.cancel'), { stateToken }))
    answers.push(await browser.post('/api/v1/authn', { stateToken }))
    expect(answers.map(({ status }) => status)).toEqual([
      200, 200, 403, 429, 403, 403, 403, 200, 403, 403, 403, 403, 403, 200, 401,
    ])
    return answers.map(anonymous)
  }

  // shows: F-1.24, F-3.2
  // sandbox shows: F-1.24
  test.each(['UNLOCK-known', 'UNLOCK-unknown'])('unlock gives the same response: %s', async (who) => {
    const browser = await harness.visit()
    const username = who === 'UNLOCK-known' ? 'luis.locked@example.test' : UNKNOWN
    const started = await start(browser, username, 'EMAIL', 'unlock')
    expect(started.json).toEqual({
      status: 'RECOVERY_CHALLENGE',
      factorResult: 'WAITING',
      factorType: 'EMAIL',
      recoveryType: 'UNLOCK',
    })
  })

  // shows: V2.3.2
  test('a second code within the pause is refused for known and unknown users, however the login is spelled', async () => {
    for (const [first, second] of [
      [WITH_PHONE, ` ${WITH_PHONE.toUpperCase()} `.trim()],
      [UNKNOWN, UNKNOWN],
    ] as const) {
      const [one, two] = [await harness.visit(), await harness.visit()]
      await start(one, first, 'SMS')
      harness.clearUpstreamCalls()
      const refused = await start(two, second, 'SMS')
      expect([refused.status, refused.json.errorCode]).toEqual([429, 'E0000109'])
      expect(refused.headers.get('retry-after')).toBe('60')
      expect(harness.upstreamCalls()).toEqual([])
      expect((await start(two, second, 'CALL')).status).toBe(200)
      expect((await start(two, second, 'CALL')).json.errorCode).toBe('E0000133')
    }
  })

  test.each(['cut', 'html'] as const)(
    'the pause remains when the response was lost (%s), because the message may have been sent',
    async (kind) => {
      harness.sandbox.faults.authn.set({ kind, path: '/api/v1/authn/recovery/password' })
      harness.clearUpstreamCalls()
      const browser = await harness.visit()
      expect((await start(browser, WITH_PHONE, 'SMS')).status).toBe(502)
      expect((await start(browser, WITH_PHONE, 'SMS')).json.errorCode).toBe('E0000109')
      expect(harness.upstreamCalls()).toHaveLength(1)
    },
  )

  const errorOfTheOrg = (errorCode: string) => {
    return { errorCode, errorSummary: 'x', errorLink: errorCode, errorId: 'oaeOfTheOrg', errorCauses: [] }
  }

  test('a decoy’s step costs the org one call, like a real one’s, and fails like it; no response counts calls', async () => {
    const seen: object[] = []
    for (const username of [WITH_PHONE, UNKNOWN, FEDERATED]) {
      const browser = await harness.visit()
      const started = await start(browser, username, 'SMS')
      const stateToken = handleOf(started)
      await endPause()
      const fresh = await harness.replica() // no call has proved the API token there
      const answers: PageAnswer[] = []
      for (const isFailing of [true, false]) {
        const body = errorOfTheOrg('E0000009')
        if (isFailing) harness.sandbox.faults.authn.set({ kind: 'status', status: 503, body })
        for (const [link, code] of [['next', { passCode: '000000' }], ['resend'], ['cancel']] as const) {
          harness.clearUpstreamCalls()
          const { pathname } = new URL(hrefAt(started, `_links.${link}`))
          answers.push(await browser.post(fresh.url + pathname, { stateToken, ...code }))
          expect([link, harness.upstreamCalls().length]).toEqual([link, 1])
        }
        harness.sandbox.faults.authn.clear()
        await endPause()
      }
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 403, 200, 200])
      for (const { headers } of [started, ...answers])
        expect([...headers.keys()].filter((name) => name.startsWith('x-rate-limit'))).toEqual([])
      seen.push(answers.map(anonymous))
    }
    expect(seen).toEqual([seen[0], seen[0], seen[0]])
  })

  async function replicaThatAnswersAfter(ms: number) {
    answerMs = ms
    const { url } = await harness.replica()
    return (browser: Browser, href: string, body: object) =>
      browser.post(url + new URL(href, url).pathname, body)
  }

  // shows: V6.3.8
  test('no response is sent before recoveryAnswerMs', async () => {
    const post = await replicaThatAnswersAfter(400)
    for (const username of [WITH_PHONE, UNKNOWN, FEDERATED]) {
      const browser = await harness.visit()
      const before = performance.now()
      const started = await post(browser, START, { username, factorType: 'SMS' })
      const between = performance.now()
      const code = { stateToken: handleOf(started), passCode: '000000' }
      await post(browser, hrefAt(started, '_links.next'), code)
      expect(between - before).toBeGreaterThanOrEqual(399)
      expect(performance.now() - between).toBeGreaterThanOrEqual(399)
    }
  })

  /** Delayed steps must not use up the capacity for sign-ins. */
  // shows: F-1.22
  test('a refusal by the broker’s own record is not delayed, and is equal for known and unknown users', async () => {
    const post = await replicaThatAnswersAfter(3_600_000)
    const refusals: object[][] = []
    for (const username of [WITH_PHONE, UNKNOWN, FEDERATED]) {
      const browser = await harness.visit()
      const started = await start(browser, username, 'SMS')
      const stateToken = handleOf(started)
      const code = { stateToken, passCode: '000000' }
      const verify = hrefAt(started, '_links.next')
      for (let n = 0; n < 5; n++) await browser.post(verify, code)
      harness.clearUpstreamCalls()
      const answers = [
        await post(browser, '/api/v1/authn/previous', { stateToken }),
        await post(browser, '/api/v1/authn/skip', { stateToken }),
        await post(browser, '/api/v1/authn', { stateToken, username: AMELIA, password: 'x' }),
        await post(browser, verify, code),
        await post(browser, hrefAt(started, '_links.resend'), { stateToken }),
        await post(browser, START, { username, factorType: 'SMS' }),
      ]
      expect(answers.map(({ status, json }) => [status, json.errorCode])).toEqual([
        ...Array(3).fill([403, 'E0000079']),
        [403, 'E0000069'],
        ...Array(2).fill([429, 'E0000109']),
      ])
      expect(harness.upstreamCalls()).toEqual([])
      refusals.push(answers.map(anonymous))
    }
    expect(refusals).toEqual([refusals[0], refusals[0], refusals[0]])
  })
})

describe('recovery by a trusted application', () => {
  // shows: F-1.17, F-3.1, V6.4.3
  // sandbox shows: F-1.17
  test('an unexpected recovery token is dropped, raises an alarm, and is answered as for an unknown user', async () => {
    harness.sandbox.faults.authn.set({
      kind: 'status',
      status: 200,
      path: '/api/v1/authn/recovery/password',
      times: 1,
      body: {
        status: 'RECOVERY',
        recoveryToken: 'planted-recovery-token-123456',
        _embedded: { user: { id: 'x' } },
      },
    })
    const [browser, other] = [await harness.visit(), await harness.visit()]
    const dropped = await start(browser, WITH_PHONE, 'SMS')
    const unknown = await start(other, UNKNOWN, 'SMS')
    expect(anonymous(dropped)).toEqual(anonymous(unknown))
    expect(harness.gatehouse.logText()).toContain('"event":"recovery_token_dropped"')
    expect(harness.gatehouse.logText()).not.toContain('planted-recovery-token')
    expect(await harness.gatehouse.metrics()).toContain(
      'gatehouse_token_leaks_blocked_total{found_in="recovery"} 1',
    )
  })
})

describe('the account owner', () => {
  // shows, F-1.4, F-1.24, F-2.16, F-2.17, F-2.19, V6.2.2
  // sandbox shows, F-1.24, F-2.17, F-2.19
  test('recovers by text message: code, question, new password, session', async () => {
    const browser = await harness.visit()
    const started = await start(browser, WITH_PHONE, 'SMS')
    const stateToken = handleOf(started)
    const code = harness.sandbox.outbox.latest(WITH_PHONE, 'recovery')?.code
    const verify = hrefAt(started, '_links.next')
    expect((await browser.post(verify, { stateToken, passCode: '000000' })).json.errorCode).toBe('E0000068')

    const asked = await browser.post(verify, { stateToken, passCode: code })
    expect(asked.json).toMatchObject({ status: 'RECOVERY', stateToken })
    const next = hrefAt(asked, '_links.next')
    expect((await browser.post(next, { stateToken, answer: 'wrong' })).json.errorCode).toBe('E0000087')
    const now = await browser.post(next, { stateToken, answer: ANSWER })
    expect(now.json.status).toBe('PASSWORD_RESET')
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
    const done = await browser.post(hrefAt(now, '_links.next'), { stateToken, newPassword: NEW_PASSWORD })
    expect(done.json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(WITH_PHONE)
    nowMs += 1 // a sign-in that began before the other sessions ended would end too
    const again = await harness.visit()
    const signedIn = await again.post('/api/v1/authn', { username: WITH_PHONE, password: NEW_PASSWORD })
    expect(signedIn.json.status).toBe('SUCCESS')
  })

  // shows: F-1.15, F-2.18
  // sandbox shows: F-2.18
  test('recovers by email: the token of the link works until the password is set (R6), and is never stored', async () => {
    const browser = await harness.visit()
    await start(browser, WITH_PHONE, 'EMAIL')
    const recoveryToken = harness.sandbox.outbox.latest(WITH_PHONE, 'recovery')?.token
    expect(recoveryToken).toEqual(expect.any(String))

    const redeemed = await browser.post('/api/v1/authn/recovery/token', { recoveryToken })
    expect(redeemed.json.status).toBe('RECOVERY')
    const client = harness.redis.client()
    for (const key of await client.keys('*')) {
      expect(await client.get(key).catch(() => '')).not.toContain(recoveryToken)
    }
    expect(redeemed.text).not.toContain(recoveryToken)
    // a page that was reloaded, or another browser, redeems it again
    const again = await (await harness.visit()).post('/api/v1/authn/recovery/token', { recoveryToken })
    expect(again.json.status).toBe('RECOVERY')
    const asked = await browser.post('/api/v1/authn/recovery/token', { recoveryToken })
    const answered = await browser.post(hrefAt(asked, '_links.next'), {
      stateToken: handleOf(asked),
      answer: ANSWER,
    })
    await browser.post(hrefAt(answered, '_links.next'), {
      stateToken: handleOf(asked),
      newPassword: NEW_PASSWORD,
    })
    const used = await browser.post('/api/v1/authn/recovery/token', { recoveryToken })
    expect([used.status, used.json.errorCode]).toEqual([403, 'E0000105'])
  })

  // shows, F-2.16, F-2.19
  // sandbox shows, F-2.19
  test('unlocks a locked account, which opens no session', async () => {
    const luis = 'luis.locked@example.test'
    const browser = await harness.visit()
    const locked = await browser.post('/api/v1/authn', { username: luis, password: 'Demo-Password-1' })
    expect(locked.json.status).toBe('LOCKED_OUT')
    expect(locked.json.stateToken).toBeUndefined()
    expect(hrefAt(locked, '_links.next')).toBe(`${harness.gatehouse.url}/api/v1/authn/recovery/unlock`)

    await start(browser, luis, 'EMAIL', 'unlock')
    const recoveryToken = harness.sandbox.outbox.latest(luis, 'recovery')?.token
    const asked = await browser.post('/api/v1/authn/recovery/token', { recoveryToken })
    expect(asked.json.status).toBe('RECOVERY')
    const now = await browser.post(hrefAt(asked, '_links.next'), {
      stateToken: handleOf(asked),
      answer: ANSWER,
    })
    expect(now.json).toMatchObject({ status: 'SUCCESS', recoveryType: 'UNLOCK' })
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
    const signedIn = await browser.post('/api/v1/authn', { username: luis, password: 'Demo-Password-1' })
    expect(signedIn.json.status).toBe('SUCCESS')
  })
})
