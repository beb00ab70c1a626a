import type { Request } from 'express'
import { contextOf } from '../http/request-context.ts'
import type { Session } from './session.ts'

/** What the audit log is told of somebody who is signed in: whose request, session and device, without a name. */
export function auditedOf(req: Request, { userId, loginHash, device, publicId }: Session) {
  const { requestId, address } = contextOf(req)
  return { requestId, address, userId, loginHash, deviceHash: device, sessionId: publicId }
}
