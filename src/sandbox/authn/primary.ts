import { advance } from './advance.ts'
import { appNamed } from './apps.ts'
import { authenticationFailed, validationFailed } from './authn-error.ts'
import { contextMember, type PrimaryBody, parseBody } from './bodies.ts'
import type { Caller } from './caller.ts'
import type { Person } from './person.ts'
import { requireAllowed } from './statuses.ts'
import type { Transaction } from './transaction.ts'
import { takeUpApproval } from './verify.ts'
import { recordSignIn, type World } from './world.ts'

/** POST /api/v1/authn in all its forms: credentials, activation token, step-up, and "where am I?". */
export function authenticate(world: World, body: PrimaryBody, caller: Caller): Transaction {
  const client = withDeviceToken(caller, body)
  if (body.stateToken !== undefined) return continueTransaction(world, body, body.stateToken, client)
  if (body.token !== undefined) return activate(world, body, body.token, client)
  const { username, password } = requireCredentials(body)
  const app = body.audience === undefined ? undefined : appNamed(world, body.audience)
  const person = checkPassword(world, client, username, password)
  const transaction = begin(world, body, client)
  transaction.app = app
  return person === 'locked-out' ? lockedOut(world, transaction) : signIn(world, transaction, person)
}

/** The body's deviceToken counts for a trusted app only; and only there is its length looked at. */
function withDeviceToken(caller: Caller, { context }: PrimaryBody): Caller {
  if (!caller.trusted) return caller
  const deviceToken = parseBody(contextMember, { context }).context?.deviceToken
  return deviceToken ? { ...caller, deviceToken } : caller
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
  world: World,
  body: PrimaryBody,
  stateToken: string,
  client: Caller,
): Transaction {
  const transaction = world.transactions.find(stateToken)
  const withCredentials = body.username !== undefined || body.password !== undefined
  requireAllowed(transaction.status, withCredentials ? 'authenticate' : 'state')
  // A step-up was begun by the browser itself; from here on the caller speaks for it.
  const { deviceToken } = transaction.caller
  transaction.caller = { ...client, deviceToken: client.deviceToken ?? deviceToken }
  applyOptions(transaction, body)
  if (withCredentials) {
    const { username, password } = requireCredentials(body)
    const person = checkPassword(world, client, username, password)
    return person === 'locked-out' ? lockedOut(world, transaction) : signIn(world, transaction, person)
  }
  if (transaction.status === 'UNAUTHENTICATED' && transaction.fromSession && transaction.person !== undefined)
    return signIn(world, transaction, transaction.person)
  takeUpApproval(world, transaction)
  return transaction
}

/** Works with and without an API token: a single-page app may bring it too. */
function activate(world: World, body: PrimaryBody, token: string, client: Caller): Transaction {
  const person = world.activations.take(token)
  if (person === undefined) {
    recordSignIn(world, client, '(activation token)', 'E0000004')
    throw authenticationFailed()
  }
  person.activated = true
  const transaction = begin(world, body, client)
  if (person.password !== undefined) return signIn(world, transaction, person)
  transaction.person = person
  transaction.status = 'PASSWORD_RESET'
  transaction.recoveryType = 'ACCOUNT_ACTIVATION'
  recordSignIn(world, client, person.login, transaction.status)
  return transaction
}

/** Counts wrong passwords and locks out; says so only where the password policy shows lockout. */
function checkPassword(
  world: World,
  client: Caller,
  username: string,
  password: string,
): Person | 'locked-out' {
  const person = world.people.named(username)
  const policy =
    person === undefined ? undefined : world.config.passwordPolicies[person.config.passwordPolicy]
  const right = person?.password !== undefined && person.password === password && person.activated
  if (person !== undefined && policy !== undefined && !person.lockedOut && !right) {
    person.wrongPasswords += 1
    person.lockedOut = person.wrongPasswords >= policy.maxWrongPasswords
  }
  if (person?.lockedOut === true && policy?.showLockout === true) {
    recordSignIn(world, client, person.login, 'LOCKED_OUT')
    return 'locked-out'
  }
  if (person === undefined || !right || person.lockedOut) {
    recordSignIn(world, client, username, 'E0000004')
    throw authenticationFailed()
  }
  person.wrongPasswords = 0
  return person
}

function begin(world: World, body: PrimaryBody, caller: Caller): Transaction {
  const transaction = world.transactions.begin({ caller, relayState: body.relayState })
  applyOptions(transaction, body)
  return transaction
}

/** In any state (authn-api.md, "States and transitions", last row); a call without options leaves them as they are. */
function applyOptions(transaction: Transaction, { options }: PrimaryBody): void {
  if (options === undefined || options === null) return
  transaction.warnBeforePasswordExpired = options?.warnBeforePasswordExpired ?? false
  transaction.multiOptionalFactorEnroll = options?.multiOptionalFactorEnroll ?? false
}

function signIn(world: World, transaction: Transaction, person: Person): Transaction {
  transaction.person = person
  try {
    advance(world, transaction, person)
  } catch (error) {
    recordSignIn(world, transaction.caller, person.login, 'denied')
    world.transactions.end(transaction)
    throw error
  }
  recordSignIn(world, transaction.caller, person.login, transaction.status)
  return transaction
}

/** LOCKED_OUT is no transaction: it has no state token. */
function lockedOut(world: World, transaction: Transaction): Transaction {
  transaction.status = 'LOCKED_OUT'
  world.transactions.end(transaction)
  return transaction
}
