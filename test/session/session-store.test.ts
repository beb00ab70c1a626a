import { beforeEach, describe, expect, test } from '@jest/globals'
import type { SessionData } from 'express-session'
import { createSeal } from '../../src/crypto/keys.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import type { Binding, LoadedSession, Session, SessionsOptions } from '../../src/session/session.ts'
import { createSessionStore, newSessionId } from '../../src/session/session-store.ts'
import { collectLog } from '../observability/collect-log.ts'
import { clock, entries, store, useMemoryStore } from '../support/memory-store.ts'
import { GRANT, START, sessionWith } from './grant.ts'

const [IDLE_MS, ABSOLUTE_MS] = [1_800_000, 43_200_000]
const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const COORDINATE = 'x'.repeat(43)
const BINDING: Binding = {
  jwk: { kty: 'EC', crv: 'P-256', x: COORDINATE, y: COORDINATE },
  boundAtMs: START,
  isUsed: false,
}

useMemoryStore()
let metrics: Metrics
beforeEach(() => {
  clock.now = START
  metrics = createMetrics()
})

/** As one replica uses it. */
function replica(...masterKeys: Buffer[]) {
  const used: Partial<SessionsOptions> = {
    store,
    masterKeys,
    idleMs: IDLE_MS,
    absoluteMs: ABSOLUTE_MS,
    now: () => clock.now,
    log: collectLog().log,
    metrics,
  }
  return createSessionStore(used as SessionsOptions) // the rest is for other modules
}

const contentAt = (id: string) => entries.get(`gatehouse:sess:${id}`)?.content
const lifeOf = (id: string) => (entries.get(`gatehouse:sess:${id}`)?.expiresAt ?? 0) - clock.now
const extended = (session: Session): Session => ({ ...session, lastSeenAtMs: clock.now })

async function written(session = sessionWith(), id = 'one'): Promise<LoadedSession> {
  const { create, read } = replica(OLD)
  await create(id, session)
  const found = await read(id)
  if (found?.session === undefined) throw new Error('it was written')
  return found
}

test('an id is random, and ends with the tag of its user', () => {
  const ids = [newSessionId('tag-of-a-user'), newSessionId('tag-of-a-user')]
  for (const id of ids) expect(id).toMatch(/^[\w-]{43}tag-of-a-user$/)
  expect(new Set(ids).size).toBe(2)
})

describe('a written session', () => {
  test.each([
    ['without a key', sessionWith()],
    ['bound to a key', sessionWith({ binding: BINDING })],
  ])('%s is read as it was, by replicas with and without the newest key', async (_what, session) => {
    await replica(OLD).create('one', session)
    expect(await replica(OLD).read('one')).toMatchObject({ id: 'one', session })
    expect(await replica(NEW, OLD).read('one')).toMatchObject({ id: 'one', session })
    expect(await replica(OLD).read('two')).toBeUndefined()
    expect(String(contentAt('one'))).not.toContain(GRANT.login)
  })

  test.each([
    ['is new', 0, IDLE_MS],
    ['is at its absolute end in a minute', ABSOLUTE_MS - 60_000, 60_000],
    ['has a life with a fraction of a second', ABSOLUTE_MS - 500, 1000],
  ])('is stored for as long as it can live: it %s', async (_what, afterMs, lifeMs) => {
    clock.now = START + afterMs
    await replica(OLD).create('one', sessionWith({ lastSeenAtMs: clock.now }))
    expect(lifeOf('one')).toBe(lifeMs)
  })

  test('has ended by the broker’s clock, although the store still has it', async () => {
    await written()
    for (const entry of entries.values()) entry.expiresAt = Number.POSITIVE_INFINITY
    clock.now = START + IDLE_MS - 1
    expect(await replica(OLD).read('one')).toMatchObject({ id: 'one' })
    clock.now = START + IDLE_MS
    expect(await replica(OLD).read('one')).toBeUndefined()
  })

  test.each<[string, () => Promise<unknown>, number]>([
    ['is damaged', () => store.set('gatehouse:sess:one', 'damaged', 1000), 1],
    [
      'was copied from another id',
      async () => {
        await written(sessionWith(), 'other')
        await store.set('gatehouse:sess:one', String(contentAt('other')), 1000)
      },
      0,
    ],
    ['is of an unknown key', () => replica(NEW).create('one', sessionWith()), 1],
  ])('exists, but without a session, if its record %s', async (_what, write, unreadable) => {
    await write()
    expect(await replica(OLD).read('one')).toEqual({ session: undefined })
    const [counted] = (await metrics.unreadableRecords.get()).values
    expect(counted?.value ?? 0).toBe(unreadable)
    if (counted !== undefined) expect(counted.labels).toEqual({ kind: 'session' })
  })

  test('that another version of the broker has written is read', async () => {
    const record = JSON.stringify({ version: 1, id: 'one', session: sessionWith() })
    const sealed = createSeal([OLD], 'session').seal(record, 'gatehouse:sess:')
    await store.set('gatehouse:sess:one', sealed, IDLE_MS)
    expect(await replica(OLD).read('one')).toMatchObject({ session: sessionWith() })
  })

  test('is gone once it is destroyed', async () => {
    await written()
    await replica(OLD).destroy('one')
    expect(entries.size).toBe(0)
  })
})

