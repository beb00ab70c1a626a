import type { IncomingMessage } from 'node:http'
import type { LogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import { contextOf } from './request-context.ts'

/** Logs that a page of an origin that is not allowed calls the broker: mostly one that ALLOWED_ORIGINS lacks. */
export type ReportOrigin = (req: IncomingMessage) => void

export interface ReportOriginParts {
  /** By the origin. */
  readonly mayLog: LogThrottle
  readonly log: Logger
}

export function createReportOrigin({ mayLog, log }: ReportOriginParts): ReportOrigin {
  return (req) => {
    const origin = shown(req.headers.origin ?? '')
    if (!mayLog(origin)) return
    log.warn('origin_not_allowed', {
      requestId: contextOf(req).requestId,
      origin,
      reason: 'neither PUBLIC_URL nor one of ALLOWED_ORIGINS',
    })
  }
}

const MAX_SHOWN = 100

/** The caller's own header, cut short and without anything that is not visible ASCII. */
export function shown(value: string): string {
  return value.replace(/[^\x21-\x7e]/g, '?').slice(0, MAX_SHOWN)
}
