/**
 * The types that portal developers import. They refer to no other file, so that a consumer needs no
 * other types.
 */

export interface SandboxOptions {
  /** Replaces the users of the configuration. Default: the users in docs/sandbox.md. */
  readonly people?: readonly Person[]
  /**
   * PAM groups, in addition to those of the configuration: name → roles of PAM, such as `{
   * Auditors: ['end_user'] }`.
   */
  readonly groups?: Readonly<Record<string, readonly string[]>>
  /**
   * The port of the broker or, without a broker, of the Authentication API. Default: 0, a free
   * port.
   */
  readonly port?: number
  /** A complete configuration, such as a changed copy of sandbox/sandbox.json. */
  readonly configFile?: string
  /** The receiver of the org's events. Default: the broker, if there is one. */
  readonly eventHook?: EventHookOptions
}

export interface EventHookOptions {
  readonly url: string
  /** The value of the header `Authorization`. */
  readonly secret: string
}

export interface BrokerOptions {
  /** The portal's origin, if its server passes `/api` on to `brokerUrl`. Default: `brokerUrl`. */
  readonly publicUrl?: string
  /** The sign-in page, to which recovery emails lead. Default: the root of `publicUrl`. */
  readonly signInUrl?: string
  /** Other origins whose pages call `brokerUrl` directly, such as `http://localhost:5173`. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Further variables of Gatehouse (docs/configuration.md), such as `{ SESSION_IDLE_MINUTES: '5'
   * }`.
   */
  readonly env?: Readonly<Record<string, string>>
  /** Gets each log line (JSON). Default: no log. */
  readonly onLog?: (line: string) => void
}

/**
 * Only `login` is required. A person with factors must use one at each sign-in, unless
 * `signOnPolicy` says otherwise.
 */
export interface Person {
  readonly login: string
  /** Missing: the person has no password yet. */
  readonly password?: string
  /** Default: made from the login. */
  readonly firstName?: string
  readonly lastName?: string
  readonly factors?: readonly (FactorName | FactorDetails)[]
  /** Names of PAM groups. Default: none. null: the PAM API does not know this person. */
  readonly groups?: readonly string[] | null
  readonly description?: string
  readonly locale?: string
  readonly timeZone?: string
  /** A recovery finds the person by these addresses too. Default of `email`: the login. */
  readonly email?: string
  readonly secondaryEmail?: string
  /** ISO 8601, in UTC. */
  readonly passwordChanged?: string
  /** Instead of `passwordChanged`: before the sandbox's start or reset. */
  readonly passwordChangedMinutesAgo?: number
  readonly passwordExpired?: boolean
  /**
   * Okta finds the password in a list of breached ones: at a sign-in, it expires, and the sessions
   * end.
   */
  readonly passwordBreached?: boolean
  readonly passwordExpiresInDays?: number
  /** The password is a temporary one that has expired: the sign-in is 401 E0000064. */
  readonly temporaryPasswordExpired?: boolean
  /** The person lives in Active Directory, whose agent checks the password. */
  readonly activeDirectory?: { readonly mayChangePassword?: boolean }
  readonly lockedOut?: boolean
  /** The person must first sign in with an activation token (`control.activationToken`). */
  readonly activation?: boolean
  /**
   * No administrator has activated the person yet, who can neither sign in nor recover a password.
   */
  readonly staged?: boolean
  /** Another identity provider has the password: this API refuses the person. */
  readonly federated?: boolean
  readonly recoveryAllowed?: boolean
  readonly recoveryPhone?: string
  readonly recoveryQuestion?: { readonly question: string; readonly answer: string }
  /** Default: `default`. */
  readonly passwordPolicy?: PasswordPolicyName | OtherName
  /** Default: `always` with factors, else `password-only`. null: none is assigned. */
  readonly signOnPolicy?: SignOnPolicyName | OtherName | null
  /** What the person may or must set up. Default: `everything`. null: nothing. */
  readonly enrollmentPolicy?: EnrollmentPolicyName | OtherName | null
}

