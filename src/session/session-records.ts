import type { Seal } from '../crypto/seal.ts'
import type { Signer } from '../crypto/sign.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from '../store/store.ts'
import type { Session } from './session.ts'
import { decodeSession } from './session-codec.ts'

/**
 * Where sessions lie: under an HMAC of the session id, sealed with that place as associated data, so that a record
 * copied to another id does not open. After a key rotation a record is still found under its old name.
 *
 * A record that can't be read (broken, or written by another version) is no session here, and is left alone: a newer
 * replica may know what it says.
 */
export interface SessionRecords {
  read(id: string): Promise<Session | undefined>
  /** `when: 'present'` writes only over a session that is still there: a sign-out is never undone. */
  write(id: string, record: string, ttlMs: number, when?: 'present'): Promise<boolean>
  remove(id: string): Promise<boolean>
  /** Whether anything lies there, readable or not. */
  holds(id: string): Promise<boolean>
}

export interface SessionRecordsParts {
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
  readonly log: Logger
  readonly metrics: Metrics
}

export function createSessionRecords({
  store,
  seal,
  names,
  log,
  metrics,
}: SessionRecordsParts): SessionRecords {
  const places = (id: string) => names.signAll(id).map((name) => `gatehouse:sess:${name}`)

  return {
    async read(id) {
      for (const place of places(id)) {
        const sealed = await store.get(place)
        if (sealed === undefined) continue
        const session = decodeSession(seal.open(sealed, place), id)
        if (session !== undefined) return session
        metrics.unreadableRecords.inc({ kind: 'session' })
        log.warn('unreadable_record', { name: 'session' })
      }
      return undefined
    },

    async write(id, record, ttlMs, when) {
      for (const place of places(id)) {
        if (await store.set(place, seal.seal(record, place), ttlMs, when)) return true
      }
      return false
    },

    async holds(id) {
      const found = await Promise.all(places(id).map((place) => store.get(place)))
      return found.some((sealed) => sealed !== undefined)
    },

    async remove(id) {
      let removed = false
      for (const place of places(id)) removed = (await store.delete(place)) || removed
      return removed
    },
  }
}
