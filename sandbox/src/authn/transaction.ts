import type { AppConfig, PUSH_ANSWERS } from '../sandbox-config.ts'
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

export type PushAnswer = (typeof PUSH_ANSWERS)[number]

/** The state of the factor that is being verified or activated. */
export type Challenge = {
  /** The code that was sent by text message, call or email. */
  code: string | undefined
  sentAtMs: number | undefined
  /** The challenge for a security key or for Duo. */
  nonce: string
  /** U2F: the origin that the key is bound to. */
  appId: string | undefined
  polls: number
  pushAnswer: PushAnswer | undefined
  correctAnswer: number | undefined
  qrToken: string | undefined
  /** Identifies the transaction while the browser is at an external identity provider. */
  redirectKey: string | undefined
}

export type Transaction = {
  stateToken: string
  status: Status
  expiresAtMs: number
  client: ClientContext
  /** undefined before authentication, and in the recovery of an unknown user. */
  user: User | undefined
  app: AppConfig | undefined
  relayState: string | undefined
  warnBeforePasswordExpired: boolean
  multiOptionalFactorEnroll: boolean
  recoveryType: 'PASSWORD' | 'UNLOCK' | 'ACCOUNT_ACTIVATION' | undefined
  recoveryFactor: 'SMS' | 'CALL' | undefined
  wrongRecoveryCodes: number
  /**
   * The user had a session at the org when the step-up began, so the user is already authenticated.
   */
  fromSession: boolean
  mfaVerified: boolean
  passwordHandled: boolean
  enrollmentSkipped: boolean
  enrolledInTransaction: boolean
  /** A forgotten password was reset. */
  passwordReset: boolean
  rememberDevice: boolean
  /** As last requested for a push; undefined: not requested. */
  autoPush: boolean | undefined
  factor: Factor | undefined
  /** The challenge is for all security keys of the user, not for one. */
  challengeByType: boolean
  challenge: Challenge | undefined
  factorResult: FactorResult | undefined
  sessionToken: string | undefined
}

export type Transactions = {
  begin(start: { client: ClientContext } & Partial<Transaction>): Transaction
  /** Extends `expiresAt`. Throws E0000011 for an unknown or expired state token. */
  find(stateToken: string): Transaction
  end(transaction: Transaction): void
  all(): Transaction[]
  expireAll(): void
  clear(): void
}

const SWEEP_INTERVAL = 1000

export function createTransactions({
  now,
  tokens,
  lifetimeMinutes,
  recoveryMinutes,
}: {
  now: () => number
  tokens: IssuedTokens
  lifetimeMinutes: number
  /** Of a recovery or an activation, until the password is set. */
  recoveryMinutes: number
}): Transactions {
  const open = new Map<string, Transaction>()
  let beginCount = 0
  const newExpiry = ({ recoveryType }: Pick<Partial<Transaction>, 'recoveryType'>) =>
    now() + (recoveryType === undefined ? lifetimeMinutes : recoveryMinutes) * 60_000

  return {
    begin(start) {
      const transaction = {
        ...defaults(),
        stateToken: tokens.issueLong(),
        expiresAtMs: newExpiry(start),
        ...start,
      }
      open.set(transaction.stateToken, transaction)
      beginCount += 1
      if (beginCount % SWEEP_INTERVAL === 0) sweep()
      return transaction
    },
    find(stateToken) {
      const transaction = open.get(stateToken)
      if (transaction === undefined || transaction.expiresAtMs <= now()) throw invalidToken()
      transaction.expiresAtMs = newExpiry(transaction)
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

export function newChallenge(): Challenge {
  return {
    code: undefined,
    sentAtMs: undefined,
    nonce: '',
    appId: undefined,
    polls: 0,
    pushAnswer: undefined,
    correctAnswer: undefined,
    qrToken: undefined,
    redirectKey: undefined,
  }
}

export function clearChallenge(transaction: Transaction): void {
  transaction.factor = undefined
  transaction.challenge = undefined
  transaction.challengeByType = false
  transaction.factorResult = undefined
}

function defaults(): Omit<Transaction, 'stateToken' | 'expiresAtMs' | 'client'> {
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
    passwordReset: false,
    rememberDevice: false,
    autoPush: undefined,
    factor: undefined,
    challengeByType: false,
    challenge: undefined,
    factorResult: undefined,
    sessionToken: undefined,
  }
}
