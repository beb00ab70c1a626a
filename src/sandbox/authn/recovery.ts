import {
  accountLocked,
  factorLocked,
  invalidPasscode,
  invalidToken,
  recoveryNotAllowed,
  unknownUser,
  unlockNotAllowed,
  validationFailed,
  wrongRecoveryAnswer,
} from './authn-error.ts'
import type { ClientContext } from './client-context.ts'
import { answersMatch } from './factors/question-factor.ts'
import { enforceResendInterval } from './factors/sent-code-factors.ts'
import { isSupported } from './identity-engine.ts'
import { randomCode } from './issued-tokens.ts'
import { actionLink } from './links.ts'
import type { Org } from './org.ts'
import { logRecoveryStart } from './own-recovery-log.ts'
import { omitUndefined, present, presentUser } from './present.ts'
import type { RecoveryBody, RecoveryTokenBody } from './schemas.ts'
import { newChallenge, type Transaction } from './transaction.ts'
import type { User } from './user.ts'

type RecoveryType = 'PASSWORD' | 'UNLOCK'
type Start = {
  org: Org
  body: RecoveryBody
  client: ClientContext
  origin: string
  recoveryType: RecoveryType
}
type Response = Record<string, unknown>

/**
 * POST /recovery/password and /recovery/unlock. A public app gets the same response for known and unknown users. A trusted
 * app gets an error for an unknown user, and without a factorType it gets the recovery token itself.
 */
export function startRecovery(start: Start): Response {
  const { body, client } = start
  const factorType = readFactorType(body.factorType)
  if (factorType === undefined && !client.trusted)
    throw validationFailed('factorType', ['factorType: The field cannot be left blank'])
  const user = userToRecover(start, factorType)
  if (start.recoveryType === 'PASSWORD') logRecoveryStart(start.org, user, client)
  switch (factorType) {
    case undefined:
      return respondWithRecoveryToken(start, user)
    case 'EMAIL':
      return startByEmail(start, user)
    default:
      return startByPhone(start, user, factorType)
  }
}

/** POST /recovery/factors/{SMS|CALL}/verify */
export function verifyRecovery(org: Org, transaction: Transaction, passCode: string): void {
  if (transaction.wrongRecoveryCodes >= org.config.limits.wrongCodes) throw factorLocked()
  const { user, challenge } = transaction
  if (user === undefined || challenge?.code === undefined || challenge.code !== passCode) {
    transaction.wrongRecoveryCodes += 1
    throw invalidPasscode("Your token doesn't match our records. Please try again.")
  }
  askQuestionOrComplete(org, transaction, user)
}

/** POST /recovery/factors/{SMS|CALL}/resend */
export function resendRecovery(org: Org, transaction: Transaction): void {
  const { user, challenge, recoveryFactor } = transaction
  if (challenge === undefined || recoveryFactor === undefined) return
  enforceResendInterval(org, recoveryFactor === 'SMS' ? 'sms' : 'call', challenge)
  sendRecoveryCode(org, transaction, user)
}

/** POST /recovery/token: redeems the recovery token of an email or of a response to a trusted app. */
export function redeemRecoveryToken(org: Org, body: RecoveryTokenBody, client: ClientContext): Transaction {
  const recovery = org.recoveries.take(body.recoveryToken)
  if (recovery === undefined) throw invalidToken()
  const { user, recoveryType, relayState } = recovery
  const transaction = org.transactions.begin({
    client,
    user,
    recoveryType,
    relayState,
    multiOptionalFactorEnroll: body.options?.multiOptionalFactorEnroll ?? false,
  })
  askQuestionOrComplete(org, transaction, user)
  return transaction
}

/** POST /recovery/answer */
export function answerQuestion(org: Org, transaction: Transaction, user: User, answer: string): void {
  if (!answersMatch(answer, user.config.recoveryQuestion?.answer)) throw wrongRecoveryAnswer()
  completeRecovery(org, transaction, user)
}

function readFactorType(factorType: string | undefined): 'EMAIL' | 'SMS' | 'CALL' | undefined {
  if (factorType === undefined) return undefined
  const upper = factorType.toUpperCase()
  if (upper === 'EMAIL' || upper === 'SMS' || upper === 'CALL') return upper
  throw validationFailed('factorType', [`factorType: ${factorType} is not one of EMAIL, SMS, CALL`])
}

/** undefined: no user can be recovered, and the response to a public app must not show it. */
function userToRecover(
  { org, body, client, recoveryType }: Start,
  factorType: 'EMAIL' | 'SMS' | 'CALL' | undefined,
): User | undefined {
  const user = org.users.findByUsername(body.username)
  const error = recoveryError(org, user, recoveryType, factorType)
  if (error === undefined) return user
  if (client.trusted) throw error
  return undefined
}

