import { createSigner, type MasterKeys } from '../crypto/keys.ts'
import type { Store } from '../store/store.ts'
import { createApplyOrgEvents } from './apply-org-events.ts'
import { createEndAllSessions, type EndAllSessionsOptions } from './end-all-sessions.ts'
import type { OrgEventRoutesOptions } from './org-event-routes.ts'
import { createRecheck, type RecheckOptions } from './recheck.ts'
import { createUserKeys } from './user-keys.ts'
import { createRevocationTimes } from './void-times.ts'

export interface RevocationOptions
  extends Pick<EndAllSessionsOptions, 'sessions' | 'refetchAccess'>,
    Pick<RecheckOptions, 'voidTimes' | 'readUser' | 'log' | 'metrics' | 'now'> {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** undefined: there are no event hooks. */
  readonly eventHookSecrets: readonly string[] | undefined
  /** undefined: users of open sessions are not looked up. */
  readonly recheckMinutes: number | undefined
}

/** Composition root of what ends a user's sessions and everything that could restore them. */
export function createRevocation(options: RevocationOptions) {
  const { store, masterKeys, now, eventHookSecrets: secrets, recheckMinutes } = options
  const names = createSigner(masterKeys, 'user-key-names')
  const revocationTimes = createRevocationTimes({ store, names, now })
  const openTransactions = createUserKeys({ store, names, prefix: `${store.keyPrefix}txn:user:`, now })
  const knownDevices = createUserKeys({ store, names, prefix: `${store.keyPrefix}known:user:`, now })
  const endAllSessions = createEndAllSessions({ ...options, openTransactions, knownDevices, revocationTimes })
  const deps = { ...options, names, revocationTimes, endAllSessions }
  const orgEvents: OrgEventRoutesOptions = {
    ...options,
    secrets,
    applyEvents: createApplyOrgEvents({ ...deps, names: createSigner(masterKeys, 'event-names') }),
    addressNames: createSigner(masterKeys, 'limit-names'),
  }
  const recheck =
    recheckMinutes === undefined ? undefined : createRecheck({ ...deps, everyMs: recheckMinutes * 60_000 })

  return { revocationTimes, openTransactions, knownDevices, endAllSessions, orgEvents, recheck }
}
