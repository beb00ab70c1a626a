import { expect, test } from '@jest/globals'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createPamCall } from '../../../src/pam/upstream/pam-call.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { TUNABLES } from '../pam-broker.ts'

test('a call that the broker can do without has a lower priority than lookups of users, at the rate limit and for a connection', async () => {
  const priorities: unknown[] = []
  const call = createPamCall({
    client: {
      async send({ wait }) {
        priorities.push(wait?.urgent)
        return { status: 200, headers: {}, json: {}, bytes: Buffer.alloc(0) }
      },
      close: async () => {},
    },
    gate: {
      prefetch: () => undefined,
      run({ priority }, call) {
        priorities.push(priority)
        return call(async () => {})
      },
    },
    breaker: { consecutiveFailures: 1, halfOpenAfterMs: 1 },
    clock: { now: () => 0, isSet: () => true, observe: () => {} },
    monotonic: () => 0,
    random: () => 0,
    sleep: async () => {},
    tunables: TUNABLES,
    log: collectLog().log,
    metrics: createMetrics({ processMetrics: false }),
  })
  const request = { path: '/', subject: 'group', background: false, requestId: 'request-1' } as const
  await call({ ...request, isOptional: true })
  await call(request)
  expect(priorities).toEqual(['new', false, 'ongoing', true])
})