function recoveryError(
  org: Org,
  user: User | undefined,
  recoveryType: RecoveryType,
  factorType: string | undefined,
) {
  if (user === undefined) return unknownUser()
  if (!isSupported(org, 'recovery') || user.adminStatus !== undefined) return recoveryNotAllowed()
  const policy = org.config.passwordPolicies[user.config.passwordPolicy]
  if (user.lockedOut && policy?.selfServiceUnlock === false) return accountLocked()
  if (recoveryType === 'UNLOCK' && !user.lockedOut) return unlockNotAllowed()
  const byPhone = factorType === 'SMS' || factorType === 'CALL'
  const isAllowed = user.config.recoveryAllowed && (!byPhone || user.recoveryPhone !== undefined)
  return isAllowed ? undefined : recoveryNotAllowed()
}

/** The response contains the recovery token and the user's data, and requires only a username: a broker must not pass it on. */
function respondWithRecoveryToken(
  { org, body, origin, recoveryType }: Start,
  user: User | undefined,
): Response {
  if (user === undefined) throw unknownUser()
  return omitUndefined({
    expiresAt: new Date(org.now() + org.config.lifetimes.recoveryTokenMinutes * 60_000).toISOString(),
    status: 'RECOVERY',
    relayState: body.relayState,
    recoveryToken: newRecoveryToken(org, user, recoveryType, body.relayState),
    recoveryType,
    _embedded: { user: presentUser(user) },
    _links: {
      next: actionLink(origin, '/api/v1/authn/recovery/token', 'POST', 'recovery'),
      cancel: actionLink(origin, '/api/v1/authn/cancel'),
    },
  })
}

function startByEmail({ org, body, recoveryType }: Start, user: User | undefined): Response {
  if (user !== undefined) sendRecoveryEmail(org, user, recoveryType, body.relayState)
  return omitUndefined({
    status: 'RECOVERY_CHALLENGE',
    relayState: body.relayState,
    factorResult: 'WAITING',
    factorType: 'EMAIL',
    recoveryType,
  })
}

export function sendRecoveryEmail(
  org: Org,
  user: User,
  recoveryType: RecoveryType,
  relayState?: string,
): void {
  const token = newRecoveryToken(org, user, recoveryType, relayState)
  const link = pageWithToken(org.config.signInPage, token)
  org.outbox.send({
    kind: 'mail',
    login: user.login,
    to: user.login,
    purpose: 'recovery',
    text: `Open this link to recover your account: ${link}`,
    link,
    token,
  })
}

/** As in an org with edited email templates: the fragment is not sent to a server. */
function pageWithToken(page: string, token: string): string {
  const url = new URL(page)
  url.hash = `recovery=${token}`
  return url.href
}

function startByPhone(
  { org, body, client, origin, recoveryType }: Start,
  user: User | undefined,
  recoveryFactor: 'SMS' | 'CALL',
): Response {
  const transaction = org.transactions.begin({
    client,
    user,
    status: 'RECOVERY_CHALLENGE',
    recoveryType,
    recoveryFactor,
    relayState: body.relayState,
    challenge: newChallenge(),
  })
  sendRecoveryCode(org, transaction, user)
  return present({ org, transaction, origin })
}

function sendRecoveryCode(org: Org, transaction: Transaction, user: User | undefined): void {
  const { challenge, recoveryFactor } = transaction
  if (challenge === undefined) return
  challenge.sentAtMs = org.now()
  if (user === undefined) return
  const code = randomCode(org.random)
  challenge.code = code
  org.outbox.send({
    kind: recoveryFactor === 'CALL' ? 'call' : 'sms',
    login: user.login,
    to: user.recoveryPhone ?? '',
    purpose: 'recovery',
    text: `Your recovery code is ${code}.`,
    code,
  })
}

function newRecoveryToken(
  org: Org,
  user: User,
  recoveryType: RecoveryType,
  relayState: string | undefined,
): string {
  const token = org.tokens.issueShort()
  org.recoveries.put(token, { user, recoveryType, relayState })
  return token
}

/** Asks the recovery question if the user has one. */
function askQuestionOrComplete(org: Org, transaction: Transaction, user: User): void {
  if (user.config.recoveryQuestion === undefined) completeRecovery(org, transaction, user)
  else transaction.status = 'RECOVERY'
}

/** Requests a new password, or unlocks the account. An unlock ends without a session token. */
function completeRecovery(org: Org, transaction: Transaction, user: User): void {
  if (transaction.recoveryType !== 'UNLOCK') {
    transaction.status = 'PASSWORD_RESET'
    return
  }
  user.lockedOut = false
  user.wrongPasswords = 0
  transaction.status = 'SUCCESS'
  org.transactions.end(transaction)
}
