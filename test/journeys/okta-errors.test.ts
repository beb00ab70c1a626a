import { beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, OLGA, PASSWORD, useHarness, WALTER } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { openPage } from '../support/portal-page.ts'
import { causesOf, errorOf } from '../support/transaction-view.ts'

/**
 * What an answer of Okta means for the limits, the audit log, the API token and the page. The
 * sandbox answers as S1 to S16 of docs/unproven.md say; sandbox/test/authn/refusals.test.ts shows
 * it.
 */
const PER_USER = 3
const PER_ADDRESS = 5

const harness = useHarness({
  env: { TRUST_PROXY: '127.0.0.1' },
  tunables: onlyLimits({
    password: { perUser: atMost(PER_USER), perKnownDevice: atMost(PER_USER) },
    call: { perAddress: atMost(PER_ADDRESS), perKnownDevice: atMost(PER_ADDRESS) },
  }),
})

beforeEach(() => harness.redis.client().flushall())

const ADAM = 'adam.directory@example.test'
const LIMITED = [429, 'E0000047']

let sequence = 0
const newAddress = () => `198.18.7.${++sequence}`
const from = (address: string): Browser => openBrowser(harness.gatehouse.url, { 'x-forwarded-for': address })
const signIn = (browser: Browser, login: string, password = PASSWORD): Promise<PageAnswer> =>
  browser.post('/api/v1/authn', { username: login, password })
const set = (settings: Partial<typeof harness.sandbox.settings>) =>
  Object.assign(harness.sandbox.settings, settings)

/** The codes of sign-ins, each from another browser. */
async function codesOf(times: number, login: string, addressOf: () => string, password?: string) {
  const codes: unknown[] = []
  for (let n = 0; n < times; n++)
    codes.push((await signIn(from(addressOf()), login, password)).json.errorCode)
  return codes
}

/** The audit lines that `act` causes, without the fields of every line. */
async function audited(act: () => Promise<unknown>) {
  const before = harness.gatehouse.logLines().length
  await act()
  return harness.gatehouse
    .logLines()
    .slice(before)
    .filter(({ audit }) => audit === true)
    .map(({ event, operation, upstreamErrorCode, reason }) => ({
      event,
      operation,
      upstreamErrorCode,
      reason,
    }))
}

const metric = async (line: RegExp) => line.exec(await harness.gatehouse.metrics())?.[1]

describe('a lockout that Okta shows (S1)', () => {
  test('offers the unlock, and neither a handle nor a link that needs one', async () => {
    const { json } = await signIn(await harness.visit(), 'luis.locked@example.test')
    expect(json).toMatchObject({ status: 'LOCKED_OUT', _links: { next: { name: 'unlock' } } })
    expect(Object.keys(json)).not.toContain('stateToken')
    expect(Object.keys(json._links as object)).toEqual(['next'])
  })
})

describe('a wrong password that Okta calls E0000207 (S2)', () => {
  test('is limited per user and audited exactly as E0000004', async () => {
    for (const wrongPassword of ['E0000004', 'E0000207'] as const) {
      await harness.redis.client().flushall()
      set({ wrongPassword })
      const codes = await codesOf(PER_USER + 1, AMELIA, newAddress, 'wrong')
      expect(codes).toEqual([...Array(PER_USER).fill(wrongPassword), 'E0000047'])
      const lines = await audited(() => signIn(from(newAddress()), WALTER, 'wrong'))
      expect(lines).toContainEqual({
        event: 'sign_in_failed',
        operation: 'primary',
        upstreamErrorCode: wrongPassword,
        reason: undefined,
      })
    }
  })
})

test('an expired temporary password and a breached one reach the page, and are no guesses (S3)', async () => {
  const tim = 'tim.temporary@example.test'
  expect(await codesOf(PER_USER + 1, tim, newAddress)).toEqual(Array(PER_USER + 1).fill('E0000064'))
  set({ breachedSignIn: 'refused' })
  harness.sandbox.user(AMELIA).passwordBreached = true
  expect(await codesOf(PER_USER + 1, AMELIA, newAddress)).toEqual(Array(PER_USER + 1).fill('E0000259'))
})

