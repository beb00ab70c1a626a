import { createAnswer, type StepAnswer } from '../transaction/step-outcome.ts'
import type { OfferedStep, RecoveryChallenge, RecoveryType, Transaction } from '../transaction/transaction.ts'

/**
 * The template of all answers while a recovery code is awaited. Known and unknown users get the
 * same fields in the same order. Nothing is copied from Okta's answer.
 */
export function challengeAnswer(
  { expiresAtMs, relayState, recovery }: Transaction,
  handle: string,
  publicOrigin: string,
): StepAnswer {
  if (recovery === undefined) throw new Error('the transaction has no recovery challenge')
  const { factorType, recoveryType } = recovery
  const post = (path: string) => ({ href: publicOrigin + path, hints: { allow: ['POST'] } })
  const body = {
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
  return createAnswer(JSON.stringify(body))
}

/** As Okta spells them in recorded answers. */
const SPELLING = { SMS: 'SMS', CALL: 'call' } as const

/** With email, the recovery continues through the link in the message. */
export function emailAnswer(recoveryType: RecoveryType, relayState: string | undefined): StepAnswer {
  const body = {
    status: 'RECOVERY_CHALLENGE',
    ...(relayState === undefined ? {} : { relayState }),
    factorResult: 'WAITING',
    factorType: 'EMAIL',
    recoveryType,
  }
  return createAnswer(JSON.stringify(body))
}

export function cancelAnswer({ relayState }: Pick<Transaction, 'relayState'>): StepAnswer {
  return createAnswer(JSON.stringify(relayState === undefined ? {} : { relayState }))
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
