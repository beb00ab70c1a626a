import { findApp } from './apps.ts'
import {
  AuthnError,
  authenticationFailed,
  invalidToken,
  rateLimited,
  temporaryPasswordExpired,
  validationFailed,
  wrongCredentials,
} from './authn-error.ts'
import { handleBreachedPassword } from './breached-password.ts'
import type { ClientContext } from './client-context.ts'
import { withDeviceToken } from './device-token.ts'
import { requireAgent } from './directory-agent.ts'
import { applyIdentityProviderApproval } from './enroll.ts'
import { isSupported } from './identity-engine.ts'
import { setNextStatus } from './next-status.ts'
import { type Org, recordSignIn } from './org.ts'
import { passwordPolicyOf } from './password-policy.ts'
import type { PrimaryBody } from './schemas.ts'
import { requireAllowed } from './statuses.ts'
import type { Transaction } from './transaction.ts'
import type { User } from './user.ts'

/**
 * POST /api/v1/authn in all its forms: credentials, activation token, step-up, and transaction
 * state.
 */
export function authenticate(org: Org, body: PrimaryBody, context: ClientContext): Transaction {
  const client = withDeviceToken(org, context, body)
  if (body.stateToken !== undefined) return continueTransaction(org, body, body.stateToken, client)
  if (body.token !== undefined) return activate(org, body, body.token, client)
  const { username, password } = requireCredentials(body)
  const app = body.audience === undefined ? undefined : findApp(org, body.audience)
  const user = checkPassword(org, client, username, password)
  const transaction = begin(org, body, client)
  transaction.app = app
  return user === 'locked-out' ? lockedOut(org, transaction) : signIn(org, transaction, user)
}

function requireCredentials({ username, password }: PrimaryBody): { username: string; password: string } {
  if (username === undefined || password === undefined) {
    const missing = { username, password }
    throw validationFailed(
      'authRequest',
      Object.entries(missing)
        .filter(([, value]) => value === undefined)
        .map(([field]) => `${field}: The field cannot be left blank`),
    )
  }
  return { username, password }
}

/**
 * A state token alone returns the transaction's state; with credentials, it authenticates a
 * step-up.
 */
function continueTransaction(
  org: Org,
  body: PrimaryBody,
  stateToken: string,
  client: ClientContext,
): Transaction {
  const transaction = org.transactions.find(stateToken)
  if (transaction.app !== undefined && !isSupported(org, 'apps')) throw invalidToken()
  const hasCredentials = body.username !== undefined || body.password !== undefined
  requireAllowed(transaction.status, hasCredentials ? 'authenticate' : 'state')
  // The browser itself began a step-up, with its own client context; now the trusted app sends the
  // requests.
  const { deviceToken } = transaction.client
  transaction.client = { ...client, deviceToken: client.deviceToken ?? deviceToken }
  applyOptions(transaction, body)
  if (hasCredentials) {
    const { username, password } = requireCredentials(body)
    const user = checkPassword(org, client, username, password)
    return user === 'locked-out' ? lockedOut(org, transaction) : signIn(org, transaction, user)
  }
  if (transaction.status === 'UNAUTHENTICATED' && transaction.fromSession && transaction.user !== undefined)
    return signIn(org, transaction, transaction.user)
  applyIdentityProviderApproval(org, transaction)
  return transaction
}

/**
 * Needs no API token: a single-page app may send the activation token itself. The token of a user
 * without a password can be redeemed again until the password is set (R6).
 */
function activate(org: Org, body: PrimaryBody, token: string, client: ClientContext): Transaction {
  const user = org.activations.get(token)
  if (user === undefined) {
    recordSignIn(org, client, '(activation token)', 'E0000004')
    throw authenticationFailed()
  }
  user.activated = true
  if (user.password !== undefined) {
    org.activations.take(token)
    return signIn(org, begin(org, body, client), user)
  }
  const transaction = begin(org, body, client, {
    user,
    status: 'PASSWORD_RESET',
    recoveryType: 'ACCOUNT_ACTIVATION',
  })
  recordSignIn(org, client, user.login, transaction.status)
  return transaction
}

/**
 * Counts wrong passwords and locks the account. Reports a lockout only if the password policy has
 * `showLockout`.
 */
function checkPassword(
  org: Org,
  client: ClientContext,
  username: string,
  password: string,
): User | 'locked-out' {
  const { exceeded, headers } = org.rateLimit.countSignIn(username)
  if (exceeded) throw rateLimited(headers)
  const user = org.users.findByUsername(username)
  const policy = user === undefined ? undefined : passwordPolicyOf(org, user)
  if (user !== undefined) askDirectory(org, client, user)
  const isValid = user?.password !== undefined && user.password === password && user.activated
  if (user !== undefined && policy !== undefined && !user.lockedOut && !isValid) {
    user.wrongPasswords += 1
    user.lockedOut = user.wrongPasswords >= policy.maxWrongPasswords
    if (user.lockedOut) void org.sendEvent('user.account.lock', user)
  }
  if (user?.lockedOut === true && policy?.showLockout === true) {
    recordSignIn(org, client, user.login, 'LOCKED_OUT')
    return 'locked-out'
  }
  if (user === undefined || !isValid || user.lockedOut) {
    const refusal = org.settings.wrongPassword === 'E0000207' ? wrongCredentials() : authenticationFailed()
    recordSignIn(org, client, username, refusal.code)
    throw refusal
  }
  user.wrongPasswords = 0
  requireUsablePassword(org, client, user)
  if (user.passwordBreached) handleBreachedPassword(org, user, client)
  return user
}

/** The agent of the user's directory, if there is one. */
function askDirectory(org: Org, client: ClientContext, user: User): void {
  try {
    requireAgent(org, user)
  } catch (error) {
    if (error instanceof AuthnError) recordSignIn(org, client, user.login, error.code)
    throw error
  }
}

/** Refuses a correct password with which the user cannot sign in any more. */
function requireUsablePassword(org: Org, client: ClientContext, user: User): void {
  const { temporaryPasswordExpired: isTemporary, activeDirectory } = user.config
  const isExpired = user.passwordExpired && activeDirectory?.mayChangePassword === false
  if (!isTemporary && !isExpired) return
  const refusal = isTemporary ? temporaryPasswordExpired() : authenticationFailed()
  recordSignIn(org, client, user.login, refusal.code)
  throw refusal
}

function begin(
  org: Org,
  body: PrimaryBody,
  client: ClientContext,
  start: Partial<Transaction> = {},
): Transaction {
  const transaction = org.transactions.begin({ client, relayState: body.relayState, ...start })
  applyOptions(transaction, body)
  return transaction
}

/** Allowed in any state (docs/conformance.md ). Without options, the earlier ones apply. */
function applyOptions(transaction: Transaction, { options }: PrimaryBody): void {
  if (options === undefined || options === null) return
  transaction.warnBeforePasswordExpired = options.warnBeforePasswordExpired ?? false
  transaction.multiOptionalFactorEnroll = options.multiOptionalFactorEnroll ?? false
}

function signIn(org: Org, transaction: Transaction, user: User): Transaction {
  transaction.user = user
  try {
    setNextStatus(org, transaction, user)
  } catch (error) {
    recordSignIn(org, transaction.client, user.login, 'denied')
    org.transactions.end(transaction)
    throw error
  }
  recordSignIn(org, transaction.client, user.login, transaction.status)
  return transaction
}

/** LOCKED_OUT has no state token, so the transaction ends. */
function lockedOut(org: Org, transaction: Transaction): Transaction {
  transaction.status = 'LOCKED_OUT'
  org.transactions.end(transaction)
  return transaction
}