describe('a user of Active Directory (S4)', () => {
  test.each([
    ['timed-out', 502, 'E0000240'],
    ['disconnected', 504, 'E0000241'],
  ] as const)(
    'whose agent is %s: %d %s, counted against the address and not against the user',
    async (directoryAgent, ...error) => {
      set({ directoryAgent })
      const address = newAddress()
      const codes = await codesOf(PER_ADDRESS + 1, ADAM, () => address)
      expect(codes).toEqual([...Array(PER_ADDRESS).fill(error[1]), 'E0000047'])
      expect(errorOf(await signIn(from(newAddress()), ADAM))).toEqual(error)
      set({ directoryAgent: 'connected' })
      expect((await signIn(from(newAddress()), ADAM)).json.status).toBe('PASSWORD_EXPIRED')
    },
  )

  test('whose agent is slow gets the answer of a wrong password: nothing tells them apart', async () => {
    set({ directoryAgent: 'slow' })
    expect(errorOf(await signIn(from(newAddress()), ADAM))).toEqual([401, 'E0000004'])
  })
})

describe('a new password', () => {
  async function change(fields: object, login = OLGA) {
    await harness.redis.client().flushall()
    const page = await openPage(harness)
    await page.signIn(login)
    return {
      page,
      refused: await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: '!', ...fields }),
    }
  }

  test.each([
    ['in words', 'recorded', 'en', 400],
    ['in German', 'recorded', 'de', 400],
    ['with the field', 'documented', 'en', 403],
    ['with the field, in German', 'documented', 'de', 403],
  ] as const)(
    'with a wrong old password, said %s, is audited and limited like a wrong password (S5, S6)',
    async (_how, wrongOldPassword, language, status) => {
      set({ wrongOldPassword, language })
      const wrong = { oldPassword: 'Wrong-Password-9', newPassword: 'Another-Password-2' }
      const lines = await audited(() => change(wrong))
      expect(lines).toContainEqual(expect.objectContaining({ event: 'old_password_refused' }))

      const { page, refused } = await change(wrong)
      expect(errorOf(refused)).toEqual([status, 'E0000014'])
      for (let n = 1; n < PER_USER; n++) await page.follow('_links.next', wrong)
      expect(errorOf(await page.follow('_links.next', wrong))).toEqual(LIMITED)
    },
  )

  test.each(['en', 'de'] as const)(
    'that the policy refuses is never a guess, also in %s (S6, S7)',
    async (language) => {
      for (const passwordRules of ['all-rules', 'broken-rules', 'no-causes'] as const) {
        set({ passwordRules, language })
        const lines = await audited(async () => {
          const { page } = await change({})
          for (let n = 0; n < PER_USER; n++)
            await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: '!' })
          await page.follow('_links.next', { oldPassword: PASSWORD, newPassword: 'Another-Password-2' })
          expect(page.held.json.status).toBe('SUCCESS')
          harness.sandbox.reset()
          set({ passwordRules, language })
        })
        expect(lines.map(({ event }) => event)).not.toContain('old_password_refused')
      }
    },
  )

  test('that is refused without errorCauses reaches the page with an empty list (S7)', async () => {
    set({ passwordRules: 'no-causes' })
    const { refused } = await change({})
    expect([...errorOf(refused), causesOf(refused)]).toEqual([403, 'E0000014', []])
  })

  test('of Active Directory is refused in one vague sentence, which the page gets (S4)', async () => {
    const { refused } = await change({}, ADAM)
    expect(causesOf(refused)).toEqual(['Password requirements were not met.'])
  })
})

test('options as strings, as scripts send them, reach Okta as booleans (S16)', async () => {
  const page = await openPage(harness)
  await page.signIn(WALTER, {
    options: { warnBeforePasswordExpired: 'true', multiOptionalFactorEnroll: 'false' },
  })
  expect(page.held.json.status).toBe('PASSWORD_WARN')
  expect(harness.upstreamCalls().at(-1)?.body).toMatchObject({
    options: { warnBeforePasswordExpired: true, multiOptionalFactorEnroll: false },
  })
  const refused = await page.signIn(WALTER, { options: { warnBeforePasswordExpired: 'yes' } })
  expect([...errorOf(refused), causesOf(refused)]).toEqual([
    400,
    'E0000001',
    ['options.warnBeforePasswordExpired: must be true or false'],
  ])
})

