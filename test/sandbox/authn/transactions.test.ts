import { beforeEach, describe, expect, test } from '@jest/globals'
import { AuthnError } from '../../../src/sandbox/authn/authn-error.ts'
import type { ClientContext } from '../../../src/sandbox/authn/client-context.ts'
import { cancel, goBack } from '../../../src/sandbox/authn/navigation.ts'
import type { Org } from '../../../src/sandbox/authn/org.ts'
import type { Status } from '../../../src/sandbox/authn/statuses.ts'
import {
  clearChallenge,
  createTransactions,
  newChallenge,
  type Transaction,
} from '../../../src/sandbox/authn/transaction.ts'

const LIFETIME_MINUTES = 5
const LIFETIME_MS = LIFETIME_MINUTES * 60_000
const CLIENT = { address: '203.0.113.7' } as ClientContext

let now: number
let transactions: ReturnType<typeof createTransactions>
beforeEach(() => {
  now = Date.parse('2026-06-01T10:00:00Z')
  let issued = 0
  const tokens = { issueLong: () => `00token-${++issued}`, issueShort: () => '', all: () => [], clear() {} }
  transactions = createTransactions({ now: () => now, tokens, lifetimeMinutes: LIFETIME_MINUTES })
})
const begin = (start: Partial<Transaction> = {}) => transactions.begin({ client: CLIENT, ...start })
const INVALID = expect.objectContaining({ status: 401, code: 'E0000011' })

describe('a transaction', () => {
  test('begins UNAUTHENTICATED, with its own state token', () => {
    expect(begin()).toEqual({
      stateToken: '00token-1',
      status: 'UNAUTHENTICATED',
      expiresAtMs: now + LIFETIME_MS,
      client: CLIENT,
      user: undefined,
      app: undefined,
      relayState: undefined,
      warnBeforePasswordExpired: false,
      multiOptionalFactorEnroll: false,
      recoveryType: undefined,
      recoveryFactor: undefined,
      wrongRecoveryCodes: 0,
      fromSession: false,
      mfaVerified: false,
      passwordHandled: false,
      enrollmentSkipped: false,
      enrolledInTransaction: false,
      rememberDevice: false,
      autoPush: undefined,
      factor: undefined,
      challengeByType: false,
      challenge: undefined,
      factorResult: undefined,
      sessionToken: undefined,
    })
    expect(begin().stateToken).toBe('00token-2')
  })

  test('begins with the given values', () => {
    expect(begin({ status: 'RECOVERY', mfaVerified: true })).toMatchObject({
      status: 'RECOVERY',
      mfaVerified: true,
    })
  })

  test('is found by its state token, which extends its life by five minutes', () => {
    const transaction = begin()
    now += LIFETIME_MS - 1
    expect(transactions.find(transaction.stateToken)).toBe(transaction)
    expect(transaction.expiresAtMs).toBe(now + LIFETIME_MS)
    now += LIFETIME_MS
    expect(() => transactions.find(transaction.stateToken)).toThrow(INVALID)
  })

  test('is not found by another token, or after it has ended', () => {
    const transaction = begin()
    expect(() => transactions.find('00token-2')).toThrow(INVALID)
    transactions.end(transaction)
    expect(() => transactions.find(transaction.stateToken)).toThrow(INVALID)
  })

  test('is listed until it expires', () => {
    const [one, two] = [begin(), begin()]
    expect(transactions.all()).toEqual([one, two])
    now += LIFETIME_MS - 1
    transactions.find(two.stateToken)
    now += 1
    expect(transactions.all()).toEqual([two])
    transactions.clear()
    expect(transactions.all()).toEqual([])
  })

  test('expires with all others through expireAll()', () => {
    const [one, two] = [begin(), begin()]
    transactions.expireAll()
    for (const { stateToken } of [one, two]) expect(() => transactions.find(stateToken)).toThrow(INVALID)
  })

  test('every 1,000 new transactions remove the expired ones', () => {
    const [expired, active] = [begin(), begin()]
    now += LIFETIME_MS - 1
    transactions.find(active.stateToken)
    now += 1
    for (let n = 0; n < 997; n++) begin()
    expired.expiresAtMs = now + 1 // would be found again if it were still stored
    expect(transactions.all()).toContain(expired)
    expired.expiresAtMs = now
    begin()
    expired.expiresAtMs = now + 1
    expect(transactions.all()).not.toContain(expired)
    expect(transactions.all()).toContain(active)
  })
})

describe('a challenge', () => {
  test('is empty when new', () => {
    expect(newChallenge()).toEqual({
      code: undefined,
      sentAtMs: undefined,
      nonce: '',
      polls: 0,
      pushAnswer: undefined,
      correctAnswer: undefined,
      qrToken: undefined,
    })
  })

  const challenged = (status: Status): Transaction =>
    begin({ status, challenge: newChallenge(), challengeByType: true, factorResult: 'WAITING' })
  const DROPPED = { factor: undefined, challenge: undefined, challengeByType: false, factorResult: undefined }

  test('is cleared with its factor and its result', () => {
    const transaction = challenged('MFA_CHALLENGE')
    clearChallenge(transaction)
    expect(transaction).toMatchObject(DROPPED)
  })

  test.each([
    ['MFA_CHALLENGE', 'MFA_REQUIRED'],
    ['MFA_ENROLL_ACTIVATE', 'MFA_ENROLL'],
  ] as const)('previous leads from %s to %s and drops it', (from, to) => {
    const transaction = challenged(from)
    goBack(transaction)
    expect(transaction).toMatchObject({ status: to, ...DROPPED })
  })

  test.each(['MFA_REQUIRED', 'MFA_ENROLL', 'PASSWORD_WARN', 'SUCCESS'] as const)(
    'previous is refused in %s and changes nothing',
    (status) => {
      const transaction = challenged(status)
      expect(() => goBack(transaction)).toThrow(AuthnError)
      expect(transaction).toMatchObject({ status, challengeByType: true, factorResult: 'WAITING' })
    },
  )
})

test('cancel ends the transaction and returns its relay state', () => {
  const org = { transactions } as Org
  const [plain, relayed] = [begin(), begin({ relayState: 'where I was' })]
  expect(cancel(org, plain)).toStrictEqual({})
  expect(cancel(org, relayed)).toEqual({ relayState: 'where I was' })
  expect(transactions.all()).toEqual([])
})
