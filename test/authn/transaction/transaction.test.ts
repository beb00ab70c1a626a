import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Answer } from '../../../src/authn/transaction/answer.ts'
import {
  advance,
  afterRejectedStep,
  createTransaction,
  isDifferentUser,
  isOffered,
  isOngoing,
  lifetimeMs,
  opensSession,
  type Transaction,
  toRedirectOnly,
} from '../../../src/authn/transaction/transaction.ts'

const NOW = Date.parse('2026-11-05T06:00:00Z')
const USER = { id: '00u1', profile: { login: 'ada@example.com' } }
const ANSWER: Answer = {
  status: 'MFA_REQUIRED',
  factorResult: undefined,
  stateToken: '00state',
  sessionToken: undefined,
  type: undefined,
  user: USER,
  factorTypes: {},
  activeFactors: [],
  expiresAt: undefined,
}
const STEP = { offered: [], proof: undefined, expiresAtMs: NOW + 300_000 }
const fresh = (): Transaction => createTransaction('device', 'ada', NOW)
const answeredWith = (answer: Partial<Answer>, step: Partial<Parameters<typeof advance>[2]> = {}) =>
  advance(fresh(), { ...ANSWER, ...answer }, { ...STEP, ...step })

test('a new transaction holds nothing but its device, the login and its time', () => {
  expect(createTransaction('device', 'ada', NOW)).toEqual({
    version: 1,
    origin: 'begun',
    stateToken: '',
    retiredTokens: [],
    status: '',
    userId: undefined,
    login: 'ada',
    offered: [],
    factorTypes: {},
    enrolment: undefined,
    activeFactors: [],
    awaitedFactor: undefined,
    device: 'device',
    createdAtMs: NOW,
    expiresAtMs: NOW,
    credentialAccepted: false,
    userProved: false,
    amr: [],
    recovery: undefined,
  })
})

