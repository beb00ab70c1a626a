import { afterEach, expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import { storeUnavailable } from '../../src/errors.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { type ApplyOrgEventsOptions, createApplyOrgEvents } from '../../src/org-events/apply-org-events.ts'
import type { OrgEvent } from '../../src/org-events/org-events.ts'
import { createRevocationTimes } from '../../src/revocation/revocation-times.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'
import { collectLog } from '../observability/collect-log.ts'
import { keeper } from '../support/keeper.ts'
import { until } from '../support/until.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const FROM = { requestId: 'made-up-request', address: '192.0.2.7' }
const event = (id: string, userId: string, publishedMs: number, more: Partial<OrgEvent> = {}): OrgEvent => ({
  id,
  userId,
  publishedMs,
  type: 'user.lifecycle.suspend',
  effect: 'end_sessions',
  login: '',
  ...more,
})

/** Replicas on one store, and what they do in order. */
function harness(failing: Partial<ApplyOrgEventsOptions> = {}) {
  const done: unknown[][] = []
  const note =
    <Result>(name: string, result: Result) =>
    async (...given: unknown[]) => {
      done.push([name, ...given])
      return result
    }
  const store = keep(createMemoryStore())
  const nameSigner = createSigner([Buffer.alloc(32, 1)], 'test')
  const revocationTimes = createRevocationTimes({ store, nameSigner, now: Date.now })
  const { log, lines } = collectLog()
  const metrics = createMetrics()
  const replica = () =>
    createApplyOrgEvents({
      store,
      nameSigner,
      revocationTimes,
      log,
      metrics,
      voidTimes: { record: note('void', undefined) },
      async endAllSessions(userId, reason, audit, sessionsToKeep) {
        done.push(['end', userId, reason, sessionsToKeep])
        audit(1)
        return 1
      },
      refetchAccess: note('groups', undefined),
      ...failing,
    })
  return { done, lines, revocationTimes, one: replica(), two: replica() }
}

test('one write for each user, with the latest time; nothing is cleared away before the answer', async () => {
  const { one, done } = harness()
  const events = [event('1', 'a', 1), event('2', 'b', 2), event('3', 'a', 3)]
  const clearAway = await one(events, FROM)
  const written = [
    ['void', 'a', 3],
    ['void', 'b', 2],
  ]
  expect(done).toEqual(written)
  clearAway()
  await until(() => done.length === 5)
  expect(done.filter(([what, userId]) => what === 'end' && userId === 'a')).toEqual([
    ['end', 'a', 'by_org', { createdSinceMs: 1 }],
    ['end', 'a', 'by_org', { createdSinceMs: 3 }],
  ])
})

test('only what may have caused the event stays of the open transactions: 30 s of sign-ins, or a change of the password', async () => {
  const { one, done } = harness()
  const types = ['user.session.clear', 'user.account.update_password', 'user.mfa.factor.reset_all']
  const events = types.map((type, n) => event(type, `${n}`, 100_000, { type }))
  ;(await one(events, FROM))()
  await until(() => done.filter(([what]) => what === 'end').length === 3)
  const keep = done.filter(([what]) => what === 'end').map(([, userId, , kept]) => [userId, kept])
  expect(new Map(keep as [string, unknown][])).toEqual(
    new Map<string, unknown>([
      ['0', { createdSinceMs: 100_000, transactionsSinceMs: 70_000 }],
      ['1', { createdSinceMs: 100_000, passwordChangedAtMs: 100_000 }],
      ['2', { createdSinceMs: 100_000 }],
    ]),
  )
})

test('without an id, each delivery is applied', async () => {
  const { one, lines } = harness()
  const unnamed = event('', 'a', 1, { id: undefined })
  ;(await one([unnamed, { ...unnamed, publishedMs: 2 }], FROM))()
  await until(() => lines().length === 2)
  expect(lines().map(({ count, eventId }) => [count, eventId])).toEqual([
    [1, undefined],
    [1, undefined],
  ])
})

test('the times of many users are recorded in batches, so that other requests are not blocked', async () => {
  const events = Array.from({ length: 1000 }, (_, n) => event(`${n}`, `user ${n}`, n))
  let [underWay, most, all] = [0, 0, 0]
  const { one } = harness({
    voidTimes: {
      async record() {
        underWay += 1
        most = Math.max(most, underWay)
        await Promise.resolve()
        underWay -= 1
        all += 1
      },
    },
  })
  await one(events, FROM)
  expect(all).toBe(1000)
  expect(most).toBeLessThan(200)
  await one(events.slice(0, 100), FROM)
  expect(most).toBe(100) // of one ordinary delivery, all are sent together
})

test('a membership makes no session void', async () => {
  const { one, done } = harness()
  ;(await one([event('1', 'a', 1, { effect: 'refetch_groups', login: 'ada' })], FROM))()
  await until(() => done.length > 0)
  expect(done).toEqual([['groups', 'ada']])
})

test('two replicas that get the same event clear away once, but both record the time', async () => {
  const { one, two, done, lines } = harness()
  const clearings = [await one([event('1', 'a', 1)], FROM), await two([event('1', 'a', 1)], FROM)]
  for (const clearAway of clearings) clearAway()
  ;(await one([event('2', 'b', 1)], FROM))()
  await until(() => lines().length === 2)
  expect(done.map(([what, userId]) => [what, userId])).toEqual([
    ['void', 'a'],
    ['void', 'a'],
    ['void', 'b'],
    ['end', 'a'],
    ['end', 'b'],
  ])
})

test('what the user has begun since the sessions were last ended here is left alone', async () => {
  const { one, done, lines, revocationTimes } = harness()
  await revocationTimes.record('a', 10)
  ;(await one([event('1', 'a', 10), event('2', 'a', 11)], FROM))()
  await until(() => lines().length === 2)
  expect(done.filter(([what]) => what === 'end')).toEqual([['end', 'a', 'by_org', { createdSinceMs: 11 }]])
  expect(lines()).toMatchObject([
    { count: 0, eventId: '1' },
    { count: 1, eventId: '2' },
  ])
})

test('if clearing away fails, that is logged, and other users are not affected', async () => {
  const { one, lines } = harness({
    async endAllSessions(userId, _reason, audit) {
      audit(1)
      if (userId === 'a') throw storeUnavailable()
      return 1
    },
  })
  ;(await one([event('1', 'a', 1), event('2', 'b', 1)], FROM))()
  await until(() => lines().length === 3)
  const seen = lines().map(({ event: name, userId }) => [name, userId])
  expect(seen.sort()).toEqual([
    ['org_event_not_cleared', 'a'],
    ['sessions_revoked', 'a'],
    ['sessions_revoked', 'b'],
  ])
})

test('if a time cannot be recorded, the delivery fails', async () => {
  const { one } = harness({
    voidTimes: { record: async () => Promise.reject(storeUnavailable()) },
  })
  await expect(one([event('1', 'a', 1)], FROM)).rejects.toMatchObject({ status: 503 })
})
