import type { Request } from 'express'
import { LRUCache } from 'lru-cache'
import { createSigner } from '../crypto/keys.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Session, SessionsOptions } from './session.ts'

export type DeviceBinding = ReturnType<typeof createDeviceBinding>

const HASH_CHARS = 16

/** Binds a session to the device that opened it. */
export function createDeviceBinding(options: SessionsOptions) {
  const { masterKeys, readDeviceId } = options
  const auditMismatch = createMismatchAudit(options)
  const hashes = createSigner(masterKeys, 'log-hashes')
  /** As in the audit log. */
  const hash = (deviceId: string) => hashes.sign(deviceId).slice(0, HASH_CHARS)

  return {
    hash,

    /** Whether the device of this request opened the session. A mismatch is counted and audited. */
    verify(req: Request, session: Session): boolean {
      const deviceId = readDeviceId(req)
      const isMatch = session.deviceId === deviceId
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