describe('what counts as an accepted credential', () => {
  const PASSWORD = { kind: 'password', provesUser: true, amr: 'pwd' } as const

  test('nothing that showed none', () => {
    for (const status of ['SUCCESS', 'MFA_REQUIRED', 'PASSWORD_EXPIRED', '']) {
      expect(answeredWith({ status })).toMatchObject({ credentialAccepted: false, amr: [] })
    }
  })

  const FACTOR = { kind: 'factor', provesUser: true, amr: 'otp' } as const

  /** Which status says that a password, or a factor, was taken. */
  test.each([
    ['SUCCESS', true, true],
    ['PASSWORD_EXPIRED', true, true],
    ['PASSWORD_WARN', true, true],
    ['PASSWORD_RESET', true, true],
    ['MFA_ENROLL', true, true],
    ['MFA_REQUIRED', true, false],
    ['MFA_CHALLENGE', true, false],
    ['MFA_ENROLL_ACTIVATE', true, false],
    ['CONSENT_REQUIRED', true, false],
    ['ADMIN_CONSENT_REQUIRED', true, false],
    ['FACTOR_REQUIRED', true, false],
    ['FACTOR_ENROLL', true, false],
    ['PROFILE_REQUIRED', true, false],
    ['UNAUTHENTICATED', false, false],
    ['LOCKED_OUT', false, false],
    ['RECOVERY', false, false],
    ['RECOVERY_CHALLENGE', false, false],
    ['POLL', false, false],
    ['FACTOR_CHALLENGE', false, false],
    ['BRAND_NEW', false, false],
    ['', false, false],
  ])('%s: a password %p, a factor %p', (status, password, factor) => {
    expect(answeredWith({ status }, { proof: PASSWORD }).credentialAccepted).toBe(password)
    expect(answeredWith({ status }, { proof: FACTOR }).credentialAccepted).toBe(factor)
  })

  test.each([
    'WAITING',
    'CHALLENGE',
    'REJECTED',
    'TIMEOUT',
    'TIME_WINDOW_EXCEEDED',
    'PASSCODE_REPLAYED',
    'CANCELLED',
    'ERROR',
    'BRAND_NEW',
  ])('no factor that was answered with the result %s, whatever the status', (factorResult) => {
    for (const status of ['SUCCESS', 'MFA_REQUIRED', 'BRAND_NEW']) {
      expect(answeredWith({ status, factorResult }, { proof: FACTOR }).credentialAccepted).toBe(false)
    }
    expect(answeredWith({ status: 'SUCCESS', factorResult: 'SUCCESS' }, { proof: FACTOR }).amr).toEqual([
      'otp',
    ])
  })

  test('a password is accepted whatever the factor result beside it', () => {
    for (const factorResult of ['WAITING', 'CHALLENGE', 'BRAND_NEW']) {
      expect(
        answeredWith({ status: 'MFA_CHALLENGE', factorResult }, { proof: PASSWORD }).credentialAccepted,
      ).toBe(true)
    }
  })

  test('only an accepted credential of the user proves the user, and it stays proved', () => {
    const CHOSEN_ANEW = { ...PASSWORD, provesUser: false }
    const accepted = answeredWith({ status: 'SUCCESS' }, { proof: CHOSEN_ANEW })
    expect(accepted).toMatchObject({ credentialAccepted: true, userProved: false })
    expect(answeredWith({ status: 'SUCCESS' }).userProved).toBe(false)
    expect(answeredWith({ status: 'LOCKED_OUT' }, { proof: PASSWORD }).userProved).toBe(false)

    const proved = answeredWith({ status: 'MFA_REQUIRED' }, { proof: PASSWORD })
    expect(proved.userProved).toBe(true)
    expect(advance(proved, ANSWER, STEP).userProved).toBe(true)
    expect(advance(proved, ANSWER, { ...STEP, proof: CHOSEN_ANEW }).userProved).toBe(true)
  })

  test('none that cannot be of the user whom the answer names', () => {
    const matchesUser = (user: Answer['user']) => user?.id === '00u1'
    const accepted = (user: typeof USER | undefined) =>
      answeredWith({ status: 'SUCCESS', user }, { proof: { ...PASSWORD, matchesUser } }).credentialAccepted
    expect([accepted(USER), accepted({ ...USER, id: '00u2' }), accepted(undefined)]).toEqual([
      true,
      false,
      false,
    ])
  })

  test('once accepted it stays so, and methods add up without repeats', () => {
    let transaction = answeredWith({}, { proof: PASSWORD })
    for (const [proof, status] of [
      [{ kind: 'factor', provesUser: true, amr: 'otp' } as const, 'MFA_CHALLENGE'],
      [{ kind: 'factor', provesUser: true, amr: 'otp' } as const, 'SUCCESS'],
      [PASSWORD, 'SUCCESS'],
      [undefined, 'LOCKED_OUT'],
    ] as const) {
      transaction = advance(transaction, { ...ANSWER, status }, { ...STEP, proof })
    }
    expect(transaction).toMatchObject({ credentialAccepted: true, amr: ['pwd', 'otp'] })
  })
})

describe('a session opens', () => {
  test('only when all of it is so: SUCCESS, a person, a session token or step-up, and an accepted credential', () => {
    for (const status of ['SUCCESS', 'MFA_REQUIRED', 'success', '']) {
      for (const user of [USER, undefined]) {
        for (const hasSessionToken of [true, false]) {
          for (const type of ['SESSION_STEP_UP', 'SESSION_OTHER', undefined]) {
            for (const credentialAccepted of [true, false]) {
              const sessionToken = hasSessionToken ? 'real-session-token' : undefined
              const answer = { ...ANSWER, status, user, sessionToken, type }
              const opens = opensSession({ ...fresh(), credentialAccepted }, answer)
              const expected =
                status === 'SUCCESS' &&
                user !== undefined &&
                (hasSessionToken || type === 'SESSION_STEP_UP') &&
                credentialAccepted
              expect({ answer, credentialAccepted, opens }).toEqual({
                answer,
                credentialAccepted,
                opens: expected,
              })
            }
          }
        }
      }
    }
  })

  test('an imported token that is already at SUCCESS opens none', () => {
    const imported = answeredWith({ status: 'SUCCESS', sessionToken: 'real-session-token' })
    expect(opensSession(imported, { ...ANSWER, status: 'SUCCESS', sessionToken: 'real-session-token' })).toBe(
      false,
    )
  })
})

