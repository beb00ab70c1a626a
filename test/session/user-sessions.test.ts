import { beforeEach, describe, expect, test } from '@jest/globals'
import { createSeal, createSigner } from '../../src/crypto/keys.ts'
import { storeUnavailable } from '../../src/errors.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import type { Session, SessionsOptions } from '../../src/session/session.ts'
import { createUserSessions } from '../../src/session/user-sessions.ts'
import { collectLog } from '../observability/collect-log.ts'
import { clock, entries, store, useMemoryStore } from '../support/memory-store.ts'
import { GRANT, START, sessionWith } from './grant.ts'

const USER = GRANT.userId
const TTL_MS = 60_000_000
const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

useMemoryStore()
let metrics: Metrics
/** The stored sessions by id. undefined: the record cannot be read. */
let records: Map<string, Session | undefined>
/** The ids of sessions that cannot be ended. */
let failing: Set<string>
beforeEach(() => {
  clock.now = START
  metrics = createMetrics()
  records = new Map()
  failing = new Set()
})

/** The index of users, as one replica uses it. */
function replica(...masterKeys: Buffer[]) {
  const used: Partial<SessionsOptions> = {
    store,
    masterKeys,
    maxPerUser: 2,
    metrics,
    log: collectLog().log,
    now: () => clock.now,
  }
  const sessionStore: Partial<Parameters<typeof createUserSessions>[1]> = {
    async read(id) {
      const session = records.get(id)
      if (session !== undefined) return { id, session }
      return records.has(id) ? { session: undefined } : undefined
    },
    async destroy(id) {
      if (failing.has(id)) throw storeUnavailable()
      records.delete(id)
    },
  }
  // the rest is for other modules
  const own = createUserSessions(
    used as SessionsOptions,
    sessionStore as Parameters<typeof createUserSessions>[1],
  )
  return {
    ...own,
    /** Opens a session at this time, whose public id is `public <id>`. */
    async open(id: string, createdAtMs = clock.now) {
      records.set(id, sessionWith({ publicId: `public ${id}`, createdAtMs }))
      return own.add(USER, { id, createdAtMs }, TTL_MS)
    },
    idsOf: async (userId = USER) => (await own.list(userId)).map(({ id }) => id),
  }
}

const endedBy = async () =>
  Object.fromEntries(
    (await metrics.sessionsEnded.get()).values.map(({ labels, value }) => [labels.reason, value]),
  )
/** How many entries the indexes have. */
const indexed = () =>
  [...entries.values()].reduce((sum, { content }) => sum + (content instanceof Map ? content.size : 0), 0)

describe('the sessions of a user', () => {
  test('are counted with each new one, under the keys of all of SECRET_KEYS', async () => {
    const [before, during] = [replica(OLD), replica(NEW, OLD)]
    expect([await before.open('a'), await before.open('b')]).toEqual([1, 2])
    expect([await during.open('c'), await during.open('d')]).toEqual([3, 4])
    expect(await replica(NEW).add('00u1other', { id: 'e', createdAtMs: START }, TTL_MS)).toBe(1)
    expect(await during.idsOf()).toHaveLength(4)
  })

  test('are listed newest first, and in the same order on every replica if they are equally old', async () => {
    const { open, idsOf } = replica(OLD)
    for (const id of ['b', 'c', 'a']) await open(id)
    await open('older', START - 1)
    await open('newer', START + 1)
    expect(await idsOf()).toEqual(['newer', 'c', 'b', 'a', 'older'])
  })

  test('are not listed if they have ended or cannot be read; the entry stays while a session may follow', async () => {
    const { open, idsOf } = replica(OLD)
    for (const id of ['living', 'ended', 'unreadable']) await open(id)
    records.delete('ended')
    records.set('unreadable', undefined)
    for (const [afterMs, entriesLeft] of [
      [0, 3],
      [59_999, 3],
      [60_000, 2],
    ] as const) {
      clock.now = START + afterMs
      expect(await idsOf()).toEqual(['living'])
      expect(indexed()).toBe(entriesLeft)
    }
  })

  test('above the maximum end, the oldest first', async () => {
    const { open, evict, idsOf } = replica(OLD)
    for (const [id, ageMs] of Object.entries({ a: 30, b: 10, c: 20, d: 40 })) await open(id, START - ageMs)
    expect(await evict(USER)).toBe(2)
    expect(await idsOf()).toEqual(['b', 'c'])
    expect(await endedBy()).toEqual({ evicted: 2 })
    expect(await evict(USER)).toBe(0)
  })
})

