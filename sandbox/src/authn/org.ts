import type { EventHook } from '../event-hook.ts'
import type { ManagedObjects } from '../management/managed-objects.ts'
import type { OrgEvent } from '../org-events.ts'
import type { Outbox } from '../outbox.ts'
import type { SandboxConfig } from '../sandbox-config.ts'
import type { SendLimit } from './authn-error.ts'
import type { ClientContext } from './client-context.ts'
import type { IssuedTokens, RandomBytes } from './issued-tokens.ts'
import type { RateLimit } from './rate-limit.ts'
import type { TokenStore } from './token-store.ts'
import type { Transactions } from './transaction.ts'
import type { User, Users } from './user.ts'

export type Recovery = {
  user: User
  recoveryType: 'PASSWORD' | 'UNLOCK'
  relayState: string | undefined
}

/**
 * What the RSA server knows of a token. Okta passes its prompts on as errors, and keeps the state
 * of the transaction.
 *
 * - `new-pin`: the next code is right, but the user must choose a PIN first;
 * - `pin-asked`: the next passcode is the new PIN, which then precedes each code;
 * - `next-code`: the next code is right, but the user must enter the one after it, too.
 */
export type RsaToken = { mode: 'new-pin' | 'pin-asked' | 'next-code' | undefined; pin: string }

/** A primary authentication attempt and its client context. */
export type SignIn = ClientContext & { at: number; login: string; outcome: string }

/** Variants of Okta's responses. */
export type Settings = {
  /** Recorded responses have `factors`; the specification has `factor`. */
  factorListName: 'factors' | 'factor'
  /** The name of the link that resets a password. Both occur in recorded responses. */
  resetPasswordName: 'resetPassword' | 'password'
  /**
   * The response to a used code, or one outside the time window: a factorResult, or E0000082 and
   * E0000083.
   */
  refusedCodes: 'factorResult' | 'error'
  /**
   * When a user's own recovery is logged as `user.account.reset_password`. Okta's behavior is
   * unproven (A4).
   */
  recoveryLoggedAt: 'start' | 'completion'
  /** How a sign-in with a breached password ends. Okta's behavior is unproven (A5, S3). */
  breachedSignIn: 'expired' | 'continued' | 'refused'
  /** At which sign-ins with a breached password Okta ends the sessions. Unproven (A5). */
  breachDetected: 'always' | 'once'
  /** The response to a wrong old password: as recorded (400), or as documented (403). */
  wrongOldPassword: 'recorded' | 'documented'
  /**
   * Whether a session token replaces the browser's session, as with the org's early-access flag
   * (A1).
   */
  sessionTokenReplacesSession: boolean
} & RecoverySettings &
  AgainstTheRows &
  PipelineSettings &
  RefusalSettings

/**
 * What reports of real orgs disagree about, or nobody has seen. The defaults are what does most
 * harm.
 */
export type RecoverySettings = {
  /** A password recovery that an API token starts is an administrator's reset (R1). */
  tokenRecoveryResets: boolean
  /** The error for a recovery link that is used or expired (R7). */
  usedLink: 'E0000105' | 'E0000110' | 'E0000006'
  /** The error for the recovery of a social or federated user (R11). */
  federatedRecovery: 'E0000006' | 'E0000017'
  /**
   * false: the API token has no right to manage factors, which a call without a token does not need
   * (S17).
   */
  tokenManagesFactors: boolean
  /**
   * The error for every message by the channel that the limit concerns (R12). null: no limit is
   * reached.
   */
  sendLimit: SendLimit | null
}

/** Behavior against the rows of docs/unproven.md, so that a proof run can be seen to fail. */
export type AgainstTheRows = {
  /** `X-Forwarded-For` counts with an API token only (R3). */
  forwardedForNeedsToken: boolean
  /** A device is remembered without `rememberDevice` (S9). */
  remembersUnasked: boolean
  /** Factors are verified with an API token only. */
  verifyNeedsToken: boolean
}

export type RefusalSettings = SandboxConfig['refusals'] &
  Pick<SandboxConfig, 'directoryAgent' | 'blockedZones' | 'suspectedAddresses'>

export type PipelineSettings = SandboxConfig['identityEngine'] & Pick<SandboxConfig, 'pipeline'>

/** The state of the simulated org. */
export type Org = {
  config: SandboxConfig
  now: () => number
  random: RandomBytes
  settings: Settings
  apiTokens: Set<string>
  tokens: IssuedTokens
  users: Users
  transactions: Transactions
  recoveries: TokenStore<Recovery>
  activations: TokenStore<User>
  /** Session tokens that are not redeemed yet, with the pipeline that issued them. */
  sessionTokens: TokenStore<{ user: User; pipeline: Settings['pipeline'] }>
  /** Sessions at the org, by the value of its `sid` cookie. */
  sessions: TokenStore<User>
  pushLinks: TokenStore<string>
  /** By serial number. */
  rsaTokens: Map<string, RsaToken>
  outbox: Outbox
  rateLimit: RateLimit
  signIns: SignIn[]
  sendEvent: EventHook['send']
  /** What was sent, for the System Log. */
  events: OrgEvent[]
  managed: ManagedObjects
  reset(): void
}

/** Keeps the last 10,000 sign-ins. */
export function recordSignIn(org: Org, client: ClientContext, login: string, outcome: string): void {
  org.signIns.push({ at: org.now(), login, outcome, ...client })
  if (org.signIns.length > 10_000) org.signIns.shift()
}
