import type { Response } from 'express'
import type { MasterKeys } from '../crypto/keys.ts'
import type { HandOver } from '../forward-auth/hand-over.ts'
import type { RedirectPrefix } from '../http/redirect-target.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { RevocationTimes } from '../revocation/revocation-times.ts'
import type { UserKeys } from '../revocation/user-keys.ts'
import type { BoundSessions } from '../session/bound-sessions.ts'
import type { SessionCookie } from '../session/session-cookie.ts'
import type { Sessions } from '../session/sessions.ts'
import type { EndAllSessions } from '../session/user-sessions.ts'
import type { LimitConfig } from '../store/limits.ts'
import type { Store } from '../store/store.ts'
import type { DeviceCookie } from './browser/client.ts'
import type { RecoveryFrom } from './recovery/plan-recovery.ts'
import type { TunedLimits } from './throttling/attempt-limits.ts'
import type { AttemptLimits } from './throttling/attempt-windows.ts'
import type { AuthnUpstream } from './upstream/authn-upstream.ts'

/** The module's tunables, as `config/default.json` groups them. */
export interface AuthnTunables {
  readonly recovery: {
    readonly recoveryAnswerMs: number
    readonly challengeMinutes: number
    readonly resendAfterMs: number
    readonly maxWrongCodes: number
  }
  readonly limits: TunedLimits & { readonly stepUpPerAddress: LimitConfig }
}

/** Values that only tests change. */
export interface AuthnConstants {
  readonly lockTtlMs?: number
  readonly lockWaitMs?: number
  readonly pollEveryMs?: number
  readonly limits?: AttemptLimits
}

export interface AuthnOptions {
  readonly upstream: AuthnUpstream
  /** For all calls of one step. */
  readonly timeoutMs: number
  /** The org's origin. */
  readonly baseUrl: string
  /** The org's other origins, which may appear in links. */
  readonly linkOrigins: readonly string[]
  /** The SSWS token, which is removed from every answer. */
  readonly apiToken: string
  readonly stepUp: boolean
  /** The Okta session ends with the portal's, and before an SSO token is redeemed. */
  readonly oktaSignOut: boolean
  readonly ssoRedirects: readonly RedirectPrefix[]
  /** Where a browser may be sent after the sign-in. */
  readonly returnTargets: readonly RedirectPrefix[]
  readonly handOver: Pick<HandOver, 'begin' | 'isApplication'>
  readonly loginDomains: readonly string[]
  readonly recoveryFrom: RecoveryFrom
  readonly hiddenFactors: readonly string[]
  /** After how many wrong passwords in a row the org locks a user, if it is known. */
  readonly lockoutAttempts: number | undefined
  readonly publicOrigin: string
  /** PUBLIC_URL is https. */
  readonly secure: boolean
  /** Origins of pages that are sent to Okta in `Origin`. */
  readonly forwardedOrigins: readonly string[]
  readonly signInUrl: string
  readonly tunables: AuthnTunables
  readonly constants: { readonly authn?: AuthnConstants }
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly deviceCookie: DeviceCookie
  readonly sessions: Sessions
  readonly sessionCookie: Pick<SessionCookie, 'idIn'>
  readonly boundSessions: Pick<BoundSessions, 'evidenceIn'>
  /** Sets the headers of a response that opens a session. */
  readonly setSession: (res: Response, sessionId: string) => void
  /** Indexes by user of records that are deleted when all sessions of the user end. */
  readonly openTransactions: UserKeys
  readonly knownDevices: UserKeys
  readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'>
  readonly endAllSessions: EndAllSessions
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}