describe('an address that the org blocks (S14)', () => {
  const BLOCKED = '203.0.113.7'
  const ADDRESS_CAUSE = 'address: the org refuses requests from this address'
  /** Each zone is evaluated alone, so the broker is a proxy of the blocking zone too (O1). */
  const blockedZones = [{ name: 'Blocked', gateways: [BLOCKED], proxies: ['127.0.0.1', '::1'] }]
  const KINDS = [
    ['in a blocked zone', () => set({ blockedZones })],
    [
      'of the broker itself',
      () => set({ blockedZones: [{ name: 'Blocked', gateways: ['127.0.0.1', '::1'], proxies: [] }] }),
    ],
    [
      'in a blocked zone, with an empty body',
      () => harness.sandbox.faults.authn.set({ kind: 'status', status: 403 }),
    ],
    ['by ThreatInsight', () => set({ suspectedAddresses: [BLOCKED] })],
  ] as const

  test.each(KINDS)('%s: 403 E0000006 with a cause of its own, audited and counted', async (_how, block) => {
    block()
    const steps = /^gatehouse_sign_in_steps_total\{operation="primary",status="address_blocked"\} (\d+)$/m
    const before = Number((await metric(steps)) ?? 0)
    let refused: PageAnswer | undefined
    const lines = await audited(async () => {
      refused = await signIn(from(BLOCKED), AMELIA)
    })
    expect(refused && [...errorOf(refused), causesOf(refused)]).toEqual([403, 'E0000006', [ADDRESS_CAUSE]])
    expect(lines).toContainEqual(
      expect.objectContaining({ event: 'sign_in_failed', operation: 'primary', reason: 'address_blocked' }),
    )
    expect(Number(await metric(steps))).toBe(before + 1)
  })

  test.each(KINDS)('%s: counts against the address, and against no user', async (_how, block) => {
    block()
    const codes = await codesOf(PER_ADDRESS + 1, AMELIA, () => BLOCKED)
    expect(codes).toEqual([...Array(PER_ADDRESS).fill('E0000006'), 'E0000047'])
    harness.sandbox.reset()
    expect((await signIn(from(newAddress()), AMELIA)).json.status).toBe('SUCCESS')
  })

  test.each(KINDS)('%s: shows nothing of the API token, while it is refused too', async (_how, block) => {
    const broker = await harness.replica()
    const tokenState = async () =>
      ((await (await fetch(`${broker.opsUrl}/readyz`)).json()) as { checks: object }).checks
    const signInThere = (address: string) =>
      signIn(openBrowser(broker.url, { 'x-forwarded-for': address }), AMELIA)
    block()
    await signInThere(BLOCKED)
    expect(await tokenState()).toMatchObject({ authn_token: 'unknown' })
    harness.sandbox.reset()
    harness.sandbox.apiTokens.clear()
    expect((await signInThere(newAddress())).status).toBe(503)
    block()
    await signInThere(BLOCKED)
    expect(await tokenState()).toMatchObject({ authn_token: 'failing' })
  })

  test.each(KINDS.slice(0, 3))(
    '%s: refuses a recovery alike for known and unknown users',
    async (_how, block) => {
      block()
      for (const username of [AMELIA, 'nobody.at.all@example.test']) {
        const start = { username, factorType: 'SMS' }
        const refused = await from(BLOCKED).post('/api/v1/authn/recovery/password', start)
        expect([...errorOf(refused), causesOf(refused)]).toEqual([403, 'E0000006', [ADDRESS_CAUSE]])
      }
      harness.sandbox.reset()
      // nothing was sent, so there is no cooldown
      const start = { username: AMELIA, factorType: 'SMS' }
      const started = await from(newAddress()).post('/api/v1/authn/recovery/password', start)
      expect(started.json.status).toBe('RECOVERY_CHALLENGE')
    },
  )

  test('keeps the transaction of a sign-in that the org let begin', async () => {
    const page = await openPage(harness, from(BLOCKED))
    await page.signIn(WALTER, { options: { warnBeforePasswordExpired: true } })
    set({ blockedZones })
    expect(causesOf(await page.follow('_links.skip'))).toEqual([ADDRESS_CAUSE])
    set({ blockedZones: [] })
    await page.follow('_links.skip')
    expect(page.held.json.status).toBe('SUCCESS')
  })
})
