import type {
  AnswerOf,
  Factor,
  FactorResult,
  SecurityQuestion,
  Session,
  SignInAnswer,
  UnknownStatus,
} from './answers.ts'
import type { PollOptions } from './poll.ts'
import type { Attestation } from './security-keys.ts'
import type {
  Credentials,
  Enrollment,
  NewPassword,
  PasswordChange,
  PhoneNumber,
  Proof,
  ProofOf,
  RecoveryRequest,
  VerifyOptions,
} from './step-inputs.ts'

/**
 * Where a sign-in is. `status` tells which members exist. A member that is optional exists only if
 * the answer offers it. Each move sends one request and resolves with the next step. It rejects
 * with a `GatehouseError`; the step then stays usable, except after 401 `E0000011`.
 */
export type SignInStep =
  | Unauthenticated
  | PasswordWarn
  | PasswordExpired
  | PasswordReset
  | MfaRequired
  | MfaChallenge
  | MfaEnroll
  | MfaEnrollActivate
  | RecoveryChallenge
  | Recovery
  | LockedOut
  | Success
  | UnknownStep

type Next = Promise<SignInStep>

interface Step<Status extends SignInAnswer['status']> {
  readonly status: Status
  /** The whole answer of the broker. */
  readonly answer: AnswerOf<Status>
  /**
   * The handle: `signIn({ stateToken })` loads the step again. Undefined if there is nothing to
   * continue.
   */
  readonly stateToken: string | undefined
  /** Ends the sign-in. Sends nothing if there is nothing to end. */
  cancel(): Promise<void>
  /** Back to the step before. */
  previous?(): Next
}

/** A step-up that needs a password first. */
export interface Unauthenticated extends Step<'UNAUTHENTICATED'> {
  signIn(credentials: Credentials): Next
}

export type PasswordWarn = (ChangeHere | ChangeElsewhere) &
  Step<'PASSWORD_WARN'> & {
    /** Keeps the password. */
    skip?(): Next
  }

export type PasswordExpired = (ChangeHere | ChangeElsewhere) & Step<'PASSWORD_EXPIRED'>

export interface ChangeHere {
  readonly next: 'changePassword'
  changePassword(change: PasswordChange): Next
}

/** Another application manages the password. The user changes it there, and then signs in again. */
export interface ChangeElsewhere {
  readonly next: 'redirect'
  /** Navigate there, after `cancel`. */
  readonly redirectUrl: string
  /** The name of the site, as the org has it. */
  readonly site: string | undefined
}

/** After a recovery or an activation. */
export interface PasswordReset extends Step<'PASSWORD_RESET'> {
  resetPassword(reset: NewPassword): Next
}

export interface MfaRequired extends Step<'MFA_REQUIRED'> {
  /** Empty if the operator hides all the user's factors. */
  readonly factors: readonly Factor[]
  /**
   * Requests a challenge; with the proof, such as the code of an app, verifies the factor at once.
   */
  verify<Chosen extends Factor>(factor: Chosen, proof?: ProofOf<Chosen>, options?: VerifyOptions): Next
  /** Challenges all the user's security keys at once. Exists if the user has several. */
  challengeAllKeys?(options?: VerifyOptions): Next
}

export type MfaChallenge = CodeChallenge | PolledChallenge | RedirectChallenge | HiddenChallenge

interface Challenge extends Step<'MFA_CHALLENGE'> {
  /** Undefined if the operator hides it. */
  readonly factor: Factor | undefined
  /** Why the factor is not verified yet. */
  readonly result: FactorResult | undefined
  /** Sends another code or push. */
  resend?(): Next
  /** Set for the factor type `web`. */
  readonly duo?: Duo
}

/**
 * Waits for a proof. For a push that was rejected or not answered, `verify()` sends another one.
 */
export interface CodeChallenge extends Challenge {
  readonly next: 'verify'
  verify(proof?: Proof, options?: VerifyOptions): Next
}

