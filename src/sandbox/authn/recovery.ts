import {
  accountLocked,
  factorLocked,
  invalidToken,
  recoveryNotAllowed,
  unknownPerson,
  unlockNotAllowed,
  validationFailed,
  wrongAnswer,
  wrongCode,
} from './authn-error.ts'
import type { RecoveryBody, RecoveryTokenBody } from './bodies.ts'
import type { Caller } from './caller.ts'
import { sameAnswer } from './factors/question-factor.ts'
import { refuseTooSoon } from './factors/sent-code-factors.ts'
import { randomCode } from './issued-tokens.ts'
import { action } from './links.ts'
import type { Person } from './person.ts'
import { compact, present, presentUser } from './present.ts'
import { newChallenge, type Transaction } from './transaction.ts'
import type { World } from './world.ts'

type RecoveryType = 'PASSWORD' | 'UNLOCK'
type Start = {
  world: World
  body: RecoveryBody
  caller: Caller
  origin: string
  recoveryType: RecoveryType
}
type Answer = Record<string, unknown>

/**
 * POST /recovery/password and /recovery/unlock. A public app learns nothing about who exists: nobody
 * gets the same answer as somebody. A trusted app learns it, and without a factorType it even gets the
 * recovery token itself.
 */
export function startRecovery(start: Start): Answer {
  const { body, caller } = start
  const factorType = readFactorType(body.factorType)
  if (factorType === undefined && !caller.trusted)
    throw validationFailed('factorType', ['factorType: The field cannot be left blank'])
  const person = personToRecover(start, factorType)
  switch (factorType) {
    case undefined:
      return handOver(start, person)
    case 'EMAIL':
      return startByMail(start, person)
    default:
      return startByPhone(start, person, factorType)
  }
}

/** POST /recovery/factors/{SMS|CALL}/verify */
export function verifyRecovery(world: World, transaction: Transaction, passCode: string): void {
  if (transaction.wrongRecoveryCodes >= world.config.limits.wrongCodes) throw factorLocked()
  const { person, challenge } = transaction
  if (person === undefined || challenge?.code === undefined || challenge.code !== passCode) {
    transaction.wrongRecoveryCodes += 1
    throw wrongCode("Your token doesn't match our records. Please try again.")
  }
  askOrGoOn(world, transaction, person)
}

/** POST /recovery/factors/{SMS|CALL}/resend */
export function resendRecovery(world: World, transaction: Transaction): void {
  const { person, challenge, recoveryFactor } = transaction
  if (challenge === undefined || recoveryFactor === undefined) return
  refuseTooSoon(world, recoveryFactor === 'SMS' ? 'sms' : 'call', challenge)
  sendRecoveryCode(world, transaction, person)
}

/** POST /recovery/token: a recovery token, of a mail or of the trusted app's answer; one use. */
export function redeemRecoveryToken(world: World, body: RecoveryTokenBody, caller: Caller): Transaction {
  const recovery = world.recoveries.take(body.recoveryToken)
  if (recovery === undefined) throw invalidToken()
  const { person, recoveryType, relayState } = recovery
  const transaction = world.transactions.begin({
    caller,
    person,
    recoveryType,
    relayState,
    multiOptionalFactorEnroll: body.options?.multiOptionalFactorEnroll ?? false,
  })
  askOrGoOn(world, transaction, person)
  return transaction
}

/** POST /recovery/answer */
export function answerQuestion(world: World, transaction: Transaction, person: Person, answer: string): void {
  if (!sameAnswer(answer, person.config.recoveryQuestion?.answer)) throw wrongAnswer()
  goOn(world, transaction, person)
}

function readFactorType(factorType: string | undefined): 'EMAIL' | 'SMS' | 'CALL' | undefined {
  if (factorType === undefined) return undefined
  const upper = factorType.toUpperCase()
  if (upper === 'EMAIL' || upper === 'SMS' || upper === 'CALL') return upper
  throw validationFailed('factorType', [`factorType: ${factorType} is not one of EMAIL, SMS, CALL`])
}

/** undefined: nobody can be recovered, and a public app must not notice. */
function personToRecover(
  { world, body, caller, recoveryType }: Start,
  factorType: 'EMAIL' | 'SMS' | 'CALL' | undefined,
): Person | undefined {
  const person = world.people.named(body.username)
  const refusal = refusalFor(world, person, recoveryType, factorType)
  if (refusal === undefined) return person
  if (caller.trusted) throw refusal
  return undefined
}

