import type { Request } from 'express'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { createSeal, createSigner } from '../crypto/keys.ts'
import { getRequestContext } from '../http/request-context.ts'
import { createSealedRecords, jsonCodec } from '../store/sealed-records.ts'
import type { Session, SessionsOptions } from './session.ts'

export type DeviceBinding = ReturnType<typeof createDeviceBinding>

const HASH_CHARS = 16

/** A session belongs to the device that opened it. It names the device by the keyed hash that the audit log has too. */
export function createDeviceBinding(options: SessionsOptions) {
  const { masterKeys, readDeviceId } = options
  const auditMismatch = createMismatchAudit(options)
  const hashes = createSigner(masterKeys, 'log-hashes')
  const short = (hash: string) => hash.slice(0, HASH_CHARS)
  const hashOf = (deviceId: string) => short(hashes.sign(deviceId))
  /** By a retired key too. */
  const isOf = ({ device }: Session, deviceId: string | undefined) =>
    deviceId !== undefined && hashes.signAll(deviceId).some((hash) => short(hash) === device)

  return {
    hashOf,
    isOf,

    /** Whether the device of this request opened the session. A mismatch is counted and audited. */
    isOwn(req: Request, session: Session): boolean {
      const deviceId = readDeviceId(req)
      const isOwn = isOf(session, deviceId)
      if (!isOwn) auditMismatch(req, session, deviceId === undefined ? undefined : hashOf(deviceId))
      return isOwn
    },
  }
}

/** A client that keeps sending the same two cookies is audited once in this time, however often it asks. */
const AUDIT_EVERY_MS = 60_000
const MAX_REMEMBERED = 10_000 // a maxSize: with max, an LRUCache takes the memory for all of them at once

function createMismatchAudit({ log, metrics, now }: SessionsOptions) {
  const auditedAtMs = new LRUCache<string, number>({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1 })
  return (req: Request, session: Session, deviceHash: string | undefined) => {
    metrics.refusals.inc({ reason: 'session_device_mismatch' })
    const pair = `${session.publicId} ${deviceHash}`
    if (now() - (auditedAtMs.get(pair) ?? Number.NEGATIVE_INFINITY) < AUDIT_EVERY_MS) return
    auditedAtMs.set(pair, now())
    const { requestId, address } = getRequestContext(req)
    const { userId, loginHash, publicId: sessionId } = session
    log.audit('session_device_mismatch', { requestId, address, userId, loginHash, deviceHash, sessionId })
  }
}

export type DeviceSessions = ReturnType<typeof createDeviceSessions>
export type DeviceSwap = Awaited<ReturnType<DeviceSessions['take']>>

/**
 * The index device → session. A device has one session, however many of its tabs sign in at once: each sign-in swaps its own
 * session in and ends the ones that it learns of.
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
    async take(deviceId: string, id: string, ttlMs: number) {
      const [key, ...older] = keysOf(deviceId)
      const own = seal({ version: 1, id }, key)
      const swapping = store.swap(key, own, ttlMs).catch((error: unknown) => {
        // A stalled store still carries out the swap when it resumes. This deletion is queued right behind it.
        store.deleteIf(key, own).catch(() => {}) // if this fails too, the entry expires
        throw error
      })
      const reading = older.map(async (one) => open(await store.get(one), one))
      const [before, ...others] = await Promise.all([swapping, ...reading])
      return {
        /** The sessions that the device had before; more than one only while keys are being rotated. */
        replaced: [open(before, key), ...others].flatMap((entry) => entry?.id ?? []),
        /** Undoes it, unless a later sign-in has taken the device by now. */
        async rollback() {
          const wasOurs = await store.deleteIf(key, own)
          if (wasOurs && before !== undefined) await store.set(key, before, ttlMs, 'absent')
        },
      }
    },
  }
}
