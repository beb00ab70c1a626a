import { createCallLimits } from '../bearer-auth/call-limits.ts'
import { createSigner, type MasterKeys } from '../crypto/keys.ts'
import type { Store } from '../store/store.ts'
import { type ApplyOrgEventsOptions, createApplyOrgEvents } from './apply-org-events.ts'
import { EVENT_HOOK_LIMITS, type OrgEventRoutesOptions } from './org-event-routes.ts'
import { createRecheck, type RecheckOptions } from './recheck.ts'
import type { VoidTimes } from './void-times.ts'

export interface OrgEventsOptions
  extends Pick<ApplyOrgEventsOptions, 'revocationTimes' | 'refetchAccess'>,
    Pick<RecheckOptions, 'endAllSessions' | 'readUser' | 'log' | 'metrics' | 'now'> {
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly voidTimes: VoidTimes
  /** undefined: there are no event hooks. */
  readonly eventHookSecrets: readonly string[] | undefined
  /** undefined: users of open sessions are not looked up. */
  readonly recheckMinutes: number | undefined
}

/** Composition root of what learns from Okta that a user's sessions must end. */
export function createOrgEvents(options: OrgEventsOptions) {
  const { masterKeys, eventHookSecrets: secrets, recheckMinutes } = options
  const routes: OrgEventRoutesOptions = {
    ...options,
    secrets,
    applyEvents: createApplyOrgEvents({ ...options, nameSigner: createSigner(masterKeys, 'event-names') }),
    limits: createCallLimits({
      ...options,
      limits: EVENT_HOOK_LIMITS,
      nameSigner: createSigner(masterKeys, 'event-hook-limit-names'),
    }),
  }
  const recheckOptions = { ...options, nameSigner: createSigner(masterKeys, 'user-key-names') }
  const recheck =
    recheckMinutes === undefined
      ? undefined
      : createRecheck({ ...recheckOptions, everyMs: recheckMinutes * 60_000 })

  return { routes, recheck }
}
