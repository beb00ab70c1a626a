import type { StepEvent } from '../audit/step-events.ts'
import type { Attempt } from '../throttling/attempts.ts'
import type { Enrollment, Proof } from '../transaction/credentials.ts'
import type { AuthnCall } from '../upstream/authn-upstream.ts'
import type { OperationRequest, StateRequest } from './step-request.ts'

/** What every plan has. */
export interface PlanBase {
  /** In metrics and audit events. */
  readonly operation: string
  /** undefined: the step is not counted, because Okta is not called. */
  readonly attempt: Attempt | undefined
  /** undefined: the broker answers by its own record. */
  readonly call: AuthnCall | undefined
  /** The answer or the error is returned no sooner than this after the attempt was counted. */
  readonly minDurationMs: number
  /** Written before the call. */
  readonly events: readonly StepEvent[]
}

/** A step of a sign-in, or of a recovery once its code or token was accepted. */
export interface SignInPlan extends PlanBase {
  readonly kind: 'sign-in'
  readonly call: AuthnCall
  readonly proof: Proof | undefined
  /**
   * As typed, if this step names the user. It stays in the transaction if the credential is
   * accepted.
   */
  readonly login?: string | undefined
  readonly factorType?: string | undefined
  /** The factor in the path. */
  readonly factorId?: string | undefined
  /** The factor that the step sets up. */
  readonly enrollment?: Enrollment | undefined
  /** The path, if the step is a poll. */
  readonly pollPath?: string | undefined
  /** All other sessions of the user end if it is accepted. */
  readonly endsOtherSessions: boolean
  /**
   * This plan, or the next one of the same request. Recorded before anything is sent: the org's
   * event about it then does not end the transaction.
   */
  readonly changesPassword: boolean
  /**
   * Whether the stored record names the user: an earlier plan of the same request may have done so.
   */
  readonly isUserStored: boolean
  /** The request whose credential is sent next, if Okta awaits it. */
  readonly credential?: StateRequest | OperationRequest
}
