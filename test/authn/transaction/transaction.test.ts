import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Answer } from '../../../src/authn/transaction/answer.ts'
import { opensSession } from '../../../src/authn/transaction/assess-answer.ts'
import { acceptedProof, type Proof } from '../../../src/authn/transaction/credentials.ts'
import {
  advance,
  afterRejectedStep,
  createTransaction,
  isDifferentUser,
  isOngoing,
  lifetimeMs,
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
const STEP = { offered: [], accepted: undefined, expiresAtMs: NOW + 300_000 }
const fresh = () => createTransaction('device', 'ada', NOW)
const answeredWith = (answer: Partial<Answer>, step: Partial<Parameters<typeof advance>[2]> = {}) =>
  advance(fresh(), { ...ANSWER, ...answer }, { ...STEP, ...step })
/** After the answer to a step with a proof, of the user in the answer unless stated otherwise. */
const provedWith = (proof: Proof, answer: Partial<Answer>, isOfUser = true) =>
  answeredWith(answer, { accepted: acceptedProof(proof, { ...ANSWER, ...answer }, isOfUser) })

test('a new transaction has begun here, and nothing was offered or accepted in it', () => {
  const nothing = { status: '', offered: [], activeFactors: [], retiredTokens: [], amr: [] }
  expect(fresh()).toMatchObject({ ...nothing, origin: 'begun', credentialAccepted: false, userProved: false })
})

describe('an accepted credential', () => {
  const PASSWORD = { kind: 'password', provesUser: true, amr: 'pwd' } as const

  test('needs a proof in the step', () => {
    for (const status of ['SUCCESS', 'MFA_REQUIRED', 'PASSWORD_EXPIRED', '']) {
      expect(answeredWith({ status })).toMatchObject({ credentialAccepted: false, amr: [] })
    }
  })

  const FACTOR = { kind: 'factor', provesUser: true, amr: 'otp' } as const

  /** Whether a status shows that a password, or a factor, was accepted. */
  test.each([
    ['SUCCESS PASSWORD_EXPIRED PASSWORD_WARN PASSWORD_RESET MFA_ENROLL', true, true],
    ['MFA_REQUIRED MFA_CHALLENGE MFA_ENROLL_ACTIVATE CONSENT_REQUIRED ADMIN_CONSENT_REQUIRED', true, false],
    ['FACTOR_REQUIRED FACTOR_ENROLL PROFILE_REQUIRED', true, false],
    ['UNAUTHENTICATED LOCKED_OUT RECOVERY RECOVERY_CHALLENGE POLL FACTOR_CHALLENGE BRAND_NEW', false, false],
    ['', false, false],
  ])('with %s: a password %p, a factor %p', (statuses, password, factor) => {
    for (const status of statuses.split(' ')) {
      const accepts = (proof: typeof PASSWORD | typeof FACTOR) =>
        provedWith(proof, { status }).credentialAccepted
      expect([status, accepts(PASSWORD), accepts(FACTOR)]).toEqual([status, password, factor])
    }
  })

  test.each([
    // shows: F-1.16
    'WAITING',
    'CHALLENGE',
    'REJECTED',
    'TIMEOUT',
    // shows: F-1.16
    'TIME_WINDOW_EXCEEDED',
    // shows: F-1.16
    'PASSCODE_REPLAYED',
    // shows: F-1.16
    'CANCELLED',
    // shows: F-1.16
    'ERROR',
    'BRAND_NEW',
  ])('is not a factor with the result %s, whatever the status', (factorResult) => {
    for (const status of ['SUCCESS', 'MFA_REQUIRED', 'BRAND_NEW']) {
      expect(provedWith(FACTOR, { status, factorResult }).credentialAccepted).toBe(false)
    }
    expect(provedWith(FACTOR, { status: 'SUCCESS', factorResult: 'SUCCESS' }).amr).toEqual(['otp'])
  })

  test('is a password whatever the factor result', () => {
    for (const factorResult of ['WAITING', 'CHALLENGE', 'BRAND_NEW']) {
      const answer = { status: 'MFA_CHALLENGE', factorResult }
      expect(provedWith(PASSWORD, answer).credentialAccepted).toBe(true)
    }
  })

  test('proves the user only if it is the user’s own, and then the user stays proved', () => {
    const NEW_PASSWORD = { ...PASSWORD, provesUser: false }
    const accepted = provedWith(NEW_PASSWORD, { status: 'SUCCESS' })
    expect(accepted).toMatchObject({ credentialAccepted: true, userProved: false })
    expect(answeredWith({ status: 'SUCCESS' }).userProved).toBe(false)
    expect(provedWith(PASSWORD, { status: 'LOCKED_OUT' }).userProved).toBe(false)

    const proved = provedWith(PASSWORD, { status: 'MFA_REQUIRED' })
    expect(proved.userProved).toBe(true)
    expect(advance(proved, ANSWER, STEP).userProved).toBe(true)
    expect(advance(proved, ANSWER, { ...STEP, accepted: NEW_PASSWORD }).userProved).toBe(true)
  })

  test('must belong to the user in the answer, if it was sent with a login', () => {
    const ofLogin = { ...PASSWORD, ofLogin: 'ada' }
    const answer = { status: 'SUCCESS' }
    expect(provedWith(ofLogin, answer, true).credentialAccepted).toBe(true)
    expect(provedWith(ofLogin, answer, false).credentialAccepted).toBe(false)
    expect(provedWith(PASSWORD, answer, false).credentialAccepted).toBe(true)
  })

  // shows: V6.3.3
  test('stays accepted, and methods are added without duplicates', () => {
    let transaction = provedWith(PASSWORD, {})
    for (const [proof, status] of [
      [{ kind: 'factor', provesUser: true, amr: 'otp' } as const, 'MFA_CHALLENGE'],
      [{ kind: 'factor', provesUser: true, amr: 'otp' } as const, 'SUCCESS'],
      [PASSWORD, 'SUCCESS'],
      [undefined, 'LOCKED_OUT'],
    ] as const) {
      const answer = { ...ANSWER, status }
      transaction = advance(transaction, answer, { ...STEP, accepted: acceptedProof(proof, answer, true) })
    }
    expect(transaction).toMatchObject({ credentialAccepted: true, amr: ['pwd', 'otp'] })
  })
})

describe('a session opens', () => {
  // shows: V6.3.4
  test('only with SUCCESS, a user, a session token or step-up, and an accepted credential', () => {
    for (const status of ['SUCCESS', 'MFA_REQUIRED', 'success', '']) {
      for (const user of [USER, undefined]) {
        for (const hasSessionToken of [true, false]) {
          for (const type of ['SESSION_STEP_UP', 'SESSION_OTHER', undefined]) {
            for (const credentialAccepted of [true, false]) {
              const sessionToken = hasSessionToken ? 'real-session-token' : undefined
              const answer = { ...ANSWER, status, user, sessionToken, type }
              const opens = opensSession(answer, credentialAccepted)
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
})

describe('the user', () => {
  test('may be named late, but must not change', () => {
    expect(isDifferentUser(fresh(), ANSWER)).toBe(false)
    expect(isDifferentUser({ ...fresh(), userId: '00u1' }, ANSWER)).toBe(false)
    expect(isDifferentUser({ ...fresh(), userId: '00u1' }, { ...ANSWER, user: undefined })).toBe(false)
    expect(isDifferentUser({ ...fresh(), userId: '00u2' }, ANSWER)).toBe(true)
    expect(isDifferentUser({ ...fresh(), userId: '00U1' }, ANSWER)).toBe(true)
  })

  test('stays known if an answer does not name a user', () => {
    const named = answeredWith({})
    expect(advance(named, { ...ANSWER, user: undefined }, STEP).userId).toBe('00u1')
  })
})

describe('a transaction continues', () => {
  test.each(['SUCCESS', 'LOCKED_OUT', ''])('not after %j', (status) => {
    expect(isOngoing(answeredWith({ status }))).toBe(false)
  })

  test('not without a state token', () => {
    expect(isOngoing(answeredWith({ stateToken: undefined }))).toBe(false)
  })

  const ONGOING = 'MFA_REQUIRED PASSWORD_WARN UNAUTHENTICATED RECOVERY CONSENT_REQUIRED BRAND_NEW'
  test.each(ONGOING.split(' '))('after %s, known or not', (status) => {
    expect(isOngoing(answeredWith({ status }))).toBe(true)
  })

  test('an answer without a state token keeps the previous one; a new one replaces it', () => {
    const first = answeredWith({})
    expect(advance(first, { ...ANSWER, stateToken: undefined }, STEP).stateToken).toBe('00state')
    expect(advance(first, { ...ANSWER, stateToken: '00next' }, STEP).stateToken).toBe('00next')
  })

  // shows: F-1.19
  test('device, creation time and login stay; the expiry changes', () => {
    const later = advance(answeredWith({}), ANSWER, { ...STEP, expiresAtMs: NOW + 900_000 })
    expect(later).toMatchObject({
      device: 'device',
      login: 'ada',
      createdAtMs: NOW,
      expiresAtMs: NOW + 900_000,
    })
  })

  test('factor types of all answers are kept, and the newest wins', () => {
    const first = answeredWith({ factorTypes: { a: 'sms', b: 'push' } })
    const second = advance(first, { ...ANSWER, factorTypes: { b: 'call' } }, STEP)
    expect(second.factorTypes).toEqual({ a: 'sms', b: 'call' })
  })
})

// shows: V2.3.1
test('a step that was offered earlier in the transaction is still offered', () => {
  const offered = [{ path: '/api/v1/authn/factors/ost1/verify', query: '', methods: ['POST'] }]
  const first = advance(fresh(), ANSWER, { ...STEP, offered })
  const later = advance(first, { ...ANSWER, status: 'MFA_CHALLENGE' }, STEP)
  expect([first.offered, later.offered]).toEqual([offered, offered])
})

test.each([
  ['FAILED', true],
  ['REJECTED', undefined],
  [undefined, undefined],
])('whether the factor failed at its identity provider, with the result %s: %s', (factorResult, failed) => {
  expect(answeredWith({ factorResult }).factorFailed).toBe(failed)
})

test('an empty list of active factors does not replace the last known one', () => {
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
  const withResult = (factorResult: string | undefined) => ({ ...ANSWER, factorResult })

  test('is kept for each path after WAITING', () => {
    const first = advance(fresh(), withResult('WAITING'), at('/one', 1))
    const second = advance(first, withResult('WAITING'), at('/two', 2))
    expect(second.pollNotBeforeMs).toEqual({ '/one': 1, '/two': 2 })
    const again = advance(second, withResult('WAITING'), at('/one', 3))
    expect(again.pollNotBeforeMs).toEqual({ '/one': 3, '/two': 2 })
    for (const [result, step] of [
      ['WAITING', STEP],
      ['REJECTED', at('/one', 4)],
    ] as const)
      expect(advance(again, withResult(result), step).pollNotBeforeMs).toEqual({ '/one': 3, '/two': 2 })
  })
})

describe('the push factor that awaits approval', () => {
  const WAITING = { status: 'MFA_CHALLENGE', factorResult: 'WAITING' }
  const awaiting = () => answeredWith(WAITING, { factorId: 'push1' })

  test('is the factor of a step that was answered WAITING', () => {
    expect(awaiting().awaitedFactor).toBe('push1')
    const other = advance(awaiting(), { ...ANSWER, ...WAITING }, { ...STEP, factorId: 'push2' })
    expect(other.awaitedFactor).toBe('push2')
  })

  test('stays after a state request', () => {
    expect(advance(awaiting(), { ...ANSWER, ...WAITING }, STEP).awaitedFactor).toBe('push1')
    expect(answeredWith(WAITING).awaitedFactor).toBeUndefined()
  })

  test.each([
    ['REJECTED', undefined],
    ['TIMEOUT', undefined],
    [undefined, 'push1'],
  ])('after a state request with the result %s: %s', (factorResult, awaited) => {
    const answer = { ...ANSWER, status: 'MFA_CHALLENGE', factorResult }
    expect(advance(awaiting(), answer, STEP).awaitedFactor).toBe(awaited)
  })

  test.each([
    ['verify', 'push1', 'push1'],
    ['state', undefined, 'push1'],
    ['verify', 'sms1', undefined],
    ['resend', 'sms1', undefined],
    ['previous', undefined, undefined],
  ])('after a rejected %s of %s: %s', (operation, factorId, awaited) => {
    const before = awaiting()
    const after = afterRejectedStep(before, { operation, factorId })
    expect(after).toEqual({ ...before, awaitedFactor: awaited })
    expect(after === before).toBe(awaited !== undefined)
  })

  // shows: F-1.16
  test.each(['REJECTED', 'TIMEOUT', 'CHALLENGE', undefined])(
    'is undefined after the result %s',
    (factorResult) => {
      const answer = { ...ANSWER, status: 'MFA_CHALLENGE', factorResult }
      expect(advance(awaiting(), answer, { ...STEP, factorId: 'push1' }).awaitedFactor).toBeUndefined()
    },
  )

  test.each(['MFA_REQUIRED', 'MFA_ENROLL_ACTIVATE', 'SUCCESS', ''])(
    'is undefined with the status %j',
    (status) => {
      const answer = { ...ANSWER, status, factorResult: 'WAITING' }
      expect(advance(awaiting(), answer, { ...STEP, factorId: 'push1' }).awaitedFactor).toBeUndefined()
      expect(advance(awaiting(), answer, STEP).awaitedFactor).toBeUndefined()
    },
  )
})

describe('replaced state tokens', () => {
  const retiredAfter = (...stateTokens: readonly (string | undefined)[]) =>
    stateTokens.reduce(
      (transaction, stateToken) => advance(transaction, { ...ANSWER, stateToken }, STEP),
      fresh(),
    ).retiredTokens

  test('are empty before the first replacement, and if the token is unchanged or missing', () => {
    expect(retiredAfter('00one')).toEqual([])
    expect(retiredAfter('00one', '00one', undefined)).toEqual([])
  })

  test('are kept, newest first, five at most', () => {
    expect(retiredAfter('00one', '00two', undefined, '00three')).toEqual(['00two', '00one'])
    expect(retiredAfter('1', '2', '3', '4', '5', '6', '7')).toEqual(['6', '5', '4', '3', '2'])
  })
})

describe('a finished transaction', () => {
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

  test('leaves the redirects of the last answer, with the session that they were issued for', () => {
    expect(toRedirectOnly(finished(), [STEP_LINK, REDIRECT], END)).toEqual({
      ...finished(),
      origin: 'redirect-only',
      offered: [REDIRECT],
      factorTypes: {},
      ...END,
    })
  })

  test('leaves nothing without a redirect, or after another status', () => {
    expect(toRedirectOnly(finished(), [STEP_LINK], END)).toBeUndefined()
    expect(toRedirectOnly(finished(), [], END)).toBeUndefined()
    for (const status of ['LOCKED_OUT', '']) {
      expect(toRedirectOnly(answeredWith({ status }), [REDIRECT], END)).toBeUndefined()
    }
  })
})

describe('the time to live', () => {
  const MINUTE = 60_000
  const at = (minutes: number) => new Date(NOW + minutes * MINUTE).toISOString()
  const http = (minutes: number) => new Date(NOW + minutes * MINUTE).toUTCString()

  // shows, F-1.19
  test.each<[string, string | undefined, string | undefined, number]>([
    ['as in the answer', at(10), http(0), 10],
    ['by Okta’s clock, far from ours', at(1000), http(990), 10],
    ['by Okta’s clock, although long past by ours', at(-100), http(-110), 10],
    ['at most an hour', at(600), http(0), 60],
    ['at least a minute', new Date(NOW + 1000).toISOString(), http(0), 1],
    ['past: the default', at(-1), http(0), 5],
    ['now: the default', at(0), http(0), 5],
    ['missing: the default', undefined, http(0), 5],
    ['empty: the default', '', http(0), 5],
    ['unreadable: the default', 'soon', http(0), 5],
    ['without Date: by our clock', at(10), undefined, 10],
    ['with an unreadable Date: by our clock', at(10), 'yesterday', 10],
  ])('%s', (_name, expiresAt, date, minutes) => {
    expect(lifetimeMs(fresh(), { expiresAt, date }, NOW)).toBe(minutes * MINUTE)
  })

  // shows
  test('is always within its bounds', () => {
    fc.assert(
      fc.property(
        fc.option(fc.string(), { nil: undefined }),
        fc.date(),
        fc.option(fc.date()),
        (text, end, sent) => {
          const written = Number.isNaN(end.getTime()) ? text : end.toISOString()
          const date = sent === null || Number.isNaN(sent.getTime()) ? text : sent.toUTCString()
          const ms = lifetimeMs(fresh(), { expiresAt: written, date }, NOW)
          expect(ms).toBeGreaterThanOrEqual(MINUTE)
          expect(ms).toBeLessThanOrEqual(60 * MINUTE)
        },
      ),
    )
  })

  test.each([
    ['imported', 20, 40],
    ['imported', 58, 2],
    ['imported', 80, -20],
    [undefined, 80, 50],
    [undefined, 170, 10],
    [undefined, 181, -1],
  ] as const)(
    'a transaction (origin %s) that began %i minutes ago has at most %i left',
    (...[origin, elapsed, left]) => {
      const nowMs = NOW + elapsed * MINUTE
      const given = { expiresAt: at(elapsed + 50), date: http(elapsed) }
      expect(lifetimeMs({ ...fresh(), ...(origin && { origin }) }, given, nowMs)).toBe(left * MINUTE)
    },
  )
})
