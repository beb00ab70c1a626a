import type { Guard } from '../http/compose-guards.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Metrics } from '../observability/metrics.ts'

/** The rule that refuses a user. */
export const DENIED_HEADER = 'X-Auth-Request-Denied'

/**
 * For every request of the path, before any check: errors have no body, and all results are
 * counted.
 */
export function beginForwardAuth(metrics: Metrics): Guard {
  return function beginForwardAuth(req, res, next) {
    getRequestContext(req).errorFormat = 'empty'
    res.once('finish', () => {
      const { isErrorOfClient = false } = getRequestContext(req)
      const known = isErrorOfClient ? undefined : RESULTS[res.statusCode]
      const result = res.hasHeader(DENIED_HEADER) ? 'denied' : (known ?? 'refused')
      metrics.forwardAuthRequests.inc({ result })
    })
    return next()
  }
}

const RESULTS: Readonly<Record<number, string>> = {
  200: 'signed_in',
  401: 'no_session',
  409: 'other_session',
  500: 'error',
  503: 'error',
}
