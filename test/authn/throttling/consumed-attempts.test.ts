import { describe, expect, test } from '@jest/globals'
import { attemptLimits } from '../../../src/authn/throttling/attempt-limits.ts'
import { type AttemptResult, isRefusedCall } from '../../../src/authn/throttling/attempt-result.ts'
import { ATTEMPT_KINDS, type AttemptKind } from '../../../src/authn/throttling/attempts.ts'
import { createThrottling, type Reservation } from '../../../src/authn/throttling/throttling.ts'
import { createAnswer } from '../../../src/authn/transaction/step-outcome.ts'
import { defaultTunables } from '../../../src/config/tunables.ts'
import { createSigner } from '../../../src/crypto/keys.ts'
import { upstreamTimeout, upstreamUnavailable } from '../../../src/errors.ts'
import { createLoginNames } from '../../../src/login-names.ts'
import { UpstreamFailure } from '../../../src/upstream/upstream-failure.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { CLIENT as client } from '../test-client.ts'

/** Whether an attempt of this kind stays counted after its step. */
async function isCountedAfter(kind: AttemptKind, step: (reservation: Reservation) => void): Promise<boolean> {
  let refunds = 0
  const { reserve } = createThrottling({
    store: {
      keyPrefix: 'gatehouse:',
      countAttempt: async ({ windows }) => ({
        overridden: false,
        full: undefined,
        countedWindows: windows.map((window) => ({ window, windowId: 'x' })),
      }),
      refundAttempt: async (_prefix, counted) => {
        if (counted.some(({ window }) => window.name.startsWith(`${kind}:`))) refunds++
      },
      clearWindows: async () => {},
      get: async () => undefined,
      set: async () => true,
    },
    limits: attemptLimits(defaultTunables().limits),
    nameSigner: createSigner([Buffer.alloc(32, 'plainly-fake')], 'limit-names'),
    logins: createLoginNames([]),
    knownDevices: { add: async () => {} },
    audit: { limitHit: () => {} },
    log: collectLog().log,
    now: () => 0,
  })
  const reservation = reserve({ kind, operation: 'x', login: 'ada' }, client)
  await reservation.enforce()
  step(reservation)
  await new Promise((resolve) => setImmediate(resolve))
  return refunds === 0
}

const answered = (errorCode?: string, status = 200): AttemptResult => ({
  outcome: { kind: 'answer', status, body: '{}', headers: {}, errorCode, sessionId: undefined },
})
const isCounted = (kind: AttemptKind, more: Partial<AttemptResult> = {}) =>
  isCountedAfter(kind, ({ consumeOrRefund }) => consumeOrRefund({ ...answered(), ...more }))
const isCountedAfterError = (kind: AttemptKind, error: Error) =>
  isCountedAfter(kind, ({ consumeOrRefundOnError }) => consumeOrRefundOnError(error))

/** The kinds of attempts that stay counted after this result. */
async function countedKinds(result: Partial<AttemptResult> = {}): Promise<AttemptKind[]> {
  const counted = await Promise.all(ATTEMPT_KINDS.map((kind) => isCounted(kind, result)))
  return ATTEMPT_KINDS.filter((_, n) => counted[n])
}

/** Which refusals stay counted, by kind of attempt (docs/security.md#throttling). */
describe('an attempt that Okta refused', () => {
  const COUNTS: readonly (readonly [string, number, readonly AttemptKind[]])[] = [
    ['E0000004', 401, ['password', 'code', 'token', 'push', 'call']],
    ['E0000207', 401, ['password', 'code', 'token', 'push', 'call']],
    ['E0000068', 403, ['password', 'code', 'token', 'push', 'call']],
    ['E0000087', 403, ['password', 'code', 'token', 'push', 'call']],
    ['E0000119', 403, ['password', 'code', 'call']],
    ['E0000011', 401, ['token', 'call']],
    ['E0000105', 403, ['token', 'call']],
    ['E0000110', 403, ['token', 'call']],
    ['E0000006', 403, ['call']],
    ['E0000064', 401, ['call']],
    ['E0000069', 403, ['call']],
    ['E0000259', 403, ['call']],
    // a token's prompts: the code before was right, or the text is a new PIN (S11)
    ['E0000113', 409, ['call']],
    ['E0000106', 403, ['call']],
    ['E0000001', 400, ['call']],
    // the agent of a directory did not decide about the password, but the call was not free (S4)
    ['E0000240', 502, ['call']],
    ['E0000241', 504, ['call']],
    ['E0000047', 429, []],
    ['E0000109', 429, []],
    ['E0000009', 500, []],
  ]

  test.each(COUNTS)('with %s (%d) stays counted only for %j', async (code, status, kinds) => {
    expect(await countedKinds(answered(code, status))).toEqual(
      ATTEMPT_KINDS.filter((kind) => kinds.includes(kind)),
    )
  })

  test('stays counted if the broker refused the answer', async () => {
    const outcome = { kind: 'refusal', status: 403, code: 'E0000068', summary: '', causes: [], headers: {} }
    const refused = { ...answered(), outcome } as unknown as AttemptResult
    expect(await countedKinds(refused)).toEqual(['password', 'code', 'token', 'push', 'call'])
  })

  test('an attempt that was sent to a user stays counted if the broker refused the answer', async () => {
    const outcome = { kind: 'refusal', status: 403, code: 'E0000006', summary: '', causes: [], headers: {} }
    const refused = { ...answered(), outcome, status: 'MFA_CHALLENGE' } as unknown as AttemptResult
    expect(await countedKinds(refused)).toEqual(['message', 'push', 'recovery'])
  })
})