function refusalFor(
  world: World,
  person: Person | undefined,
  recoveryType: RecoveryType,
  factorType: string | undefined,
) {
  if (person === undefined) return unknownPerson()
  const policy = world.config.passwordPolicies[person.config.passwordPolicy]
  if (person.lockedOut && policy?.selfServiceUnlock === false) return accountLocked()
  if (recoveryType === 'UNLOCK' && !person.lockedOut) return unlockNotAllowed()
  const byPhone = factorType === 'SMS' || factorType === 'CALL'
  const possible = person.config.recoveryAllowed && (!byPhone || person.recoveryPhone !== undefined)
  return possible ? undefined : recoveryNotAllowed()
}

/** The trap: the recovery token and the person's data, for nothing but a name. */
function handOver({ world, body, origin, recoveryType }: Start, person: Person | undefined): Answer {
  if (person === undefined) throw unknownPerson()
  return compact({
    expiresAt: new Date(world.now() + world.config.lifetimes.recoveryTokenMinutes * 60_000).toISOString(),
    status: 'RECOVERY',
    relayState: body.relayState,
    recoveryToken: newRecoveryToken(world, person, recoveryType, body.relayState),
    recoveryType,
    _embedded: { user: presentUser(person) },
    _links: {
      next: action(origin, '/api/v1/authn/recovery/token', 'POST', 'recovery'),
      cancel: action(origin, '/api/v1/authn/cancel'),
    },
  })
}

function startByMail({ world, body, origin, recoveryType }: Start, person: Person | undefined): Answer {
  if (person !== undefined) {
    const token = newRecoveryToken(world, person, recoveryType, body.relayState)
    const link = `${origin}/signin/${recoveryType === 'PASSWORD' ? 'reset-password' : 'unlock'}/${token}`
    world.outbox.send({
      kind: 'mail',
      login: person.login,
      to: person.login,
      purpose: 'recovery',
      text: `Open this link to get back into your account: ${link}`,
      link,
      token,
    })
  }
  return compact({
    status: 'RECOVERY_CHALLENGE',
    relayState: body.relayState,
    factorResult: 'WAITING',
    factorType: 'EMAIL',
    recoveryType,
  })
}

function startByPhone(
  { world, body, caller, origin, recoveryType }: Start,
  person: Person | undefined,
  recoveryFactor: 'SMS' | 'CALL',
): Answer {
  const transaction = world.transactions.begin({
    caller,
    person,
    status: 'RECOVERY_CHALLENGE',
    recoveryType,
    recoveryFactor,
    relayState: body.relayState,
    challenge: newChallenge(),
  })
  sendRecoveryCode(world, transaction, person)
  return present({ world, transaction, origin })
}

function sendRecoveryCode(world: World, transaction: Transaction, person: Person | undefined): void {
  const { challenge, recoveryFactor } = transaction
  if (challenge === undefined) return
  challenge.sentAtMs = world.now()
  if (person === undefined) return
  const code = randomCode(world.random)
  challenge.code = code
  world.outbox.send({
    kind: recoveryFactor === 'CALL' ? 'call' : 'sms',
    login: person.login,
    to: person.recoveryPhone ?? '',
    purpose: 'recovery',
    text: `Your recovery code is ${code}.`,
    code,
  })
}

function newRecoveryToken(
  world: World,
  person: Person,
  recoveryType: RecoveryType,
  relayState: string | undefined,
): string {
  const token = world.tokens.short()
  world.recoveries.put(token, { person, recoveryType, relayState })
  return token
}

/** Asks the recovery question, where the person has one. */
function askOrGoOn(world: World, transaction: Transaction, person: Person): void {
  if (person.config.recoveryQuestion === undefined) goOn(world, transaction, person)
  else transaction.status = 'RECOVERY'
}

/** A new password; or, for an unlock, the end: no session token, the person signs in afterwards. */
function goOn(world: World, transaction: Transaction, person: Person): void {
  if (transaction.recoveryType !== 'UNLOCK') {
    transaction.status = 'PASSWORD_RESET'
    return
  }
  person.lockedOut = false
  person.wrongPasswords = 0
  transaction.status = 'SUCCESS'
  world.transactions.end(transaction)
}
