import type { Request } from 'express'
import { LRUCache } from 'lru-cache'
import type { Signer } from '../crypto/sign.ts'
import { contextOf } from '../http/request-context.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { IsOwnDevice } from './load-session.ts'
import type { Session } from './session.ts'

/** A session belongs to the device that opened it. It names the device by the keyed hash that the audit log has too. */
export interface SessionDevice {
  hashOf(deviceId: string): string
  /** Whether this device opened the session; by a retired key too. */
  isOf(session: Session, deviceId: string | undefined): boolean
  /** The same for the device of a request. A mismatch is counted and audited. */
  readonly isOwn: IsOwnDevice
}

export interface SessionDeviceParts {
  readonly hashes: Signer
  /** The device of a request; undefined: it has no sound device cookie. */
  readonly deviceIdIn: (req: Request) => string | undefined
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

const HASH_CHARS = 16
/** A client that keeps sending the same two cookies is audited once in this time, however often it asks. */
const AUDIT_EVERY_MS = 60_000
const MOST_REMEMBERED = 10_000 // a maxSize: with max, an LRUCache takes the memory for all of them at once

export function createSessionDevice(parts: SessionDeviceParts): SessionDevice {
  const { hashes, deviceIdIn, log, metrics, now } = parts
  const auditedAtMs = new LRUCache<string, number>({ maxSize: MOST_REMEMBERED, sizeCalculation: () => 1 })
  const short = (hash: string) => hash.slice(0, HASH_CHARS)
  const hashOf = (deviceId: string) => short(hashes.sign(deviceId))

  const isOf: SessionDevice['isOf'] = ({ device }, deviceId) =>
    deviceId !== undefined && hashes.signAll(deviceId).some((hash) => short(hash) === device)

  const auditMismatch = (req: Request, session: Session, deviceId: string | undefined) => {
    metrics.refusals.inc({ reason: 'session_device_mismatch' })
    const deviceHash = deviceId === undefined ? undefined : hashOf(deviceId)
    const pair = `${session.publicId} ${deviceHash}`
    if (now() - (auditedAtMs.get(pair) ?? Number.NEGATIVE_INFINITY) < AUDIT_EVERY_MS) return
    auditedAtMs.set(pair, now())
    const { requestId, address } = contextOf(req)
    const { userId, loginHash, publicId: sessionId } = session
    log.audit('session_device_mismatch', { requestId, address, userId, loginHash, deviceHash, sessionId })
  }

  return {
    hashOf,
    isOf,

    isOwn(req, session) {
      const deviceId = deviceIdIn(req)
      const isOwn = isOf(session, deviceId)
      if (!isOwn) auditMismatch(req, session, deviceId)
      return isOwn
    },
  }
}
