import { unknownHandle } from '../../errors.ts'
import type { IdentifiedSession } from '../../session/session.ts'
import type { StepEvent } from '../audit/step-events.ts'
import type { AttemptResult } from '../throttling/attempt-result.ts'
import type { Assessment } from '../transaction/assess-answer.ts'
import { type StepOutcome, toRefusal } from '../transaction/step-outcome.ts'
import type { OfferedStep, Transaction } from '../transaction/transaction.ts'
import type { SignInPlan } from './plan.ts'

/** What follows from an answer. Plain data. */
export interface Decision {
  /** The answer for the browser. */
  readonly outcome: StepOutcome
  /** The transaction afterwards; `before` itself if nothing changed; undefined if it is over. */
  readonly after: Transaction | undefined
  /** What decides whether the attempt stays counted. */
  readonly attempt: AttemptResult
  readonly opens?: OpenedSession | undefined
  /** All other sessions of this user end, even if the answer is refused. */
  readonly endsOthersOf?: { readonly userId: string; readonly login: string | undefined } | undefined
  /**
   * Refused, and undone, if all sessions of the user ended since then: no stored record named the
   * user, so the transaction could not be ended.
   */
  readonly unlessEnded?: { readonly userId: string; readonly sinceMs: number } | undefined
  /** Links to store, so that the browser can GET them. */
  readonly offers?: readonly OfferedStep[]
  readonly events: readonly StepEvent[]
  /** Sent next, instead of an answer to the browser. */
  readonly next?: SignInPlan
}

/** A session that a sign-in opens, and what is written with it. */
export interface OpenedSession {
  /** The id in the cookie. */
  readonly id: string
  readonly publicId: string
  readonly userId: string
  readonly login: string
  /** Sanitized, so that the session contains no token. */
  readonly profile: Readonly<Record<string, unknown>>
  readonly amr: readonly string[]
  readonly openedAtMs: number
  /** As typed, and as Okta writes it: the device becomes known for each. */
  readonly logins: readonly string[]
  /** The browser's token, and Okta's. */
  readonly ssoToken?: { readonly handle: string; readonly sessionToken: string } | undefined
  /** Whether it may replace another user's session in this browser. */
  readonly mayReplaceOtherUser: boolean
}

/** What the rules need besides the answer: read, or made up, after it. */
export interface Facts {
  readonly handle: string
  /** Okta's answer for the browser. undefined: it is not shown. */
  readonly shown?: { readonly text: string; readonly offered: readonly OfferedStep[] } | undefined
  /** undefined: Okta answered with an error, or is not asked for a sign-in. */
  readonly assessment?: Assessment | undefined
  /** This browser's session, if the answer may open or replace one. */
  readonly session?: IdentifiedSession | undefined
  /** For a session that the answer opens. */
  readonly ids?: { readonly session: string; readonly public: string; readonly ssoToken: string | undefined }
  /** For a decoy. */
  readonly randomStateToken?: string
}

/** The answer if all sessions of the user ended meanwhile: 401 E0000011. */
export const SIGNED_OUT = toRefusal(unknownHandle())

/** The decision if all sessions of the user ended before anything of it was written. */
export function signedOut(decision: Decision): Decision {
  const { next: _next, unlessEnded: _unless, opens: _opens, ...rest } = decision
  return { ...rest, outcome: SIGNED_OUT, after: undefined }
}
