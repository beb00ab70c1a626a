import type { UserKeys } from '../../session/user-indexes.ts'
import type { Store } from '../../store/store.ts'
import { knownDeviceKeys, type LimitsDeps, type UserNames } from './limits.ts'

/** Makes a device unknown to a user, whatever the user's name. */
export type ForgetKnownDevice = (user: UserNames, deviceId: string) => Promise<void>

export interface ForgetKnownDeviceDeps extends Pick<LimitsDeps, 'names' | 'logins'> {
  readonly store: Pick<Store, 'delete'>
  readonly knownDevices: Pick<UserKeys, 'remove'>
}

export function createForgetKnownDevice(deps: ForgetKnownDeviceDeps): ForgetKnownDevice {
  const { store, knownDevices } = deps
  return async ({ userId, logins }, deviceId) => {
    const client = { device: { id: deviceId } }
    const users = [{ userId }, ...logins.map((login) => ({ login }))]
    const keys = users.flatMap((user) => knownDeviceKeys(deps, user, client))
    const forgetting = keys.map(async (key) => {
      await store.delete(key)
      await knownDevices.remove(userId, key)
    })
    await Promise.all(forgetting)
  }
}
