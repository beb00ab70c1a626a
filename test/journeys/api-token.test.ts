import { describe, expect, test } from '@jest/globals'
import { ENTRY_OPERATIONS, OFFERED_OPERATIONS, OPERATIONS } from '../../src/authn/operations.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { useStubHarness } from '../support/harness.ts'
import { pathOf } from '../support/permissive-upstream.ts'
import { STEP_FIELDS } from '../support/step-body.ts'
import { StubError } from '../support/stub-upstream.ts'
import { errorOf, handleOf, valueAt } from '../support/transaction-view.ts'

/**
 * Which calls to Okta carry the API token. With it, Okta takes the start of a recovery for an
 * administrator's reset, and any visitor could lock any user out (R1); and it needs rights to read
 * questions and to send activation links, which public clients do not need (S17).
 */
const API_TOKEN = 'plainly-fake-ssws-token'
const harness = useStubHarness({
  env: { AUTHN_API_TOKEN: API_TOKEN },
  tunables: (tunables) => {
    const recovery = { ...tunables.recovery, recoveryAnswerMs: 1, resendAfterMs: 1 }
    return { ...generousLimits(tunables), recovery }
  },
})

const AUTHN = '/api/v1/authn'
const FACTOR = `${AUTHN}/factors/:id`
const USER = '/api/v1/users/:uid/factors'
const WITH = `SSWS ${API_TOKEN}`
const WITHOUT = undefined

/**
 * For each operation: what Okta receives in a sign-in, and in a transaction that a recovery began.
 */
const TABLE: Readonly<Record<string, readonly [signIn: string | undefined, recovery?: string | undefined]>> =
  {
    [`POST ${AUTHN}`]: [WITH],
    [`POST ${AUTHN}/introspect`]: [WITH, WITH],
    [`POST ${AUTHN}/recovery/password`]: [WITHOUT],
    [`POST ${AUTHN}/recovery/unlock`]: [WITHOUT],
    [`POST ${AUTHN}/recovery/token`]: [WITHOUT],
    [`GET ${USER}/questions`]: [WITHOUT, WITHOUT],
    [`GET ${USER}/:id/qr/:token`]: [WITHOUT, WITHOUT],
    [`POST ${AUTHN}/cancel`]: [WITH, WITH],
    [`POST ${AUTHN}/previous`]: [WITH, WITH],
    [`POST ${AUTHN}/skip`]: [WITH, WITH],
    [`POST ${AUTHN}/credentials/change_password`]: [WITH, WITH],
    [`POST ${AUTHN}/credentials/reset_password`]: [WITH, WITHOUT],
    [`POST ${AUTHN}/recovery/answer`]: [WITHOUT, WITHOUT],
    [`POST ${AUTHN}/recovery/factors/:type/verify`]: [WITHOUT, WITHOUT],
    [`POST ${AUTHN}/recovery/factors/:type/resend`]: [WITHOUT, WITHOUT],
    [`POST ${AUTHN}/factors`]: [WITH, WITH],
    [`POST ${FACTOR}/verify`]: [WITH, WITH],
    [`POST ${FACTOR}/verify/resend`]: [WITH, WITH],
    [`POST ${FACTOR}/lifecycle/activate`]: [WITH, WITH],
    [`POST ${FACTOR}/lifecycle/activate/poll`]: [WITH, WITH],
    [`POST ${FACTOR}/lifecycle/duoCallback`]: [WITH, WITH],
    [`POST ${FACTOR}/lifecycle/resend`]: [WITH, WITH],
    [`POST ${FACTOR}/lifecycle/activate/email`]: [WITHOUT, WITHOUT],
    [`POST ${FACTOR}/lifecycle/activate/sms`]: [WITHOUT, WITHOUT],
    [`POST ${USER}/:id/lifecycle/activate`]: [WITHOUT, WITHOUT],
    [`POST ${USER}/:id/lifecycle/activate/email`]: [WITHOUT, WITHOUT],
    [`POST ${USER}/:id/lifecycle/activate/sms`]: [WITHOUT, WITHOUT],
  }

const USER_ID = '00uplainlyfake000001'
const pathIn = (operation: string) => pathOf(operation.replace(/^\w+ /, ''), USER_ID)
const methodOf = (operation: string) => operation.replace(/ .*/, '')