describe('the person', () => {
  test('may be named late, but not become another one', () => {
    expect(isDifferentUser(fresh(), ANSWER)).toBe(false)
    expect(isDifferentUser({ ...fresh(), userId: '00u1' }, ANSWER)).toBe(false)
    expect(isDifferentUser({ ...fresh(), userId: '00u1' }, { ...ANSWER, user: undefined })).toBe(false)
    expect(isDifferentUser({ ...fresh(), userId: '00u2' }, ANSWER)).toBe(true)
    expect(isDifferentUser({ ...fresh(), userId: '00U1' }, ANSWER)).toBe(true)
  })

  test('stays known when an answer does not name anybody', () => {
    const named = answeredWith({})
    expect(advance(named, { ...ANSWER, user: undefined }, STEP).userId).toBe('00u1')
  })
})

describe('going on', () => {
  test.each(['SUCCESS', 'LOCKED_OUT', ''])('not after %j', (status) => {
    expect(isOngoing(answeredWith({ status }))).toBe(false)
  })

  test('not without a state token', () => {
    expect(isOngoing(answeredWith({ stateToken: undefined }))).toBe(false)
  })

  test.each([
    'MFA_REQUIRED',
    'PASSWORD_WARN',
    'UNAUTHENTICATED',
    'RECOVERY',
    'CONSENT_REQUIRED',
    'BRAND_NEW',
  ])('after %s, known or not', (status) => {
    expect(isOngoing(answeredWith({ status }))).toBe(true)
  })

  test('an answer without a state token keeps the one before; another one replaces it', () => {
    const first = answeredWith({})
    expect(advance(first, { ...ANSWER, stateToken: undefined }, STEP).stateToken).toBe('00state')
    expect(advance(first, { ...ANSWER, stateToken: '00next' }, STEP).stateToken).toBe('00next')
  })

  test('device, beginning and login stay what they were; the end moves', () => {
    const later = advance(answeredWith({}), ANSWER, { ...STEP, expiresAtMs: NOW + 900_000 })
    expect(later).toMatchObject({
      device: 'device',
      login: 'ada',
      createdAtMs: NOW,
      expiresAtMs: NOW + 900_000,
    })
  })

  test('factor types of all answers are remembered, the newest word counts', () => {
    const first = answeredWith({ factorTypes: { a: 'sms', b: 'push' } })
    const second = advance(first, { ...ANSWER, factorTypes: { b: 'call' } }, STEP)
    expect(second.factorTypes).toEqual({ a: 'sms', b: 'call' })
  })
})

test('a step may be taken only as it was offered, now or before in this transaction', () => {
  const path = '/api/v1/authn/factors/ost1/verify'
  const offered = [{ path, query: '', methods: ['POST'] }]
  const first = advance(fresh(), ANSWER, { ...STEP, offered })
  const later = advance(first, { ...ANSWER, status: 'MFA_CHALLENGE' }, STEP)
  expect([isOffered(first, 'POST', path), isOffered(later, 'POST', path)]).toEqual([true, true])
  expect(isOffered(fresh(), 'POST', path)).toBe(false)
  expect(isOffered(later, 'GET', path)).toBe(false)
  expect(isOffered(later, 'POST', '/api/v1/authn/skip')).toBe(false)
})

test('active factors are those of the last list that had any', () => {
  const first = answeredWith({ activeFactors: ['sms OKTA'] })
  const same = advance(first, { ...ANSWER, activeFactors: [] }, STEP)
  const next = advance(same, { ...ANSWER, activeFactors: ['push OKTA'] }, STEP)
  expect([first, same, next].map(({ activeFactors }) => activeFactors)).toEqual([
    ['sms OKTA'],
    ['sms OKTA'],
    ['push OKTA'],
  ])
})

