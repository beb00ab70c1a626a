import { expect, test } from '@jest/globals'
import type { Client } from '../../../src/authn/browser/client.ts'
import { createCallLimit } from '../../../src/authn/throttling/call-limits.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createLoginNames } from '../../../src/session/login-names.ts'
import { usedHeapBytes } from '../../support/heap.ts'

const NAMES = 5000
const GROWS = '\uFDFA' // 18 characters in the canonical form

test('a login with a long canonical form takes no more memory than another one', async () => {
  const callLimit = createCallLimit({
    limit: { attempts: 5, perSeconds: 3600 },
    canonicalLogin: createLoginNames([]).canonical,
    isKnownDevice: async () => false,
    audit: { limitHit: () => undefined },
    metrics: createMetrics({ processMetrics: false }),
    now: () => 0,
  })
  const client = { address: '192.0.2.1' } as Client
  const before = usedHeapBytes()
  for (let n = 0; n < NAMES; n++) {
    const login = `${GROWS.repeat(300)}${n}`
    await callLimit.send({ login }, 'primary', client, async () => ({ isError: true }))
  }
  expect(usedHeapBytes() - before).toBeLessThan(NAMES * 1000)
  await callLimit.send({ login: 'last' }, 'primary', client, async () => ({ isError: true }))
})