/** A transaction in which Okta offers every step. */
function offeringAll() {
  const links = Object.keys(TABLE).map((operation) => ({
    href: harness.stub.origin + pathIn(operation),
    hints: { allow: [methodOf(operation)] },
  }))
  return {
    status: 'MFA_ENROLL',
    stateToken: '00plainly-fake-state-token-0001',
    _embedded: { user: { id: USER_ID, profile: { login: 'ada@example.test' } } },
    _links: { resend: links },
  }
}

/** How each transaction begins. */
const BEGINS = {
  'a sign-in': ['', { username: 'ada', password: 'plainly-fake-password' }],
  'a recovery token': ['/recovery/token', { recoveryToken: 'plainly-fake-recovery-token' }],
  'a recovery by code': ['/recovery/password', { username: 'ada', factorType: 'SMS' }],
} as const
type Begin = keyof typeof BEGINS

function begin(by: Begin, browser: Browser): Promise<PageAnswer> {
  const [path, body] = BEGINS[by]
  harness.stub.answers(offeringAll())
  return browser.post(AUTHN + path, body)
}

/** The operations that begin a transaction themselves. */
const STARTS: Readonly<Record<string, object>> = {
  [`POST ${AUTHN}`]: BEGINS['a sign-in'][1],
  [`POST ${AUTHN}/recovery/password`]: { username: 'bob', factorType: 'CALL' },
  [`POST ${AUTHN}/recovery/unlock`]: { username: 'bob', factorType: 'EMAIL' },
  [`POST ${AUTHN}/recovery/token`]: BEGINS['a recovery token'][1],
}

/**
 * Takes one step, and returns the `Authorization` and `X-Forwarded-For` of each call that Okta
 * received for it.
 */
async function receivedFor(operation: string, browser: Browser, begun?: PageAnswer) {
  const path = pathIn(operation)
  const body = begun === undefined ? STARTS[operation] : { stateToken: handleOf(begun) }
  harness.stub.reset()
  harness.stub.answers(offeringAll())
  if (methodOf(operation) === 'GET') await browser.get(offeredHref(path, begun))
  else if (path.endsWith('/duoCallback'))
    await browser.post(path, undefined, { form: { id: 'fac123', sig_response: 'plainly-fake', ...body } })
  else await browser.post(path, { ...(begun && STEP_FIELDS), ...body })
  return harness.stub.requests.map(({ headers }) => [headers.authorization, headers['x-forwarded-for']])
}

/** The link in the answer: that to a picture has a handle instead of Okta's token. */
function offeredHref(path: string, begun: PageAnswer | undefined): string {
  const links = valueAt(begun?.json, '_links.resend') as readonly { href: string }[]
  const folder = path.replace(/token$/, '')
  return links.find(({ href }) => new URL(href).pathname.startsWith(folder))?.href ?? path
}

test('each operation has a row: whether its call carries the API token', () => {
  const operations = [
    ...Object.values(ENTRY_OPERATIONS),
    ...Object.values(OFFERED_OPERATIONS),
    ...OPERATIONS,
  ].map(({ method, path }) => `${method} ${path}`)
  expect(Object.keys(TABLE).sort()).toEqual(operations.sort())
})