describe('the time of the next poll', () => {
  const at = (path: string, notBeforeMs: number) => ({ ...STEP, nextPoll: { path, notBeforeMs } })
  const told = (factorResult: string | undefined) => ({ ...ANSWER, factorResult })

  test('is kept for each path, as long as Okta says to wait', () => {
    const first = advance(fresh(), told('WAITING'), at('/one', 1))
    const second = advance(first, told('WAITING'), at('/two', 2))
    expect(second.pollNotBeforeMs).toEqual({ '/one': 1, '/two': 2 })
    const again = advance(second, told('WAITING'), at('/one', 3))
    expect(again.pollNotBeforeMs).toEqual({ '/one': 3, '/two': 2 })
    expect(advance(again, told('WAITING'), STEP).pollNotBeforeMs).toEqual({ '/one': 3, '/two': 2 })
  })

  test('is not set by a poll that was not told to wait', () => {
    for (const factorResult of ['TIMEOUT', undefined])
      expect(advance(fresh(), told(factorResult), at('/one', 1)).pollNotBeforeMs).toBeUndefined()
  })
})

describe('the push factor whose answer is awaited', () => {
  const WAITING = { status: 'MFA_CHALLENGE', factorResult: 'WAITING' }
  const awaiting = () => answeredWith(WAITING, { factorId: 'push1' })

  test('is the factor of the step that was answered WAITING', () => {
    expect(awaiting().awaitedFactor).toBe('push1')
    const other = advance(awaiting(), { ...ANSWER, ...WAITING }, { ...STEP, factorId: 'push2' })
    expect(other.awaitedFactor).toBe('push2')
  })

  test('stays while the transaction state is read', () => {
    expect(advance(awaiting(), { ...ANSWER, ...WAITING }, STEP).awaitedFactor).toBe('push1')
    expect(answeredWith(WAITING).awaitedFactor).toBeUndefined()
  })

  test.each([
    ['REJECTED', undefined],
    ['TIMEOUT', undefined],
    [undefined, 'push1'],
  ])('after a look at the transaction state that shows the result %s: %s', (factorResult, awaited) => {
    const answer = { ...ANSWER, status: 'MFA_CHALLENGE', factorResult }
    expect(advance(awaiting(), answer, STEP).awaitedFactor).toBe(awaited)
  })

  test.each([
    ['verify', 'push1', 'push1'],
    ['state', undefined, 'push1'],
    ['verify', 'sms1', undefined],
    ['resend', 'sms1', undefined],
    ['previous', undefined, undefined],
  ])('after a refused %s of %s: %s', (operation, factorId, awaited) => {
    const before = awaiting()
    const after = afterRejectedStep(before, { operation, factorId })
    expect(after).toEqual({ ...before, awaitedFactor: awaited })
    expect(after === before).toBe(awaited !== undefined)
  })

  test('a refusal changes nothing where none is awaited', () => {
    const before = fresh()
    expect(afterRejectedStep(before, { operation: 'verify', factorId: 'sms1' })).toBe(before)
  })

  test.each(['REJECTED', 'TIMEOUT', 'CHALLENGE', undefined])(
    'is none after the result %s',
    (factorResult) => {
      const answer = { ...ANSWER, status: 'MFA_CHALLENGE', factorResult }
      expect(advance(awaiting(), answer, { ...STEP, factorId: 'push1' }).awaitedFactor).toBeUndefined()
    },
  )

  test.each(['MFA_REQUIRED', 'MFA_ENROLL_ACTIVATE', 'SUCCESS', ''])('is none under %j', (status) => {
    const answer = { ...ANSWER, status, factorResult: 'WAITING' }
    expect(advance(awaiting(), answer, { ...STEP, factorId: 'push1' }).awaitedFactor).toBeUndefined()
    expect(advance(awaiting(), answer, STEP).awaitedFactor).toBeUndefined()
  })
})

describe('state tokens that were replaced', () => {
  const retiredAfter = (...stateTokens: readonly (string | undefined)[]) =>
    stateTokens.reduce(
      (transaction, stateToken) => advance(transaction, { ...ANSWER, stateToken }, STEP),
      fresh(),
    ).retiredTokens

  test('none before the first, nor while it stays the same or is left out', () => {
    expect(retiredAfter('00one')).toEqual([])
    expect(retiredAfter('00one', '00one', undefined)).toEqual([])
  })

  test('are kept, newest first, five at most', () => {
    expect(retiredAfter('00one', '00two', undefined, '00three')).toEqual(['00two', '00one'])
    expect(retiredAfter('1', '2', '3', '4', '5', '6', '7')).toEqual(['6', '5', '4', '3', '2'])
  })
})

