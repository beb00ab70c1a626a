import type { Request } from 'express'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { createSeal, createSigner } from '../crypto/keys.ts'
import { getRequestContext } from '../http/request-context.ts'
import { createSealedRecords, jsonCodec } from '../store/sealed-records.ts'
import type { Session, SessionsOptions } from './session.ts'

export type DeviceBinding = ReturnType<typeof createDeviceBinding>

const HASH_CHARS = 16

/** Binds a session to the device that opened it. The session contains the keyed hash of the device, as in the audit log. */
export function createDeviceBinding(options: SessionsOptions) {
  const { masterKeys, readDeviceId } = options
  const auditMismatch = createMismatchAudit(options)
  const hashes = createSigner(masterKeys, 'log-hashes')
  const short = (hmac: string) => hmac.slice(0, HASH_CHARS)
  const hash = (deviceId: string) => short(hashes.sign(deviceId))
  /** Checks the hashes by retired keys, too. */
  const matches = ({ device }: Session, deviceId: string | undefined) =>
    deviceId !== undefined && hashes.signAll(deviceId).some((candidate) => short(candidate) === device)

  return {
    hash,
    matches,

    /** Whether the device of this request opened the session. A mismatch is counted and audited. */
    verify(req: Request, session: Session): boolean {
      const deviceId = readDeviceId(req)
      const isMatch = matches(session, deviceId)
      if (!isMatch) auditMismatch(req, session, deviceId === undefined ? undefined : hash(deviceId))
      return isMatch
    },
  }
}

/** Repeated requests with the same two cookies are audited once in this time. */
const AUDIT_EVERY_MS = 60_000
const MAX_REMEMBERED = 10_000 // as maxSize: with max, an LRUCache allocates memory for all of them at once

function createMismatchAudit({ log, metrics, now }: SessionsOptions) {
  const auditedAtMs = new LRUCache<string, number>({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1 })
  return (req: Request, session: Session, deviceHash: string | undefined) => {
    metrics.requestsRefused.inc({ reason: 'session_device_mismatch' })
    const pair = `${session.publicId} ${deviceHash}`
    if (now() - (auditedAtMs.get(pair) ?? Number.NEGATIVE_INFINITY) < AUDIT_EVERY_MS) return
    auditedAtMs.set(pair, now())
    const { requestId, address } = getRequestContext(req)
    const { userId, loginHash, publicId: sessionId } = session
    log.audit('session_device_mismatch', { requestId, address, userId, loginHash, deviceHash, sessionId })
  }
}

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
