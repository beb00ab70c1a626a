import { z } from 'zod'
import { createSeal, createSigner } from '../crypto/keys.ts'
import { createSealedRecords, jsonCodec } from '../store/sealed-records.ts'
import type { SessionsOptions } from './session.ts'

export type DeviceSessions = ReturnType<typeof createDeviceSessions>
export type DeviceSwap = Awaited<ReturnType<DeviceSessions['bind']>>

/**
 * The index device → session. A device has one session, even if several of its tabs sign in at once: each sign-in swaps its own
 * session into the index, and ends the sessions that it replaced.
 */
export function createDeviceSessions(
  options: Pick<SessionsOptions, 'store' | 'masterKeys' | 'log' | 'metrics'>,
) {
  const { store, masterKeys } = options
  const { keysOf, open, seal } = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'user-session'),
    names: createSigner(masterKeys, 'device-session-names'),
    keyOf: (hmac) => `gatehouse:user-sess:${hmac}`,
    codec: jsonCodec(z.object({ version: z.literal(1), id: z.string() })),
    kind: 'user_session',
  })

  return {
    /** Makes this the session of the device. */
    async bind(deviceId: string, id: string, ttlMs: number) {
      const [key, ...older] = keysOf(deviceId)
      const own = seal({ version: 1, id }, key)
      const swapping = store.swap(key, own, ttlMs).catch((error: unknown) => {
        // A stalled store still executes the swap when it resumes. This deletion is queued right behind it.
        store.deleteIf(key, own).catch(() => {}) // if this fails too, the entry expires
        throw error
      })
      const reading = older.map(async (one) => open(await store.get(one), one))
      const [before, ...others] = await Promise.all([swapping, ...reading])
      return {
        /** The sessions that the device had before. There is more than one only during a key rotation. */
        replaced: [open(before, key), ...others].flatMap((entry) => entry?.id ?? []),
        /** Restores the previous session, unless a later sign-in has already replaced this one. */
        async rollback() {
          const wasOurs = await store.deleteIf(key, own)
          if (wasOurs && before !== undefined) await store.set(key, before, ttlMs, 'absent')
        },
      }
    },
  }
}
