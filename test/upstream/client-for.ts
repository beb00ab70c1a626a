import { expect } from '@jest/globals'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createHttpApi, type HttpApiOptions } from '../../src/upstream/http-api.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'

/** A client with generous limits; a test of a limit sets that limit. */
export function clientFor(baseUrl: string, options: Partial<HttpApiOptions> = {}) {
  return createHttpApi({
    baseUrl,
    connectTimeoutMs: 60_000,
    totalTimeoutMs: 60_000,
    maxResponseBytes: 100_000,
    maxConnections: 4,
    name: 'authn',
    metrics: createMetrics(),
    breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 1000 },
    ...options,
  })
}

export async function failureOf(sending: Promise<unknown>): Promise<UpstreamFailure> {
  const error = await sending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(UpstreamFailure)
  return error as UpstreamFailure // just checked
}
