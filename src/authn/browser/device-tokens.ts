import { z } from 'zod'
import { createSeal, createSigner, type MasterKeys } from '../../crypto/keys.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { createSealedRecords, jsonCodec } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'
import { type Device, newDeviceId } from './client.ts'

/**
 * Okta's `deviceToken` of each device: the id in its cookie or, once the device was forgotten, a new token. The cookie stays, because
 * sessions and transactions are bound to it.
 */
export interface DeviceTokens {
  /** Read once per request. Throws 503 if the store is unreachable: the token of a forgotten device must not be sent. */
  of(device: Device): Promise<string>
  /** Okta will treat the device as a new one, for all of its users. */
  replace(deviceId: string): Promise<void>
  /** Keeps a replaced token for as long as a renewed cookie. In the background. */
  renew(deviceId: string): void
}

export interface DeviceTokensOptions {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** At least the lifetime of the device cookie. */
  readonly ttlMs: number
  readonly log: Logger
  readonly metrics: Metrics
}

export function createDeviceTokens(options: DeviceTokensOptions): DeviceTokens {
  const { masterKeys, ttlMs } = options
  const records = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'device-token'),
    names: createSigner(masterKeys, 'device-token-names'),
    keyOf: (hmac) => `gatehouse:device-token:${hmac}`,
    codec: jsonCodec(z.object({ version: z.literal(1), deviceToken: z.string() })),
    kind: 'device_token',
  })
  const tokens = new WeakMap<Device, Promise<string>>()

  const read = async ({ id }: Device) => (await records.read(id))?.value.deviceToken ?? id
  const renew = async (deviceId: string) => {
    const replaced = await records.read(deviceId)
    if (replaced !== undefined) await records.write(deviceId, replaced.value, ttlMs)
  }

  return {
    of(device) {
      const token = tokens.get(device) ?? read(device)
      tokens.set(device, token)
      return token
    },
    replace: (deviceId) => records.write(deviceId, { version: 1, deviceToken: newDeviceId() }, ttlMs),
    renew: (deviceId) => void renew(deviceId).catch(() => {}), // repeated when the cookie is renewed again
  }
}