/** Of `sandbox/sandbox.json`; docs/sandbox.md says what each does. */
export type SignOnPolicyName =
  | 'password-only'
  | 'always'
  | 'remember-device'
  | 'per-session'
  | 'new-device'
  | 'office'
  | 'denied'
export type PasswordPolicyName = 'default' | 'lockout-shown' | 'minimum-age' | 'no-self-service-unlock'
export type EnrollmentPolicyName =
  | 'everything'
  | 'app-required'
  | 'duo'
  | 'password-factor'
  | 'identity-provider'
/** A policy of `configFile`. Editors still offer the names beside it. */
export type OtherName = string & {}

/** `question`: the answer is `lighthouse`. `push-number`: a push with number matching. */
export type FactorName = 'totp' | 'push' | 'push-number' | 'sms' | 'call' | 'email' | 'question' | 'webauthn'

/** A factor as in sandbox/sandbox.json. */
export interface FactorDetails {
  /** As in Okta's API, such as `token:software:totp`. */
  readonly type: string
  readonly provider?: string
  /** Base32. */
  readonly secret?: string
  readonly credentialId?: string
  readonly phoneNumber?: string
  readonly email?: string
  readonly question?: string
  readonly answer?: string
  readonly authenticatorName?: string
  readonly key?: string
  readonly vendorName?: string
  /** Push: the phone answers with `answers` after this many polls. */
  readonly answersAfterPolls?: number
  readonly answers?: 'approve' | 'reject' | 'cancel' | 'error'
  readonly timeoutAfterPolls?: number
  readonly numberChallenge?: boolean
}

export interface Sandbox {
  readonly authnUrl: string
  readonly pamUrl: string
  readonly control: SandboxControl
  /** Closes all listeners and connections. */
  stop(): Promise<void>
}

export interface SandboxWithBroker extends Sandbox {
  readonly brokerUrl: string
}

/** A login may be the part before the `@`. Every method throws for an unknown login. */
export interface SandboxControl {
  /**
   * Replaces all fault rules: these requests of the broker, or deliveries of events, fail. `{}`
   * removes them.
   */
  setFaults(rules: {
    readonly authn?: readonly FaultRule[]
    readonly pam?: readonly FaultRule[]
    readonly events?: readonly DeliveryFaultRule[]
  }): void
  /** Ends all sign-ins that are not complete, as Okta does after 30 minutes. */
  expireTransactions(): void
  /**
   * Sets the clock of sandbox and broker forward: codes, transactions and sessions expire. Timers
   * are not affected.
   */
  advanceTime(ms: number): void
  /** Waits for a push and answers it. With number matching, only the correct number approves it. */
  answerPush(login: string, answer: 'approve' | 'reject' | number, options?: WaitOptions): Promise<void>
  /** Waits for a push. The numbers to choose from; empty without number matching. */
  pushNumbers(login: string, options?: WaitOptions): Promise<readonly number[]>
  /**
   * A code that the authenticator app or hardware token shows now and that is not used yet, during
   * an enrollment too.
   */
  totpCode(login: string): string
  /**
   * The person's security key (factor `webauthn`), or the one with this `credentialId`. A person
   * without a key gets one that can be set up in a sign-in.
   */
  securityKey(login: string, credentialId?: string): SecurityKey
  /** Waits for the oldest email, text message or call that this method has not yet returned. */
  nextMessage(login: string, options?: WaitOptions & { readonly kind?: Message['kind'] }): Promise<Message>
  /** All messages since the last reset, oldest first. */
  messages(login: string): readonly Message[]
  /** A new token, for a person with `activation`. */
  activationToken(login: string): string
  /**
   * Suspends an active person, as an administrator does. Like the methods below, it resolves when
   * the receiver of the event has answered (with a broker: the person's sessions have ended). It
   * rejects if the person's status does not allow it, or if the receiver did not take the event:
   * the message has the status, and the person is changed.
   */
  suspend(login: string): Promise<void>
  /** Makes a suspended person active again. */
  unsuspend(login: string): Promise<void>
  /** For good: only `reset` restores the person. */
  deactivate(login: string): Promise<void>
  /**
   * The person cannot sign in until a new password is set with the recovery email that this sends.
   */
  resetPassword(login: string): Promise<void>
  /** Removes all factors. */
  resetFactors(login: string): Promise<void>
  /** Ends the person's sessions. */
  clearSessions(login: string): Promise<void>
  /** The calls of the receiver of events since the last reset, oldest first. */
  eventHookCalls(): readonly EventHookCall[]
  /** Restores people, clock, faults and messages, and ends all sessions. For use between tests. */
  reset(): Promise<void>
}

