import { createMetrics } from '../../src/observability/metrics.ts'
import { createHttpApi, type HttpApiOptions } from '../../src/upstream/http-api.ts'

/** A client with generous limits; a test of a limit sets that limit. */
export function clientFor(baseUrl: string, options: Partial<HttpApiOptions> = {}) {
  return createHttpApi({
    baseUrl,
    connectTimeoutMs: 60_000,
    totalTimeoutMs: 60_000,
    maxResponseBytes: 100_000,
    maxConnections: 4,
    name: 'authn',
    metrics: createMetrics({ processMetrics: false }),
    breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 1000 },
    ...options,
  })
}
