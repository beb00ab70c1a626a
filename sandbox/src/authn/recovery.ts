import {
  type AuthnError,
  accessDenied,
  accountLocked,
  expiredLink,
  expiredRecoveryLink,
  factorLocked,
  invalidPasscode,
  invalidToken,
  passwordResetFailed,
  recoveryNotAllowed,
  unknownUser,
  unlockNotAllowed,
  validationFailed,
} from './authn-error.ts'
import type { ClientContext } from './client-context.ts'
import { withDeviceToken } from './device-token.ts'
import { isTrustedOrigin } from './factors/trusted-origins.ts'
import { isSupported } from './identity-engine.ts'
import { randomCode } from './issued-tokens.ts'
import { actionLink } from './links.ts'
import type { Org, Recovery } from './org.ts'
import { logRecoveryStart } from './own-recovery-log.ts'
import { isTooYoung, passwordPolicyOf } from './password-policy.ts'
import { omitUndefined, present, presentUser } from './present.ts'
import { checkRecoveryAnswer } from './recovery-answer.ts'
import type { RecoveryBody, RecoveryTokenBody } from './schemas.ts'
import { enforceSendLimits } from './send-limits.ts'
import { newChallenge, type Transaction } from './transaction.ts'
import { emailOf, type User } from './user.ts'

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
 * POST /recovery/password and /recovery/unlock. A public app must name a factorType (R2), and gets
 * the same response for known and unknown users. A trusted app gets an error for an unknown user,
 * and without a factorType it gets the recovery token itself.
 */
export function startRecovery(start: Start): Response {
  const { body, client } = start
  const factorType = readFactorType(body.factorType)
  if (factorType === undefined && !client.trusted) throw accessDenied()
  requireTrustedRelayState(start)
  const user = userToRecover(start, factorType)
  if (user !== undefined && start.recoveryType === 'PASSWORD') passwordRecoveryStarted(start, user)
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
  enforceSendLimits(org, CHANNELS[recoveryFactor], challenge.sentAtMs)
  sendRecoveryCode(org, transaction, user)
}

/**
 * POST /recovery/token: redeems the recovery token of an email or of a response to a trusted app,
 * or the activation token of a user without a password. It can be redeemed again until the password
 * is set (R6).
 */