test('entries that another version of the broker has written are read; a damaged one is counted, and stays', async () => {
  const place = `gatehouse:user-sess:${createSigner([OLD], 'user-session-names').sign(USER)}`
  const record = JSON.stringify({ version: 1, id: 'a', createdAtMs: START })
  records.set('a', sessionWith())
  await store.indexPut(place, 'a', createSeal([OLD], 'user-session').seal(record, place), TTL_MS)
  await store.indexPut(place, 'b', 'damaged', TTL_MS)
  expect(await replica(OLD).idsOf()).toEqual(['a'])
  expect((await metrics.unreadableRecords.get()).values).toMatchObject([
    { labels: { kind: 'user_session' }, value: 1 },
  ])
  expect(indexed()).toBe(2)
})

describe('ending one session', () => {
  test('deletes its record and its entry, and counts it by its reason', async () => {
    const { open, end } = replica(OLD)
    await open('a')
    await end({ id: 'a', session: records.get('a') }, 'replaced')
    expect([records.size, indexed(), await endedBy()]).toEqual([0, 0, { replaced: 1 }])
  })

  test('whose record cannot be read leaves its entry: its user is not known', async () => {
    const { open, end } = replica(OLD)
    await open('a')
    await end({ id: 'a', session: undefined }, 'replaced')
    expect([records.size, indexed(), await endedBy()]).toEqual([0, 1, { replaced: 1 }])
  })

  test('that fails keeps its entry, so that it can be ended later', async () => {
    const { open, end } = replica(OLD)
    await open('a')
    failing.add('a')
    await expect(end({ id: 'a', session: records.get('a') }, 'replaced')).rejects.toMatchObject({
      status: 503,
    })
    expect([records.size, indexed(), await endedBy()]).toEqual([1, 1, {}])
  })
})

describe('ending all sessions', () => {
  test.each([
    ['ends all of them', {}, []],
    ['keeps one by its id', { id: 'b' }, ['b']],
    ['keeps those that were opened since', { createdSinceMs: START }, ['c', 'b']],
    ['keeps both', { id: 'a', createdSinceMs: START + 1 }, ['c', 'a']],
  ])('%s', async (_what, keep, left) => {
    const { open, endAll, idsOf } = replica(OLD)
    for (const [id, at] of Object.entries({ a: -1, b: 0, c: 1 })) await open(id, START + at)
    await replica(OLD).add('00u1other', { id: 'other', createdAtMs: START }, TTL_MS)
    expect(await endAll(USER, 'by_admin', keep)).toBe(3 - left.length)
    expect(await idsOf()).toEqual(left)
    expect(indexed()).toBe(left.length + 1)
    expect(await endedBy()).toEqual({ by_admin: 3 - left.length })
  })

  test('includes unreadable ones; an entry without a session does not count, and goes once it is old', async () => {
    const { open, endAll } = replica(OLD)
    for (const id of ['unreadable', 'ended']) await open(id)
    records.set('unreadable', undefined)
    records.delete('ended')
    expect([await endAll(USER, 'by_org'), indexed()]).toEqual([1, 1])
    clock.now = START + 60_000
    expect([await endAll(USER, 'by_org'), indexed()]).toEqual([0, 0])
    expect(await endedBy()).toEqual({ by_org: 1 })
  })

  test('if one cannot be ended, the others end, are told of and counted, and the error is thrown', async () => {
    const { open, endAll } = replica(OLD)
    for (const id of ['a', 'b', 'c']) await open(id)
    failing.add('b')
    const ended: string[] = []
    await expect(endAll(USER, 'by_admin', {}, () => ended.push('one'))).rejects.toMatchObject({ status: 503 })
    expect([...records.keys()]).toEqual(['b'])
    expect(ended).toHaveLength(2)
    expect(await endedBy()).toEqual({ by_admin: 2 })
  })

  test('is done under the keys of all of SECRET_KEYS', async () => {
    await replica(OLD).open('a')
    const during = replica(NEW, OLD)
    await during.open('b')
    expect(await during.endAll(USER, 'by_org')).toBe(2)
    expect([records.size, indexed()]).toEqual([0, 0])
  })
})