describe('with each call, Okta receives the client’s address, and the API token or not', () => {
  const ADDRESS = '127.0.0.1'
  const inTransactions = Object.entries(TABLE).filter(([operation]) => !(operation in STARTS))

  test.each(Object.keys(STARTS))('%s', async (operation) => {
    const received = await receivedFor(operation, await harness.visit())
    expect(received).toEqual([[TABLE[operation]?.[0], ADDRESS]])
  })

  test.each(inTransactions)(
    '%s: after a sign-in %s, after a recovery token %s',
    async (operation, expected) => {
      for (const [n, by] of (['a sign-in', 'a recovery token'] as const).entries()) {
        const browser = await harness.visit()
        const received = await receivedFor(operation, browser, await begin(by, browser))
        expect([by, received]).toEqual([by, [[expected[n], ADDRESS]]])
      }
    },
  )

  test('the state of a transaction', async () => {
    for (const by of ['a sign-in', 'a recovery token'] as const) {
      const browser = await harness.visit()
      const stateToken = handleOf(await begin(by, browser))
      harness.stub.reset()
      harness.stub.answers(offeringAll())
      await browser.post(AUTHN, { stateToken })
      expect(harness.stub.requests.map(({ headers }) => headers.authorization)).toEqual([WITH])
    }
  })

  test.each([
    [`POST ${AUTHN}/recovery/factors/:type/verify`, WITHOUT],
    [`POST ${AUTHN}/recovery/factors/:type/resend`, WITHOUT],
    [`POST ${AUTHN}/cancel`, WITH],
  ])('%s, while a recovery code is awaited, for a user and for a decoy', async (operation, authorization) => {
    for (const answer of [offeringChallenge(), new StubError(403, 'E0000095')]) {
      const browser = await harness.visit()
      harness.stub.answers(answer)
      const begun = await browser.post(`${AUTHN}/recovery/password`, BEGINS['a recovery by code'][1])
      expect(await receivedFor(operation, browser, begun)).toEqual([[authorization, ADDRESS]])
    }
  })

  test('a new password after a recovery by code', async () => {
    const browser = await harness.visit()
    harness.stub.answers(offeringChallenge())
    const stateToken = handleOf(
      await browser.post(`${AUTHN}/recovery/password`, BEGINS['a recovery by code'][1]),
    )
    harness.stub.answers(offeringAll())
    await browser.post(`${AUTHN}/recovery/factors/SMS/verify`, { stateToken, passCode: '123456' })
    harness.stub.reset()
    harness.stub.answers(offeringAll())
    await browser.post(`${AUTHN}/credentials/reset_password`, { stateToken, newPassword: 'plainly-fake' })
    expect(harness.stub.requests.map(({ headers }) => headers.authorization)).toEqual([WITHOUT])
  })

  function offeringChallenge() {
    return { ...offeringAll(), status: 'RECOVERY_CHALLENGE' }
  }
})

describe('only an answer to a call that carried the API token proves or refuses it', () => {
  const INVALID = () => new StubError(401, 'E0000011')
  const alarms = () =>
    harness.gatehouse.logLines().filter(({ event }) => event === 'upstream_token_refused').length
  const redeem = (browser: Browser) =>
    browser.post(`${AUTHN}/recovery/token`, { recoveryToken: 'plainly-fake-recovery-token' })
  const tokenState = async () => {
    const answer = await (await fetch(`${harness.gatehouse.opsUrl}/readyz`)).json()
    return valueAt(answer, 'checks.authn_token')
  }

  test('while Okta refuses it, calls without it go on, and their E0000011 passes', async () => {
    const browser = await harness.visit()
    harness.stub.answers(INVALID())
    expect(errorOf(await browser.post(AUTHN, BEGINS['a sign-in'][1]))).toEqual([503, 'E0000009'])
    expect(await tokenState()).toBe('failing')

    harness.stub.answers(INVALID(), offeringAll())
    expect(errorOf(await redeem(browser))).toEqual([401, 'E0000011'])
    const redeemed = await redeem(browser)
    expect(redeemed.json.status).toBe('MFA_ENROLL')
    expect(await tokenState()).toBe('failing')

    // with the token: not about the handle
    harness.stub.answers(INVALID())
    expect(errorOf(await browser.post(AUTHN, { stateToken: handleOf(redeemed) }))).toEqual([503, 'E0000009'])
    harness.stub.answers(offeringAll())
    expect((await browser.post(AUTHN, { stateToken: handleOf(redeemed) })).status).toBe(200)
    expect(await tokenState()).toBe('ok')
  })

  test('the start of a recovery that Okta refuses with E0000011 is answered as for an unknown user, without an alarm', async () => {
    const browser = await harness.visit()
    const alarmsBefore = alarms()
    harness.stub.answers(INVALID())
    const body = { username: 'carl', factorType: 'EMAIL' }
    expect((await browser.post(`${AUTHN}/recovery/password`, body)).json.status).toBe('RECOVERY_CHALLENGE')
    expect(alarms()).toBe(alarmsBefore)
    expect(await tokenState()).not.toBe('failing')
  })

  test.each(['questions', 'qr'])(
    'a 401 to the call for %s is 502: the client keeps its transaction, and no alarm is raised',
    async (what) => {
      const browser = await harness.visit()
      const begun = await begin('a sign-in', browser)
      const operation = Object.keys(TABLE).find((one) => one.includes(`/${what}`)) ?? ''
      harness.stub.answers(INVALID())
      const refused = await browser.get(offeredHref(pathIn(operation), begun))
      expect(errorOf(refused)).toEqual([502, 'E0000009'])
      harness.stub.answers(offeringAll())
      expect((await browser.post(AUTHN, { stateToken: handleOf(begun) })).status).toBe(200)
    },
  )
})