export function redeemRecoveryToken(org: Org, body: RecoveryTokenBody, client: ClientContext): Transaction {
  const { user, recoveryType, relayState } = findRecovery(org, body.recoveryToken)
  const transaction = org.transactions.begin({
    client: withDeviceToken(org, client, body),
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
  checkRecoveryAnswer(org, user, answer)
  completeRecovery(org, transaction, user)
}

/** With an API token, the start is an administrator's reset (R1). */
function passwordRecoveryStarted({ org, client }: Start, user: User): void {
  if (client.trusted && org.settings.tokenRecoveryResets) user.adminStatus = 'RECOVERY'
  logRecoveryStart(org, user, client)
}

function readFactorType(factorType: string | undefined): 'EMAIL' | 'SMS' | 'CALL' | undefined {
  if (factorType === undefined) return undefined
  const upper = factorType.toUpperCase()
  if (upper === 'EMAIL' || upper === 'SMS' || upper === 'CALL') return upper
  throw validationFailed('factorType', [`factorType: ${factorType} is not one of EMAIL, SMS, CALL`])
}

/**
 * The link of `relayState` must lead to a trusted origin (R10). Which error Okta returns is
 * unproven.
 */
function requireTrustedRelayState({ org, body: { relayState }, origin }: Start): void {
  if (relayState === undefined) return
  const target = URL.canParse(relayState) ? new URL(relayState).origin : undefined
  if (!isTrustedOrigin(target, { org, origin, pageOrigin: undefined }))
    throw validationFailed('relayState', ['relayState: The link does not lead to a trusted origin'])
}

/**
 * undefined: no user can be recovered, and the response to a public app must not show it.
 *
 * @throws to a public app, if the org allows nobody to recover through this API; and for social and
 * federated users, which shows that they exist (R11)
 */
function userToRecover(start: Start, factorType: 'EMAIL' | 'SMS' | 'CALL' | undefined): User | undefined {
  const { org, body, client } = start
  const user = org.users.findForRecovery(body.username)
  if (!isSupported(org, 'recovery')) throw recoveryNotAllowed()
  if (user?.config.federated === true) throw FEDERATED_ERRORS[org.settings.federatedRecovery]()
  const error = recoveryError(start, user, factorType)
  if (error === undefined) return user
  if (client.trusted) throw error
  if (user !== undefined && factorType === 'EMAIL') sendDenial(start, user)
  return undefined
}

const FEDERATED_ERRORS = { E0000006: accessDenied, E0000017: passwordResetFailed }

function recoveryError(
  { org, recoveryType }: Start,
  user: User | undefined,
  factorType: string | undefined,
): AuthnError | undefined {
  if (user === undefined) return unknownUser()
  const policy = passwordPolicyOf(org, user)
  const canUnlock = recoveryType === 'UNLOCK' && policy?.selfServiceUnlock !== false
  if (user.lockedOut && !canUnlock) return accountLocked()
  if (recoveryType === 'UNLOCK' && !user.lockedOut) return unlockNotAllowed()
  const isDenied = policy?.selfServiceReset === false || !hasRecoverablePassword(org, user)
  if (recoveryType === 'PASSWORD' && isDenied) return recoveryNotAllowed()
  const byPhone = factorType === 'SMS' || factorType === 'CALL'
  const isAllowed = user.config.recoveryAllowed && (!byPhone || user.recoveryPhone !== undefined)
  return isAllowed ? undefined : recoveryNotAllowed()
}

/** Okta recovers no password of such a user (R4). */
function hasRecoverablePassword(org: Org, user: User): boolean {
  return user.adminStatus === undefined && user.activated && !isTooYoung(org, user)
}

/**
 * The email to a user who cannot recover the password. Nothing is sent by text message or call
 * (R4).
 */
function sendDenial({ org, recoveryType }: Start, user: User): void {
  if (recoveryType === 'UNLOCK' || user.adminStatus === 'DEPROVISIONED') return
  org.outbox.send({
    kind: 'mail',
    login: user.login,
    to: emailOf(user),
    purpose: 'recovery-denied',
    text: 'Forgot Password Denied: your password cannot be reset at the moment. Contact your administrator.',
  })
}

/**
 * The response contains the recovery token and the user's data, and requires only a username: a
 * broker must not pass it on.
 */
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
  enforceSendLimits(org, 'email', undefined)
  const token = newRecoveryToken(org, user, recoveryType, relayState)
  const link = pageWithToken(org.config.signInPage, token)
  org.outbox.send({
    kind: 'mail',
    login: user.login,
    to: emailOf(user),
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

const CHANNELS = { SMS: 'sms', CALL: 'call' } as const

function sendRecoveryCode(org: Org, transaction: Transaction, user: User | undefined): void {
  const { challenge, recoveryFactor } = transaction
  if (challenge === undefined || recoveryFactor === undefined) return
  if (user !== undefined) enforceSendLimits(org, CHANNELS[recoveryFactor], undefined)
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

export function newRecoveryToken(
  org: Org,
  user: User,
  recoveryType: RecoveryType,
  relayState: string | undefined,
): string {
  const token = org.tokens.issueShort()
  org.recoveries.put(token, { user, recoveryType, relayState })
  return token
}

/** @throws E0000011 for an unknown token; the error of `usedLink` for a used or expired one (R7) */
function findRecovery(
  org: Org,
  token: string,
): Omit<Recovery, 'recoveryType'> & { recoveryType: Transaction['recoveryType'] } {
  const recovery = org.recoveries.get(token)
  if (recovery !== undefined) return recovery
  const user = org.activations.get(token)
  if (user !== undefined && user.password === undefined) {
    user.activated = true
    return { user, recoveryType: 'ACCOUNT_ACTIVATION', relayState: undefined }
  }
  const isSpent = org.recoveries.isSpent(token) || org.activations.isSpent(token)
  throw isSpent ? USED_LINK_ERRORS[org.settings.usedLink]() : invalidToken()
}

const USED_LINK_ERRORS = { E0000105: expiredRecoveryLink, E0000110: expiredLink, E0000006: accessDenied }

/** Asks the recovery question if the user has one. */
function askQuestionOrComplete(org: Org, transaction: Transaction, user: User): void {
  const isAsked =
    transaction.recoveryType !== 'ACCOUNT_ACTIVATION' && user.config.recoveryQuestion !== undefined
  if (!isAsked) completeRecovery(org, transaction, user)
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
  org.recoveries.endWhere((recovery) => recovery.user === user && recovery.recoveryType === 'UNLOCK')
  transaction.status = 'SUCCESS'
  org.transactions.end(transaction)
}
