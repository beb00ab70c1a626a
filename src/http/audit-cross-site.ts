import type { IncomingMessage } from 'node:http'
import { createLogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import { shown } from './report-origin.ts'
import { contextOf } from './request-context.ts'

export interface AuditCrossSiteParts {
  readonly log: Logger
}

/** Any client can cause these lines, so they are limited: one for each address and origin, and `maxLines` in all, per period. */
const THROTTLE = { periodMs: 60_000, maxLines: 60 }

/** Writes the audit event of a cross-site refusal; `gatehouse_refusals_total` counts those that are not written, too. */
export function auditCrossSite({ log }: AuditCrossSiteParts): (req: IncomingMessage) => void {
  const mayLog = createLogThrottle(THROTTLE)
  return (req) => {
    const { requestId, address } = contextOf(req)
    const origin = req.headers.origin === undefined ? undefined : shown(req.headers.origin)
    if (!mayLog(`${address} ${origin}`)) return
    const reason = origin === undefined ? 'origin_missing' : 'origin_not_allowed'
    log.audit('cross_site_refused', { requestId, address, method: req.method ?? '', origin, reason })
  }
}