describe('what is kept after SUCCESS', () => {
  const REDIRECT = {
    path: '/login/step-up/redirect',
    query: '',
    methods: ['GET'],
    href: 'https://org.example.com/login/step-up/redirect?stateToken=00state',
  }
  const STEP_LINK = { path: '/api/v1/authn/cancel', query: '', methods: ['POST'] }
  const END = { expiresAtMs: NOW + 300_000, sessionId: 'session' }
  const finished = () =>
    answeredWith({ status: 'SUCCESS', factorTypes: { a: 'sms' } }, { offered: [STEP_LINK] })

  test('the redirects of the last answer alone, with the session that they were issued for', () => {
    expect(toRedirectOnly(finished(), [STEP_LINK, REDIRECT], END)).toEqual({
      ...finished(),
      origin: 'redirect-only',
      offered: [REDIRECT],
      factorTypes: {},
      ...END,
    })
  })

  test('nothing without a redirect, nor after another end', () => {
    expect(toRedirectOnly(finished(), [STEP_LINK], END)).toBeUndefined()
    expect(toRedirectOnly(finished(), [], END)).toBeUndefined()
    for (const status of ['LOCKED_OUT', '']) {
      expect(toRedirectOnly(answeredWith({ status }), [REDIRECT], END)).toBeUndefined()
    }
  })
})

describe('how long it lives', () => {
  const MINUTE = 60_000
  const BOUNDS = { minMs: MINUTE, maxMs: 60 * MINUTE, defaultMs: 5 * MINUTE }
  const at = (minutes: number) => new Date(NOW + minutes * MINUTE).toISOString()
  const http = (minutes: number) => new Date(NOW + minutes * MINUTE).toUTCString()

  test.each<[string, string | undefined, string | undefined, number]>([
    ['what the upstream says', at(10), http(0), 10],
    ['by the upstream’s own clock, far from ours', at(1000), http(990), 10],
    ['by its clock, though by ours it is long past', at(-100), http(-110), 10],
    ['at most an hour', at(600), http(0), 60],
    ['at least a minute', new Date(NOW + 1000).toISOString(), http(0), 1],
    ['past: the default', at(-1), http(0), 5],
    ['now: the default', at(0), http(0), 5],
    ['missing: the default', undefined, http(0), 5],
    ['empty: the default', '', http(0), 5],
    ['unreadable: the default', 'soon', http(0), 5],
    ['without the answer’s time: by our clock', at(10), undefined, 10],
    ['with an unreadable one: by our clock', at(10), 'yesterday', 10],
  ])('%s', (_name, expiresAt, date, minutes) => {
    expect(lifetimeMs(fresh(), { expiresAt, date }, BOUNDS, NOW)).toBe(minutes * MINUTE)
  })

  test('always within its bounds', () => {
    fc.assert(
      fc.property(
        fc.option(fc.string(), { nil: undefined }),
        fc.date(),
        fc.option(fc.date()),
        (text, end, sent) => {
          const written = Number.isNaN(end.getTime()) ? text : end.toISOString()
          const date = sent === null || Number.isNaN(sent.getTime()) ? text : sent.toUTCString()
          const ms = lifetimeMs(fresh(), { expiresAt: written, date }, BOUNDS, NOW)
          expect(ms).toBeGreaterThanOrEqual(BOUNDS.minMs)
          expect(ms).toBeLessThanOrEqual(BOUNDS.maxMs)
        },
      ),
    )
  })

  test.each([
    [20, 40],
    [58, 2],
    [80, -20],
  ])('%i minutes after its import, an imported transaction has at most %i left', (elapsed, left) => {
    const imported = { ...fresh(), origin: 'imported' } as const
    const nowMs = NOW + elapsed * MINUTE
    const given = { expiresAt: at(elapsed + 50), date: http(elapsed) }
    expect(lifetimeMs(imported, given, BOUNDS, nowMs)).toBe(left * MINUTE)
    expect(lifetimeMs(fresh(), given, BOUNDS, nowMs)).toBe(50 * MINUTE)
  })
})