/** A security key in software, without a browser (`sign`) or in one (`privateKey`). */
export interface SecurityKey {
  /** base64url. */
  readonly credentialId: string
  /** PKCS #8 in base64, for `WebAuthn.addCredential` of Chromium's DevTools protocol. */
  readonly privateKey: string
  /** The proof for `verify`. `challenge` is that of the factor (`_embedded.challenge`). */
  sign(challenge: string, page: KeyPage): Record<'clientData' | 'authenticatorData' | 'signatureData', string>
  /** The proof for `activate`. `challenge` is that of the factor (`_embedded.activation`). */
  register(challenge: string, page: KeyPage): Record<'clientData' | 'attestation', string>
}

/** The page on which a key is used. */
export interface KeyPage {
  readonly origin: string
  /** The relying party id. Default: the host of the origin. */
  readonly rpId?: string
}

export interface WaitOptions {
  /** Default: 5000. Afterwards the promise rejects. */
  readonly timeoutMs?: number
}

export interface Message {
  readonly kind: 'mail' | 'sms' | 'call'
  readonly to: string
  readonly purpose:
    | 'factor-code'
    | 'factor-activation'
    | 'recovery'
    /** "Forgot Password Denied": the person cannot recover the password. */
    | 'recovery-denied'
    | 'new-device'
    | 'push-activation'
  readonly text: string
  readonly code?: string
  readonly link?: string
  /** The recovery or activation token in the link. */
  readonly token?: string
}

/** A delivery of an event, or the verification of the receiver. */
export interface EventHookCall {
  /** Such as `user.lifecycle.suspend`. Undefined: a verification. */
  readonly eventType: string | undefined
  /** One for each attempt: a status, or why there is no response. */
  readonly answers: readonly (number | 'timeout' | 'no connection')[]
}

/**
 * Applies to at most `times` events. `out-of-order`: the event is delivered after the next one.
 * `silence`: it is not delivered.
 */
export type DeliveryFaultRule =
  | { readonly kind: 'late'; readonly ms: number; readonly times?: number }
  | { readonly kind: 'twice' | 'out-of-order' | 'wrong-secret' | 'silence'; readonly times?: number }

/**
 * Applies to requests with this path prefix and method, at most `times` times. Missing fields match
 * all requests.
 */
export type FaultRule = {
  readonly path?: string
  readonly method?: string
  readonly times?: number
} & (
  | { readonly kind: 'delay'; readonly ms: number }
  | ({ readonly kind: 'status'; readonly status: number } & CustomResponse)
  | ({ readonly kind: 'rate-limited'; readonly retrySeconds?: number } & CustomResponse)
  | ({ readonly kind: 'error-rate'; readonly share: number; readonly status?: number } & CustomResponse)
  | { readonly kind: 'html'; readonly status?: number }
  | { readonly kind: 'cut' }
  | { readonly kind: 'half' | 'wrong-type'; readonly body?: unknown }
  | { readonly kind: 'wrong-length'; readonly body?: unknown; readonly extraBytes?: number }
  | { readonly kind: 'huge'; readonly bytes: number }
  | { readonly kind: 'drip'; readonly everyMs: number; readonly body?: unknown }
)

export interface CustomResponse {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | string[]>>
}
