import { overloaded } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Guard } from './compose-guards.ts'
import { getRequestContext, siteForLimits } from './request-context.ts'

/**
 * Refuses requests while too many are in flight: 503 E0000009. Their memory is bounded, and the
 * client can retry at another replica. A request counts from the arrival of its body until its
 * handler has finished, also if the client disconnects earlier. One address, or one IPv6 /48, gets
 * half of the capacity, so that it cannot use all of it while an upstream is slow; not less,
 * because a whole company may have one address.
 */
export function createInFlightLimit({
  maxRequestsInFlight,
  metrics,
}: {
  readonly maxRequestsInFlight: number
  readonly metrics: Metrics
}): Guard {
  let total = 0
  const byAddress = new Map<string, number>()
  const count = (address: string, change: 1 | -1) => {
    const own = (byAddress.get(address) ?? 0) + change
    if (own === 0) byAddress.delete(address)
    else byAddress.set(address, own)
    total += change
    metrics.httpRequestsInFlight.set(total)
  }
  const refuse = (reason: 'in_flight' | 'address'): never => {
    metrics.requestsShed.inc({ reason })
    throw overloaded()
  }

  return async function limitRequestsInFlight(req, _res, next) {
    const address = siteForLimits(getRequestContext(req).address)
    if (total >= maxRequestsInFlight) refuse('in_flight')
    if ((byAddress.get(address) ?? 0) >= maxRequestsInFlight / 2) refuse('address')
    count(address, 1)
    try {
      await next()
    } finally {
      count(address, -1)
    }
  }
}
