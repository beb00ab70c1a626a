import { z } from 'zod'
import type { Seal } from '../crypto/seal.ts'
import type { Signer } from '../crypto/sign.ts'
import type { Store } from '../store/store.ts'
import { parseStored } from '../store/stored-json.ts'

/**
 * The index device → session. A device has one session, however many of its tabs sign in at once: each sign-in swaps its own
 * session in and ends the ones that it learns of.
 */
export interface DeviceSessions {
  /** Makes this the session of the device. */
  take(deviceId: string, id: string, ttlMs: number): Promise<TakenDevice>
}

export interface TakenDevice {
  /** The sessions that the device had before; more than one only while keys are being rotated. */
  readonly replaced: readonly string[]
  /** Undoes it, unless a later sign-in has taken the device by now. */
  giveBack(): Promise<void>
}

export interface DeviceSessionsParts {
  readonly store: Pick<Store, 'get' | 'set' | 'swap' | 'deleteIf'>
  readonly seal: Seal
  readonly names: Signer
  /** Told of an entry that can't be read. */
  readonly onUnreadable?: () => void
}

const Entry = z.object({ version: z.literal(1), id: z.string() })

export function createDeviceSessions({
  store,
  seal,
  names,
  onUnreadable,
}: DeviceSessionsParts): DeviceSessions {
  const keysOf = (deviceId: string) => names.signAll(deviceId).map((name) => `gatehouse:user-sess:${name}`)

  const idIn = (sealed: string | undefined, key: string): string[] => {
    if (sealed === undefined) return []
    const { success, data } = Entry.safeParse(parseStored(seal.open(sealed, key)))
    if (!success) onUnreadable?.()
    return success ? [data.id] : []
  }

  return {
    async take(deviceId, id, ttlMs) {
      const [key = '', ...older] = keysOf(deviceId)
      const own = seal.seal(JSON.stringify({ version: 1, id }), key)
      const swapping = store.swap(key, own, ttlMs).catch((error: unknown) => {
        // A stalled store still carries out the swap when it resumes. This deletion is queued right behind it.
        store.deleteIf(key, own).catch(() => {}) // if this fails too, the entry expires
        throw error
      })
      const [before, ...others] = await Promise.all([swapping, ...older.map((one) => store.get(one))])
      return {
        replaced: [...idIn(before, key), ...others.flatMap((sealed, n) => idIn(sealed, older[n] ?? ''))],
        async giveBack() {
          const wasOurs = await store.deleteIf(key, own)
          if (wasOurs && before !== undefined) await store.set(key, before, ttlMs, 'absent')
        },
      }
    },
  }
}
