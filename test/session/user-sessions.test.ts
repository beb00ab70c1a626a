import { expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { SessionsOptions } from '../../src/session/session.ts'
import { createUserSessions } from '../../src/session/user-sessions.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'
import { useKeeper } from '../http/serve.ts'
import { collectLog } from '../observability/collect-log.ts'
import { GRANT } from './session-harness.ts'

const keep = useKeeper()
const USER = GRANT.userId

test('if one session cannot be ended, the others end, are told of and counted, and the error is thrown', async () => {
  const metrics = createMetrics()
  const records = new Set(['a', 'b', 'c'])
  const options = {
    store: keep(createMemoryStore()),
    masterKeys: [Buffer.alloc(32, 1)],
    maxPerUser: 10,
    metrics,
    log: collectLog().log,
    now: Date.now,
  }
  const { add, endAll } = createUserSessions(
    options as unknown as SessionsOptions,
    {
      read: async (id: string) => (records.has(id) ? { session: undefined } : undefined),
      async destroy(id: string) {
        if (id === 'b') throw storeUnavailable()
        records.delete(id)
      },
    } as Parameters<typeof createUserSessions>[1],
  )
  for (const id of records) await add(USER, { id, createdAtMs: 1 }, 60_000)
  const ended: string[] = []
  await expect(endAll(USER, 'by_admin', {}, () => ended.push('one'))).rejects.toMatchObject({ status: 503 })
  expect([...records]).toEqual(['b'])
  expect(ended).toHaveLength(2)
  expect((await metrics.sessionsEnded.get()).values).toMatchObject([
    { labels: { reason: 'by_admin' }, value: 2 },
  ])
})
