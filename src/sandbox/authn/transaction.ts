import type { AppConfig } from '../sandbox-config.ts'
import { invalidToken } from './authn-error.ts'
import type { ClientContext } from './client-context.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import type { Status } from './statuses.ts'
import type { Factor, User } from './user.ts'

export type FactorResult =
  | 'WAITING'
  | 'CANCELLED'
  | 'ERROR'
  | 'PASSCODE_REPLAYED'
  | 'TIMEOUT'
  | 'TIME_WINDOW_EXCEEDED'
  | 'REJECTED'
  | 'CHALLENGE'
  | 'FAILED'

export type PushAnswer = 'approve' | 'reject' | 'cancel' | 'error'

/** What is going on with the factor at hand, while it is verified or activated. */
export type Challenge = {
  /** The code that was sent, by text message, call or mail. */
  code: string | undefined
  sentAtMs: number | undefined
  /** The challenge of a security key. */
  nonce: string
  polls: number
  pushAnswer: PushAnswer | undefined
  correctAnswer: number | undefined
  qrToken: string | undefined
  /** Names the transaction while the browser is at another identity provider. */
  redirectKey: string | undefined
}

export type Transaction = {
  stateToken: string
  status: Status
  expiresAtMs: number
  client: ClientContext
  /** undefined before authentication, and in a recovery for nobody. */
  user: User | undefined
  app: AppConfig | undefined
  relayState: string | undefined
  warnBeforePasswordExpired: boolean
  multiOptionalFactorEnroll: boolean
  recoveryType: 'PASSWORD' | 'UNLOCK' | 'ACCOUNT_ACTIVATION' | undefined
  recoveryFactor: 'SMS' | 'CALL' | undefined
  wrongRecoveryCodes: number
  /** Began with an existing session at the org, so its user is authenticated already. */
  fromSession: boolean
  mfaVerified: boolean
  passwordHandled: boolean
  enrollmentSkipped: boolean
  enrolledInTransaction: boolean
  rememberDevice: boolean
  autoPush: boolean
  factor: Factor | undefined
  /** A security-key challenge for every key of the user, not for one. */
  challengeByType: boolean
  challenge: Challenge | undefined
  factorResult: FactorResult | undefined
  sessionToken: string | undefined
}

export type Transactions = {
  begin(start: { client: ClientContext } & Partial<Transaction>): Transaction
  /** Moves expiresAt; throws E0000011 for an unknown or expired state token. */
  find(stateToken: string): Transaction
  end(transaction: Transaction): void
  all(): Transaction[]
  /** From now on every state token is refused as expired. */
  expireAll(): void
  clear(): void
}

const SWEEP_EVERY = 1000

export function createTransactions({
  now,
  tokens,
  lifetimeMinutes,
}: {
  now: () => number
  tokens: IssuedTokens
  lifetimeMinutes: number
}): Transactions {
  const open = new Map<string, Transaction>()
  let begun = 0
  const end = () => now() + lifetimeMinutes * 60_000

  return {
    begin(start) {
      const transaction = { ...blank(), stateToken: tokens.issueLong(), expiresAtMs: end(), ...start }
      open.set(transaction.stateToken, transaction)
      begun += 1
      if (begun % SWEEP_EVERY === 0) sweep()
      return transaction
    },
    find(stateToken) {
      const transaction = open.get(stateToken)
      if (transaction === undefined || transaction.expiresAtMs <= now()) throw invalidToken()
      transaction.expiresAtMs = end()
      return transaction
    },
    end(transaction) {
      open.delete(transaction.stateToken)
    },
    all: () => [...open.values()].filter((transaction) => transaction.expiresAtMs > now()),
    expireAll() {
      for (const transaction of open.values()) transaction.expiresAtMs = now()
    },
    clear: () => open.clear(),
  }

  function sweep() {
    for (const [token, transaction] of open) if (transaction.expiresAtMs <= now()) open.delete(token)
  }
}

/** A fresh challenge; what belongs to one factor type stays empty for the others. */
export function newChallenge(): Challenge {
  return {
    code: undefined,
    sentAtMs: undefined,
    nonce: '',
    polls: 0,
    pushAnswer: undefined,
    correctAnswer: undefined,
    qrToken: undefined,
    redirectKey: undefined,
  }
}

/** Throws away what was going on with a factor, as `previous` does. */
export function clearChallenge(transaction: Transaction): void {
  transaction.factor = undefined
  transaction.challenge = undefined
  transaction.challengeByType = false
  transaction.factorResult = undefined
}

function blank(): Omit<Transaction, 'stateToken' | 'expiresAtMs' | 'client'> {
  return {
    status: 'UNAUTHENTICATED',
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
    autoPush: false,
    factor: undefined,
    challengeByType: false,
    challenge: undefined,
    factorResult: undefined,
    sessionToken: undefined,
  }
}