test('an accepted guess does not stay counted; an attempt that was sent to a user does', async () => {
  expect(await countedKinds()).toEqual(['message', 'push', 'recovery'])
})

test('passwords and codes stay counted after LOCKED_OUT', async () => {
  expect(await countedKinds({ status: 'LOCKED_OUT' })).toEqual([
    'password',
    'code',
    'message',
    'push',
    'recovery',
  ])
  expect(await countedKinds({ status: 'SUCCESS' })).toEqual(['message', 'push', 'recovery'])
})

test('what Okta’s error counts as in its operation goes before what its code alone counts as', async () => {
  expect(await isCounted('password', answered('E0000014'))).toBe(false)
  expect(await isCounted('password', { ...answered('E0000014'), counts: 'guess' })).toBe(true)
  expect(await isCounted('token', { ...answered('E0000006'), counts: 'token' })).toBe(true)
  expect(await isCounted('code', { ...answered('E0000006'), counts: 'token' })).toBe(false)
})

test.each([
  ['SUCCESS', false],
  ['WAITING', false],
  ['CHALLENGE', false],
  ['REJECTED', true],
  ['TIME_WINDOW_EXCEEDED', true],
  ['SOMETHING_NEW', true],
  [undefined, false],
])('a code with the factor result %s: %s', async (factorResult, counts) => {
  expect(await isCounted('code', { factorResult })).toBe(counts)
  expect(await isCounted('password', { factorResult })).toBe(false)
})

test.each([
  [200, false],
  [400, true],
  [404, true],
  [429, false],
  [500, false],
])(
  'the call stays counted if Okta answered with %s: %s, also if the answer is no Error object',
  async (status, counts) => {
    const page = upstreamUnavailable(new UpstreamFailure('invalid_response', { upstreamStatus: status }))
    expect(await isCounted('call', { outcome: createAnswer('{}', { status }) })).toBe(counts)
    expect(await isCountedAfterError('call', page)).toBe(counts)
  },
)

describe('a step without an answer', () => {
  const lost = upstreamTimeout(new UpstreamFailure('timeout'))
  const unsent = upstreamUnavailable(new UpstreamFailure('unreachable'))

  test.each(ATTEMPT_KINDS)(
    'a %s that may have arrived stays counted if it reaches the user',
    async (kind) => {
      expect(await isCountedAfterError(kind, lost)).toBe(['message', 'push', 'recovery'].includes(kind))
    },
  )

  test.each(ATTEMPT_KINDS)('a %s that was not sent does not stay counted', async (kind) => {
    expect(await isCountedAfterError(kind, unsent)).toBe(false)
    expect(await isCountedAfterError(kind, new Error('other'))).toBe(false)
  })
})

test.each<[kind: AttemptKind, result: Partial<AttemptResult>, stays: boolean]>([
  ['password', { status: 'LOCKED_OUT' }, true],
  ['code', { status: 'LOCKED_OUT' }, true],
  ['code', { status: 'MFA_CHALLENGE', factorResult: 'REJECTED' }, true],
  ['password', { status: 'SUCCESS' }, false],
  ['code', { status: 'SUCCESS' }, false],
  ['message', { status: 'LOCKED_OUT' }, false],
  ['push', { status: 'MFA_CHALLENGE' }, false],
  ['call', { status: 'LOCKED_OUT' }, false],
])('a call with status 200 that rejected a guess stays counted: %s %j', (kind, result, stays) => {
  expect(isRefusedCall(kind, { ...answered(), ...result })).toBe(stays)
})
