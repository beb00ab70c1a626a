import type { RequestHandler } from 'express'
import { invalidField } from '../errors.ts'
import type { LogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { AddressProblem } from './client-address.ts'
import { contextOf } from './request-context.ts'

export interface RefuseUnknownAddressParts {
  /** By the proxy's address. */
  readonly mayLog: LogThrottle
  readonly log: Logger
  readonly metrics: Metrics
}

/**
 * Refuses a trusted proxy's request that does not say which client it is for (DESIGN §4, "Client context"). With the
 * proxy's address instead, the org's network rules would let in clients that they deny, and all clients would share
 * their limits.
 */
export function refuseUnknownAddress({ mayLog, log, metrics }: RefuseUnknownAddressParts): RequestHandler {
  return function refuseUnknownAddress(req, _res, next) {
    const { address, addressProblem, requestId } = contextOf(req)
    if (addressProblem === undefined) return next()
    metrics.refusals.inc({ reason: 'no_forwarded_for' })
    if (mayLog(address)) log.warn('no_forwarded_for', { requestId, address, reason: addressProblem })
    throw invalidField(CAUSES[addressProblem])
  }
}

const CAUSES: Readonly<Record<AddressProblem, string>> = {
  missing: 'X-Forwarded-For: missing; a proxy of TRUST_PROXY must send it',
  unreadable: 'X-Forwarded-For: a proxy of TRUST_PROXY wrote an entry that is not an address',
}