/** Waits for the user to approve elsewhere. */
export interface PolledChallenge extends Challenge {
  readonly next: 'poll'
  /**
   * The number that the user has to choose on the phone, if Okta requires it. It may appear while
   * polling.
   */
  readonly correctAnswer: number | undefined
  poll(options?: PollOptions): AsyncGenerator<SignInStep, SignInStep, undefined>
}

/**
 * Waits for another identity provider. Keep the handle, `stateToken`, and navigate; resume when the
 * user is back.
 */
export interface RedirectChallenge extends Challenge {
  readonly next: 'redirect'
  readonly redirectUrl: string
}

/** The operator hides the factor: only `previous` and `cancel` are possible. */
export interface HiddenChallenge extends Challenge {
  readonly next: undefined
}

export interface MfaEnroll extends Step<'MFA_ENROLL'> {
  /** Those to set up have the status `NOT_SETUP`. */
  readonly factors: readonly Factor[]
  enroll(factor: Factor, details?: Enrollment, options?: { readonly updatePhone?: boolean }): Next
  /** The security questions to choose from, for the factor type `question`. */
  questions(factor: Factor): Promise<readonly SecurityQuestion[]>
  /** Ends the enrollment. Exists once all required factors are set up. */
  skip?(): Next
}

export type MfaEnrollActivate = CodeActivation | PolledActivation | RedirectActivation | HiddenActivation

interface Activation extends Step<'MFA_ENROLL_ACTIVATE'> {
  /** Undefined if the operator hides it. */
  readonly factor: Factor | undefined
  readonly result: FactorResult | undefined
  /** The URL of the QR code, for an `<img>`. */
  readonly qrCode: string | undefined
  /** Sends another code; with `updatePhone`, to the number in the details. */
  resend?(details?: PhoneNumber, options?: { readonly updatePhone?: boolean }): Next
  /** Shows a new QR code after the old one has expired. */
  restart?(): Next
  /** Sends the activation link of a push factor. */
  sendLink?(by: 'email' | 'sms', details?: PhoneNumber): Next
  readonly duo?: Duo
}

export interface CodeActivation extends Activation {
  readonly next: 'activate'
  activate(proof?: { readonly passCode: string } | Attestation): Next
}

export interface PolledActivation extends Activation {
  readonly next: 'poll'
  poll(options?: PollOptions): AsyncGenerator<SignInStep, SignInStep, undefined>
}

/** As for a `RedirectChallenge`. */
export interface RedirectActivation extends Activation {
  readonly next: 'redirect'
  readonly redirectUrl: string
}

export interface HiddenActivation extends Activation {
  readonly next: undefined
}

/**
 * The same whether or not the account exists. Without `verify`, the link in the email continues the
 * recovery.
 */
export interface RecoveryChallenge extends Step<'RECOVERY_CHALLENGE'> {
  verify?(proof: { readonly passCode: string }): Next
  resend?(): Next
}

export interface Recovery extends Step<'RECOVERY'> {
  answerQuestion(answer: string): Next
}

export interface LockedOut extends Step<'LOCKED_OUT'> {
  unlock?(request: RecoveryRequest): Next
}

/** The user is signed in, unless `unlocked` or `redirectUrl` is set. */
export interface Success extends Step<'SUCCESS'> {
  /**
   * From now on it is this tab's session, as after `session()`. Undefined if none has opened, and
   * from a broker older than this client.
   */
  readonly session: Session | undefined
  /** Navigate there: the app that asked for the step-up. */
  readonly redirectUrl: string | undefined
  /** The account is unlocked; there is no session. */
  readonly unlocked: boolean
}

/**
 * A status that this version does not know. Tell the user that the sign-in cannot continue on this
 * page.
 */
export interface UnknownStep extends Step<UnknownStatus> {}

/** Duo's frame. */
export interface Duo {
  readonly host: string
  readonly signature: string
  /** @param sigResponse from Duo's frame. Continue with `poll`. */
  complete(sigResponse: string): Promise<void>
}
