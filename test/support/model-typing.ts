import { nextTotpCode } from '../../src/sandbox/authn/factors/otp.ts'
import { nextFactorCode } from '../../src/sandbox/authn/factors/otp-factors.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { JsonObject } from './browser.ts'
import type { Random } from './model-random.ts'
import { valueAt } from './transaction-view.ts'

/** The part of a transaction that the user sees. */
export interface Seen {
  readonly login: string | undefined
  readonly status: string
  readonly answer: JsonObject
}

export interface Typing {
  readonly sandbox: Sandbox
  readonly random: Random
  readonly now: () => number
  /** The page's origin, which security keys sign. */
  readonly origin: string
  /** The factor type to enroll if it is offered, else any other one. */
  readonly preferredFactor: string | undefined
}

const RECOVERY_ANSWER = 'gatehouse'
const WRONG_CODE = '000001'

/** The body of a step, correct or incorrect. `path` tells which factor it is for. */
export function typed(
  name: string,
  path: string,
  seen: Seen,
  isRight: boolean,
  { sandbox, random, now, origin, preferredFactor }: Typing,
): JsonObject {
  const { login, answer } = seen
  const person = login === undefined ? undefined : sandbox.users().find((one) => one.login === login)
  const at = (place: string) => String(valueAt(answer, place) ?? '')
  const factorId = /\/factors\/([^/]+)/.exec(path)?.[1]
  const factor = person?.factors.find(({ id }) => id === factorId)

  /** The correct text, or the wrong one if there is none. */
  const orWrong = (right: string | undefined, wrong: string) =>
    isRight && right !== undefined ? right : wrong
  const latest = (purpose: 'factor-code' | 'factor-activation' | 'recovery') =>
    sandbox.outbox.messages.findLast(
      (one) => one.login === login && one.purpose === purpose && one.code !== undefined,
    )?.code
  const answerPush = () => {
    if (login !== undefined && sandbox.hasPendingPush(login))
      sandbox.answerPush(login, isRight ? 'approve' : random.pick(['reject', 'cancel', 'error'] as const))
  }

  const verify = (): JsonObject => {
    const isChallenged = at('_embedded.factor.id') === factorId
    switch (factor?.factorType) {
      case 'question':
        return { answer: orWrong(factor.config.answer, 'another answer') }
      case 'token:software:totp':
      case 'token':
      case 'token:hardware':
      case 'token:hotp':
        return { passCode: orWrong(nextFactorCode(factor, now()), WRONG_CODE) }
      case 'sms':
      case 'call':
      case 'email':
        return isChallenged ? { passCode: orWrong(latest('factor-code'), WRONG_CODE) } : {}
      case 'push':
        if (isChallenged && random.chance(0.7)) answerPush()
        return {}
      case 'webauthn':
        return isChallenged
          ? key(isRight).signWebauthn(at('_embedded.factor._embedded.challenge.challenge'), origin)
          : {}
      case 'u2f':
        return isChallenged
          ? key(isRight).signU2f(at('_embedded.factor._embedded.challenge.nonce'), origin)
          : {}
      default:
        return {}
    }
  }

  const activate = (): JsonObject => {
    switch (at('_embedded.factor.factorType')) {
      case 'push':
        if (random.chance(0.7)) answerPush()
        return {}
      case 'webauthn':
        return key(isRight).registerWebauthn(at('_embedded.factor._embedded.activation.challenge'), origin)
      case 'u2f':
        return key(isRight).registerU2f(at('_embedded.factor._embedded.activation.nonce'), origin)
      case 'token:software:totp': {
        const secret = at('_embedded.factor._embedded.activation.sharedSecret')
        return { passCode: orWrong(nextTotpCode({ secret, nowMs: now() }), WRONG_CODE) }
      }
      default:
        return { passCode: orWrong(latest('factor-activation'), WRONG_CODE) }
    }
  }

  const enroll = (): JsonObject => {
    const offered = valueAt(answer, '_embedded.factors')
    const open = (Array.isArray(offered) ? offered : []).filter(
      (one: JsonObject) => valueAt(one, '_links.enroll') !== undefined,
    )
    const preferred = open.find(({ factorType: type }: JsonObject) => type === preferredFactor)
    const { factorType = 'sms', provider = 'OKTA' }: JsonObject = preferred ?? random.pickOne(open) ?? {}
    const body = { factorType, provider }
    switch (factorType) {
      case 'question':
        return { ...body, profile: { question: 'favorite_dish', answer: isRight ? 'lighthouse soup' : 'x' } }
      case 'sms':
      case 'call':
        return { ...body, profile: { phoneNumber: isRight ? '+15550109999' : 'no number' } }
      case 'token':
      case 'token:hardware': {
        const credentialId = `SN-${now()}`
        return {
          ...body,
          profile: { credentialId },
          passCode: isRight ? sandbox.tokenCode(credentialId) : WRONG_CODE,
        }
      }
      default:
        return isRight ? body : { ...body, provider: 'NOBODY' }
    }
  }

  const newPassword = isRight ? `Fresh-Word-${now()}` : 'weak'
  const revokes = random.chance(0.3) ? { revokeSessions: true } : {}
  const key = (own: boolean) => sandbox.authenticator(own ? (login ?? '') : 'tomas.berg')

  switch (name) {
    case 'primary':
      return { username: 'amelia.stone', password: orWrong('Demo-Password-1', 'wrong-password') }
    case 'change_password':
      return { oldPassword: orWrong(person?.password, 'wrong-password'), newPassword, ...revokes }
    case 'reset_password':
      return { newPassword, ...revokes }
    case 'recovery_answer':
      return { answer: isRight ? RECOVERY_ANSWER : 'another answer' }
    case 'recovery_verify':
      return { passCode: orWrong(latest('recovery'), WRONG_CODE) }
    case 'enroll':
      return enroll()
    case 'verify':
      return verify()
    case 'activate':
      return activate()
    case 'activate_sms':
      return isRight ? { profile: { phoneNumber: '+15550109999' } } : {}
    default:
      return {}
  }
}
