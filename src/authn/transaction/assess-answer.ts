import type { Answer, AnsweredUser } from './answer.ts'
import { acceptedProof, type Proof } from './credentials.ts'
import type { Transaction } from './transaction.ts'

/** An answer without an error, and what it shows together with what was shown before. */
export interface Assessment {
  readonly answer: Answer
  /** The proof that Okta has accepted. */
  readonly accepted: Proof | undefined
  /** The user for whom a session opens. */
  readonly opensFor: AnsweredUser | undefined
  /**
   * The browser's user may not have begun the sign-in, so it must not replace another user's
   * session (docs/security.md#sessions).
   */
  readonly mayBePlanted: boolean
}

/**
 * Tells what must be read (`readFacts`), and what follows (`decide`). Pure.
 *
 * @param isOfUser whether the user in the answer is the one of `proof.ofLogin`
 */
export function assessAnswer(
  proof: Proof | undefined,
  before: Transaction,
  answer: Answer,
  isOfUser: boolean,
): Assessment {
  const accepted = acceptedProof(proof, answer, isOfUser)
  const credentialAccepted = before.credentialAccepted || accepted !== undefined
  const userProved = before.userProved || accepted?.provesUser === true
  return {
    answer,
    accepted,
    opensFor: opensSession(answer, credentialAccepted) ? answer.user : undefined,
    mayBePlanted: before.origin === 'imported' || !userProved,
  }
}

/**
 * A session opens only on SUCCESS with a user, and either a session token or type SESSION_STEP_UP,
 * and only if Okta accepted a credential in this transaction. An imported token alone never opens a
 * session.
 */
export function opensSession(
  { status, user, sessionToken, type }: Answer,
  credentialAccepted: boolean,
): boolean {
  const isSignIn = sessionToken !== undefined || type === 'SESSION_STEP_UP'
  return status === 'SUCCESS' && user !== undefined && isSignIn && credentialAccepted
}
