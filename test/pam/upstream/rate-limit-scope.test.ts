import { expect, test } from '@jest/globals'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createPamDeps } from '../../../src/pam/upstream/pam-deps.ts'
import { createRateLimit } from '../../../src/pam/upstream/rate-limit.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { useKeeper } from '../../support/keeper.ts'
import { TUNABLES } from '../pam-broker.ts'

const keep = useKeeper()
const API = 'https://pam.example'

test.each([
  ['the same API and team', API, 'acme', 'too_many_requests'],
  ['the same team, written otherwise', API, 'Acme', 'too_many_requests'],
  ['another team', API, 'other', 'sent'],
  ['another API', 'https://other.example', 'acme', 'sent'],
  ['another API on the same host', `${API}/other`, 'acme', 'sent'],
])('a rate limit holds back the calls to %s as expected', async (_what, baseUrl, team, expected) => {
  const store = keep(createMemoryStore())
  const rateLimitOf = (api: string, ofTeam: string) =>
    createRateLimit(
      createPamDeps({
        baseUrl: api,
        team: ofTeam,
        store,
        masterKeys: [Buffer.alloc(32, 1)],
        maxConnections: 8,
        tunables: TUNABLES,
        log: collectLog().log,
        metrics: createMetrics(),
      }),
    )
  const refusal = { status: 429, headers: { 'retry-after': '60' }, json: {}, bytes: Buffer.alloc(0) }
  await rateLimitOf(API, 'acme').observe(refusal, true)
  const sending = rateLimitOf(baseUrl, team).run(true, { leftMs: 0 }, async () => 'sent')
  expect(await sending.catch(({ outcome }) => outcome)).toBe(expected)
})
