import { recoveryNotAvailable, sentRecently, stepNotOffered, tooManyWrongCodes } from '../../errors.ts'
import { recoveryStarted } from '../audit/step-events.ts'
import { carriesApiToken, ENTRY_OPERATIONS } from '../operations.ts'
import type { PlanBase } from '../step/plan.ts'
import { StepRefusedError } from '../step/step-refused.ts'
import type { RecoveryRequest } from '../step/step-request.ts'
import type { Attempt } from '../throttling/attempts.ts'
import type { RecoveryChallenge, RecoveryType, Transaction } from '../transaction/transaction.ts'
import type { AuthnCall } from '../upstream/authn-upstream.ts'

/*
 * Forgotten passwords and locked accounts, without revealing which users exist. The calls carry no
 * API token: Okta would take them for an administrator's (R1), reveal who exists, and even return
 * recovery tokens for a login. Some refusals reveal it without the token too (R11, R12). So the
 * broker makes every answer before a correct code from one template, and returns answers of calls
 * to Okta no sooner than `minDurationMs`. A user whom Okta refuses gets a decoy transaction, in
 * which no code works.
 */

/** A step of a recovery until its code is accepted. */
export type RecoveryPlan = RecoveryStartPlan | ChallengePlan

export interface RecoveryStartPlan extends PlanBase {
  readonly kind: 'recovery-start'
  readonly call: AuthnCall
  readonly recoveryType: RecoveryType
  readonly factorType: 'EMAIL' | 'SMS' | 'CALL'
  /** As typed. */
  readonly login: string
  readonly relayState: string | undefined
  /** Starts before the code is sent. */
  readonly cooldown?: RecoveryCode
}

/**
 * While a recovery code is awaited. A user and a decoy get the same answers, also when Okta fails.
 */
export interface ChallengePlan extends PlanBase {
  readonly kind: 'recovery-state' | 'recovery-verify' | 'recovery-resend' | 'recovery-cancel'
  readonly challenge: RecoveryChallenge
  readonly cooldown?: RecoveryCode
}

/** A code by text message or call. */
export interface RecoveryCode {
  readonly operation: string
  readonly factorType: 'SMS' | 'CALL'
  /** As typed. */
  readonly login: string
}

/** Which browsers may start a recovery: `RECOVERY`. */
export type RecoveryFrom = 'on' | 'known-devices' | 'off'

export interface ChallengeSettings {
  readonly recoveryFrom: RecoveryFrom
  readonly publicOrigin: string
  /** The shortest duration of requests of a recovery for which Okta is called. */
  readonly recoveryAnswerMs: number
  /**
   * Of a challenge, the same for known and unknown users: Okta states its own only for known ones.
   */
  readonly challengeLifetimeMs: number
  readonly resendAfterMs: number
  readonly maxWrongCodes: number
}

const START = {
  PASSWORD: { operation: 'password', at: ENTRY_OPERATIONS.recoverPassword },
  UNLOCK: { operation: 'unlock', at: ENTRY_OPERATIONS.unlockAccount },
} as const

export function planRecovery(
  { recoveryType, body }: RecoveryRequest,
  attempt: Attempt | undefined,
  { recoveryFrom, recoveryAnswerMs }: ChallengeSettings,
): RecoveryStartPlan {
  if (recoveryFrom === 'off') throw new StepRefusedError(recoveryNotAvailable())
  const { username: login, factorType, relayState } = body
  const { operation, at } = START[recoveryType]
  return {
    kind: 'recovery-start',
    operation,
    attempt,
    call: {
      path: at.path,
      body: { username: login, factorType },
      bearsToken: false,
      carriesApiToken: carriesApiToken(at),
    },
    minDurationMs: recoveryAnswerMs,
    recoveryType,
    factorType,
    login,
    relayState,
    ...(factorType === 'EMAIL' ? {} : { cooldown: { operation, factorType, login } }),
    events: [recoveryStarted({ operation, factorType }, login)],
  }
}

/** A request while a recovery code is awaited. */
export interface ChallengeStep {
  readonly operation: string
  readonly path: string
  /** Whether its call to Okta carries the API token. */
  readonly carriesApiToken: boolean
  readonly fields: Readonly<Record<string, unknown>>
  readonly attempt: Attempt
}

/**
 * A step that the broker refuses by its own record is refused at once; every other step that calls
 * Okta takes the minimum duration. A decoy's step goes to the same path with a random token.
 */
export function planChallengeStep(
  { operation, path, carriesApiToken, fields, attempt }: ChallengeStep,
  { stateToken, login = '' }: Transaction,
  challenge: RecoveryChallenge,
  nowMs: number,
  { recoveryAnswerMs, resendAfterMs, maxWrongCodes }: ChallengeSettings,
): ChallengePlan {
  const call = (sent: Readonly<Record<string, unknown>>): AuthnCall => ({
    path,
    body: { stateToken, ...sent },
    bearsToken: true,
    carriesApiToken,
  })
  const plan = { operation, attempt, challenge, minDurationMs: recoveryAnswerMs, events: [] }
  switch (operation) {
    case 'state':
      return { ...plan, kind: 'recovery-state', call: undefined, minDurationMs: 0 }
    case 'recovery_verify':
      if (challenge.wrongCodes >= maxWrongCodes) throw new StepRefusedError(tooManyWrongCodes())
      return { ...plan, kind: 'recovery-verify', call: call(fields) }
    case 'recovery_resend': {
      const { factorType, sentAtMs } = challenge
      const waitMs = sentAtMs + resendAfterMs - nowMs
      if (waitMs > 0) throw new StepRefusedError(sentRecently(factorType, Math.ceil(waitMs / 1000)))
      return { ...plan, kind: 'recovery-resend', call: call({}), cooldown: { operation, factorType, login } }
    }
    case 'cancel':
      return { ...plan, kind: 'recovery-cancel', call: call({}) }
    default:
      throw new StepRefusedError(stepNotOffered())
  }
}
