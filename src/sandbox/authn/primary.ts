import { advance } from './advance.ts'
import { findApp } from './apps.ts'
import { authenticationFailed, validationFailed } from './authn-error.ts'
import type { ClientContext } from './client-context.ts'
import { type Org, recordSignIn } from './org.ts'
import { contextMember, type PrimaryBody, parseBody } from './schemas.ts'
import { requireAllowed } from './statuses.ts'
import type { Transaction } from './transaction.ts'
import type { User } from './user.ts'
import { applyIdentityProviderApproval } from './verify.ts'

/** POST /api/v1/authn in all its forms: credentials, activation token, step-up, and "where am I?". */
export function authenticate(org: Org, body: PrimaryBody, context: ClientContext): Transaction {
  const client = withDeviceToken(context, body)
  if (body.stateToken !== undefined) return continueTransaction(org, body, body.stateToken, client)
  if (body.token !== undefined) return activate(org, body, body.token, client)
  const { username, password } = requireCredentials(body)
  const app = body.audience === undefined ? undefined : findApp(org, body.audience)
  const user = checkPassword(org, client, username, password)
  const transaction = begin(org, body, client)
  transaction.app = app
  return user === 'locked-out' ? lockedOut(org, transaction) : signIn(org, transaction, user)
}

/** The body's deviceToken counts for a trusted app only; and only there is its length looked at. */
function withDeviceToken(client: ClientContext, { context }: PrimaryBody): ClientContext {
  if (!client.trusted) return client
  const deviceToken = parseBody(contextMember, { context }).context?.deviceToken
  return deviceToken ? { ...client, deviceToken } : client
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

/** A state token alone asks where the transaction stands; with credentials it authenticates a step-up. */
function continueTransaction(
  org: Org,
  body: PrimaryBody,
  stateToken: string,
  client: ClientContext,
): Transaction {
  const transaction = org.transactions.find(stateToken)
  const withCredentials = body.username !== undefined || body.password !== undefined
  requireAllowed(transaction.status, withCredentials ? 'authenticate' : 'state')
  // A step-up was begun by the browser itself; from here on the trusted app calls for it.
  const { deviceToken } = transaction.client
  transaction.client = { ...client, deviceToken: client.deviceToken ?? deviceToken }
  applyOptions(transaction, body)
  if (withCredentials) {
    const { username, password } = requireCredentials(body)
    const user = checkPassword(org, client, username, password)
    return user === 'locked-out' ? lockedOut(org, transaction) : signIn(org, transaction, user)
  }
  if (transaction.status === 'UNAUTHENTICATED' && transaction.fromSession && transaction.user !== undefined)
    return signIn(org, transaction, transaction.user)
  applyIdentityProviderApproval(org, transaction)
  return transaction
}

/** Works with and without an API token: a single-page app may bring it too. */
function activate(org: Org, body: PrimaryBody, token: string, client: ClientContext): Transaction {
  const user = org.activations.take(token)
  if (user === undefined) {
    recordSignIn(org, client, '(activation token)', 'E0000004')
    throw authenticationFailed()
  }
  user.activated = true
  const transaction = begin(org, body, client)
  if (user.password !== undefined) return signIn(org, transaction, user)
  transaction.user = user
  transaction.status = 'PASSWORD_RESET'
  transaction.recoveryType = 'ACCOUNT_ACTIVATION'
  recordSignIn(org, client, user.login, transaction.status)
  return transaction
}

/** Counts wrong passwords and locks out; says so only where the password policy shows lockout. */
function checkPassword(
  org: Org,
  client: ClientContext,
  username: string,
  password: string,
): User | 'locked-out' {
  const user = org.users.findByUsername(username)
  const policy = user === undefined ? undefined : org.config.passwordPolicies[user.config.passwordPolicy]
  const right = user?.password !== undefined && user.password === password && user.activated
  if (user !== undefined && policy !== undefined && !user.lockedOut && !right) {
    user.wrongPasswords += 1
    user.lockedOut = user.wrongPasswords >= policy.maxWrongPasswords
  }
  if (user?.lockedOut === true && policy?.showLockout === true) {
    recordSignIn(org, client, user.login, 'LOCKED_OUT')
    return 'locked-out'
  }
  if (user === undefined || !right || user.lockedOut) {
    recordSignIn(org, client, username, 'E0000004')
    throw authenticationFailed()
  }
  user.wrongPasswords = 0
  return user
}

function begin(org: Org, body: PrimaryBody, client: ClientContext): Transaction {
  const transaction = org.transactions.begin({ client, relayState: body.relayState })
  applyOptions(transaction, body)
  return transaction
}

/** In any state (authn-api.md, "States and transitions", last row); a call without options leaves them as they are. */
function applyOptions(transaction: Transaction, { options }: PrimaryBody): void {
  if (options === undefined || options === null) return
  transaction.warnBeforePasswordExpired = options?.warnBeforePasswordExpired ?? false
  transaction.multiOptionalFactorEnroll = options?.multiOptionalFactorEnroll ?? false
}

function signIn(org: Org, transaction: Transaction, user: User): Transaction {
  transaction.user = user
  try {
    advance(org, transaction, user)
  } catch (error) {
    recordSignIn(org, transaction.client, user.login, 'denied')
    org.transactions.end(transaction)
    throw error
  }
  recordSignIn(org, transaction.client, user.login, transaction.status)
  return transaction
}

/** LOCKED_OUT is no transaction: it has no state token. */
function lockedOut(org: Org, transaction: Transaction): Transaction {
  transaction.status = 'LOCKED_OUT'
  org.transactions.end(transaction)
  return transaction
}
