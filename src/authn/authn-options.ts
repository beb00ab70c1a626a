import type { MasterKeys } from '../crypto/keys.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { EndAllSessions } from '../session/end-all-sessions.ts'
import type { RevocationTimes } from '../session/revocation-times.ts'
import type { SessionCookie } from '../session/session-cookie.ts'
import type { Sessions } from '../session/sessions.ts'
import type { UserKeys } from '../session/user-indexes.ts'
import type { LimitConfig, Store } from '../store/store.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import type { DeviceCookie, DeviceTokens } from './browser/client.ts'
import type { RedirectPrefix } from './redirects/redirect-target.ts'
import type { AttemptLimits } from './throttling/limits.ts'
import type { AuthnRateLimit } from './upstream/authn-upstream.ts'

/** The module's tunables, as `config/default.json` groups them. */
export interface AuthnTunables {
  readonly authn: { readonly signInWaitMs: number; readonly rateLimit: AuthnRateLimit }
  readonly transaction: {
    readonly minTtlMinutes: number
    readonly maxTtlMinutes: number
    readonly defaultTtlMinutes: number
    readonly redirectOnlyMinutes: number
    readonly stepLockMs: number
    readonly stepWaitMs: number
    readonly sharedAnswerMs: number
    readonly pollEveryMs: number
    readonly maxOfferedSteps: number
    readonly maxPictureBytes: number
  }
  readonly device: {
    readonly cookieDays: number
    readonly renewAfterHours: number
    readonly knownDays: number
  }
  readonly recovery: {
    readonly recoveryAnswerMs: number
    readonly challengeMinutes: number
    readonly resendAfterMs: number
    readonly maxWrongCodes: number
  }
  readonly limits: AttemptLimits & {
    readonly stepUpPerAddress: LimitConfig
    readonly callsPerUser: LimitConfig
    readonly signInsPerUser: LimitConfig
  }
}

export interface AuthnOptions {
  readonly client: UpstreamClient
  /** For all calls of one step. */
  readonly timeoutMs: number
  /** The org's origin. */
  readonly baseUrl: string
  /** The org's other origins, which may appear in links. */
  readonly linkOrigins: readonly string[]
  /** The SSWS token in use, then the standby. */
  readonly apiTokens: () => readonly string[]
  readonly stepUp: boolean
  readonly ssoRedirects: readonly RedirectPrefix[]
  readonly loginDomains: readonly string[]
  readonly hiddenFactors: readonly string[]
  readonly publicOrigin: string
  /** Origins of pages that are sent to Okta in `Origin`. */
  readonly forwardedOrigins: readonly string[]
  readonly signInUrl: string
  readonly tunables: AuthnTunables
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly deviceCookie: DeviceCookie
  readonly deviceTokens: DeviceTokens
  readonly sessions: Sessions
  readonly sessionCookie: SessionCookie
  /** Indexes by user of records that are deleted when all sessions of the user end. */
  readonly openTransactions: UserKeys
  readonly knownDevices: UserKeys
  readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'>
  readonly endAllSessions: EndAllSessions
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}
