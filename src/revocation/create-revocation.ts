import { createSigner, type MasterKeys } from '../crypto/keys.ts'
import { KEYS, startOf } from '../store/keys.ts'
import type { Store } from '../store/store.ts'
import { createEndAllSessions, type EndAllSessionsOptions } from './end-all-sessions.ts'
import { createRevocationTimes } from './revocation-times.ts'
import { createUserKeys } from './user-keys.ts'

export interface RevocationOptions extends Pick<EndAllSessionsOptions, 'sessions' | 'refetchAccess' | 'log'> {
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly now: () => number
}

/** Composition root of what ends a user's sessions and everything that could restore them. */
export function createRevocation(options: RevocationOptions) {
  const { store, masterKeys, now } = options
  const nameSigner = createSigner(masterKeys, 'user-key-names')
  const revocationTimes = createRevocationTimes({ store, nameSigner, now })
  const openTransactions = createUserKeys({
    store,
    nameSigner,
    prefix: startOf(store, KEYS.transactionsOfUser),
    now,
  })
  const knownDevices = createUserKeys({ store, nameSigner, prefix: startOf(store, KEYS.devicesOfUser), now })
  const endAllSessions = createEndAllSessions({ ...options, openTransactions, knownDevices, revocationTimes })

  return { revocationTimes, openTransactions, knownDevices, endAllSessions }
}