describe('a change', () => {
  test('is written for the new life of the session, and returned', async () => {
    const loaded = await written()
    clock.now += 600_000
    expect(await replica(OLD).update(loaded, extended)).toEqual(sessionWith({ lastSeenAtMs: clock.now }))
    expect(await replica(OLD).read('one')).toMatchObject({ session: { lastSeenAtMs: clock.now } })
    expect(lifeOf('one')).toBe(IDLE_MS)
  })

  test('of nothing writes nothing', async () => {
    const loaded = await written()
    const before = contentAt('one')
    expect(await replica(OLD).update(loaded, (session) => session)).toEqual(sessionWith())
    expect(contentAt('one')).toBe(before)
  })

  test('of a session that another request has changed is made to what that one wrote', async () => {
    const loaded = await written()
    clock.now += 600_000
    await replica(OLD).update(loaded, (session) => ({ ...session, binding: BINDING }))
    const both = sessionWith({ binding: BINDING, lastSeenAtMs: clock.now })
    expect(await replica(OLD).update(loaded, extended)).toEqual(both)
    expect(await replica(OLD).read('one')).toMatchObject({ session: both })
  })

  test('that another request has made already writes nothing', async () => {
    const loaded = await written()
    await replica(OLD).update(loaded, (session) => ({ ...session, binding: BINDING }))
    const before = contentAt('one')
    const bind = (session: Session) => (session.binding ? session : { ...session, binding: BINDING })
    expect(await replica(OLD).update(loaded, bind)).toEqual(sessionWith({ binding: BINDING }))
    expect(contentAt('one')).toBe(before)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['was ended', () => replica(OLD).destroy('one')],
    ['cannot be read any more', () => store.set('gatehouse:sess:one', 'damaged', 1000)],
    [
      'is now the copy of another one',
      async () => {
        await written(sessionWith(), 'other')
        await store.set('gatehouse:sess:one', String(contentAt('other')), 1000)
      },
    ],
  ])('of a session that %s meanwhile restores nothing', async (_what, happens) => {
    const loaded = await written()
    await happens()
    const before = contentAt('one')
    expect(await replica(OLD).update(loaded, extended)).toBeUndefined()
    expect(contentAt('one')).toBe(before)
  })

  test('of a session that was not read is not written', async () => {
    await written()
    const before = contentAt('one')
    expect(await replica(OLD).update({ id: 'two', session: sessionWith() }, extended)).toBeUndefined()
    expect([contentAt('one'), contentAt('two')]).toEqual([before, undefined])
  })

  // each try that fails is another request's success, so five in a row are not seen in operation
  test.each([
    [4, 'is written'],
    [5, 'is given up: 503'],
  ])('that %d other requests are quicker than %s', async (others) => {
    const loaded = await written()
    const { replaceIf } = store
    let quicker = 0
    store.replaceIf = async (key, ...given) => {
      if (quicker < others) {
        quicker += 1
        await replica(OLD).create('one', sessionWith({ login: `change-${quicker}` }))
      }
      return replaceIf(key, ...given)
    }
    clock.now += 1000
    const changing = replica(OLD).update(loaded, extended)
    if (others < 5)
      expect(await changing).toEqual(sessionWith({ login: 'change-4', lastSeenAtMs: clock.now }))
    else await expect(changing).rejects.toMatchObject({ status: 503, dependency: 'store' })
    expect(quicker).toBe(others)
  })
})

test('express-session itself can neither write a session that no sign-in opened nor prolong one', async () => {
  await written()
  const { expressStore } = replica(OLD)
  const cookie = { originalMaxAge: null } satisfies SessionData['cookie']
  await expect(expressStore.set('two', { cookie })).rejects.toThrow('there is no session to save')
  clock.now += 1000
  await expressStore.touch('one', { cookie })
  expect([contentAt('two'), lifeOf('one')]).toEqual([undefined, IDLE_MS - 1000])
})
