import type { OfferedStep } from '../transaction/offered-steps.ts'
import type { StepAnswer } from '../transaction/step-outcome.ts'
import type { RecoveryChallenge, Transaction } from '../transaction/transaction.ts'

/**
 * The one template of what is answered while a recovery code is awaited (shapes: field notes). Known and unknown
 * people get the same fields in the same order; nothing of the upstream's own answer is copied.
 */
export function challengeBody(
  { factorType, recoveryType, relayState }: RecoveryChallenge,
  { handle, publicOrigin, expiresAtMs }: { handle: string; publicOrigin: string; expiresAtMs: number },
): object {
  const post = (path: string) => ({ href: publicOrigin + path, hints: { allow: ['POST'] } })
  return {
    stateToken: handle,
    expiresAt: new Date(expiresAtMs).toISOString(),
    status: 'RECOVERY_CHALLENGE',
    ...(relayState === undefined ? {} : { relayState }),
    factorType: SPELLING[factorType],
    recoveryType,
    _links: {
      next: { name: 'verify', ...post(verifyPath(factorType)) },
      cancel: post(CANCEL),
      resend: { name: factorType === 'SMS' ? 'sms' : 'call', ...post(resendPath(factorType)) },
    },
  }
}

/** Okta writes `SMS` in capitals and `call` in small letters, as recordings of its answers show. */
const SPELLING = { SMS: 'SMS', CALL: 'call' } as const

/** By mail there is nothing to go on with here: the link in the mail leads on. */
export function mailBody(
  recoveryType: RecoveryChallenge['recoveryType'],
  relayState: string | undefined,
): object {
  return {
    status: 'RECOVERY_CHALLENGE',
    ...(relayState === undefined ? {} : { relayState }),
    factorResult: 'WAITING',
    factorType: 'EMAIL',
    recoveryType,
  }
}

export function challengeSteps(factorType: RecoveryChallenge['factorType']): OfferedStep[] {
  return [verifyPath(factorType), resendPath(factorType), CANCEL].map((path) => ({
    path,
    query: '',
    methods: ['POST'],
  }))
}

const CANCEL = '/api/v1/authn/cancel'
const verifyPath = (factorType: string) => `/api/v1/authn/recovery/factors/${factorType}/verify`
const resendPath = (factorType: string) => `/api/v1/authn/recovery/factors/${factorType}/resend`

export function presentChallenge(
  { expiresAtMs }: Transaction,
  challenge: RecoveryChallenge,
  handle: string,
  publicOrigin: string,
): StepAnswer {
  return answerOf(challengeBody(challenge, { handle, publicOrigin, expiresAtMs }))
}

export function answerOf(body: object): StepAnswer {
  return {
    kind: 'answer',
    status: 200,
    body: JSON.stringify(body),
    headers: {},
    errorCode: undefined,
    sessionId: undefined,
  }
}
