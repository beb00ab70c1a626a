import { beforeEach, describe, expect, test } from '@jest/globals'
import { createListStore, type ListStore } from '../../../src/pam/lists/list-store.ts'
import type { ListRef } from '../../../src/pam/upstream/group.ts'
import { deferred } from '../../support/deferred.ts'
import {
  createListParts,
  DIRECTORY,
  groupOf,
  LISTS,
  type ListParts,
  ME,
  OTHER_USER,
  pagesOf,
} from './list-parts.ts'

/** How long a process does not look whether another one has purged a list. */
const CONFIRM_MS = 1000
const ALL: readonly ListRef[] = [ME, OTHER_USER, DIRECTORY]

let parts: ListParts
/** Of two processes on one store. */
let ours: ListStore
let theirs: ListStore
beforeEach(() => {
  parts = createListParts()
  ours = createListStore(parts.deps)
  theirs = createListStore(parts.replica())
})

const find = async (lists: ListStore, ref: ListRef = ME) => (await lists.find(ref)).list
/** The name of the group in the list that is found. */
const found = async (lists: ListStore, ref: ListRef = ME) => (await find(lists, ref))?.groups[0]?.name
/** As after a read of the API that has just begun. */
async function put(lists: ListStore, name: string, ref: ListRef = ME, ttlMs = LISTS.onErrorMs) {
  const pages = pagesOf(parts.now(), { groups: [groupOf(1, { name })] })
  return lists.put(ref, (await lists.find(ref)).name, pages, ttlMs)
}

describe('a list', () => {
  test('is found by every process, until its time is over', async () => {
    const list = await put(ours, 'a', ME, 5000)
    expect(await find(ours)).toBe(list)
    parts.advance(4999)
    expect(await find(theirs)).toEqual(list)
    parts.advance(1)
    expect(await find(createListStore(parts.replica()))).toBeUndefined()
  })

  test('is one of its user, or of the team: each is found by itself', async () => {
    const named: ListRef = { kind: 'me', user: 'directory' }
    for (const [n, ref] of [...ALL, named].entries()) await put(ours, `list ${n}`, ref)
    for (const lists of [ours, theirs])
      expect(await Promise.all([...ALL, named].map((ref) => found(lists, ref)))).toEqual(
        [0, 1, 2, 3].map((n) => `list ${n}`),
      )
  })

  test.each([
    ['another team', { team: 'other-team' }, undefined],
    ['another API', { baseUrl: 'https://other.example.test' }, undefined],
    ['the same team, written otherwise', { team: 'Example-TEAM' }, 'a'],
  ])('is looked up in %s', async (_what, changes, expected) => {
    await put(ours, 'a')
    expect(await found(createListStore(parts.replica(changes)))).toBe(expected)
  })

  test('has the roles of all its groups', async () => {
    const groups = [['security_admin'], ['delegated_security_admin', 'future_admin']]
    const pages = pagesOf(parts.now(), { groups: groups.map((roles, n) => groupOf(n, { roles })) })
    await ours.put(ME, (await ours.find(ME)).name, pages, LISTS.onErrorMs)
    const roles = {
      roles: ['security_admin', 'delegated_security_admin', 'end_user'],
      maximalRoles: ['security_admin'],
      unknownRoles: ['future_admin'],
    }
    for (const lists of [ours, theirs]) expect(await find(lists)).toMatchObject({ ...pages, ...roles })
  })

  test.each([
    ['now', 0, 0],
    ['before', -7000, 7000],
    ['later, by the clock of another server of the API', 400, 0],
  ])('that was begun %s: its age is never negative', async (_when, beganAgoMs, ageMs) => {
    parts.advance(10_000)
    await ours.put(ME, (await ours.find(ME)).name, pagesOf(parts.now() + beganAgoMs), LISTS.onErrorMs)
    parts.advance(500)
    for (const [lists, sinceMs] of [
      [ours, ageMs + 500],
      [theirs, Math.max(0, -beganAgoMs + 500)],
    ] as const)
      expect(parts.deps.monotonic() - ((await find(lists))?.beganAt ?? 0)).toBe(sinceMs)
  })
})

describe('in memory', () => {
  test('a list is used for a second without a look at the store, and then if nobody has purged it', async () => {
    const list = await put(ours, 'a')
    await find(ours)
    parts.storeReads()
    for (let round = 0; round < 3; round++) {
      parts.advance(CONFIRM_MS - 1)
      expect([await find(ours), parts.storeReads()]).toEqual([list, 0])
      parts.advance(1)
      // the generations of the team and of the list
      expect([await find(ours), parts.storeReads()]).toEqual([list, 2])
    }
    expect(await find(ours)).toBe(list)
  })

  test('while it is fresh, the store is not asked for a newer one', async () => {
    const list = await put(ours, 'old')
    parts.advance(1)
    await put(theirs, 'new')
    parts.advance(LISTS.freshMs - 1)
    expect(await find(ours)).toBe(list)
    parts.advance(CONFIRM_MS)
    expect(await found(ours)).toBe('new')
  })

  test('an old list stays the same object while the store has no newer one', async () => {
    const list = await put(ours, 'a')
    parts.advance(LISTS.freshMs + 1)
    expect(await find(ours)).toBe(list)
    parts.storeReads()
    parts.advance(CONFIRM_MS - 1)
    expect([await find(ours), parts.storeReads()]).toEqual([list, 0])
  })

  test('an old list is not used once it is gone from the store', async () => {
    await put(ours, 'a', ME, LISTS.freshMs)
    parts.advance(LISTS.freshMs + 1)
    expect(await find(ours)).toBeUndefined()
  })

  test('a list that this process puts during a look at the store is used', async () => {
    await put(theirs, 'old')
    const { name } = await theirs.find(ME)
    const gate = deferred()
    parts.holdReads(gate.promise)
    const loading = ours.load(ME, name)
    parts.advance(1)
    const list = await ours.put(ME, name, pagesOf(parts.now()), LISTS.onErrorMs)
    gate.resolve()
    expect((await loading).list).toBe(list)
  })

  test('the least recently used lists are forgotten when all need more than 64 MiB', async () => {
    const large = 'x'.repeat(8 * 1024 * 1024) // about 24 MiB each
    const isForgotten = async (ref: ListRef) => {
      parts.storeReads()
      await find(ours, ref)
      return parts.storeReads() > 0
    }
    for (const ref of [ME, OTHER_USER]) await put(ours, large, ref)
    for (const ref of [OTHER_USER, ME]) await find(ours, ref)
    expect([await isForgotten(ME), await isForgotten(OTHER_USER)]).toEqual([false, false])
    await find(ours, ME)
    await put(ours, large, DIRECTORY)
    expect([await isForgotten(ME), await isForgotten(OTHER_USER)]).toEqual([false, true])
  })
})

describe('after a purge', () => {
  test('of a list, no process finds it after a second, and its record is deleted', async () => {
    for (const ref of ALL) await put(ours, 'a', ref)
    for (const lists of [ours, theirs]) for (const ref of ALL) await find(lists, ref)
    expect(parts.keys(':pam-groups:')).toHaveLength(3)
    await ours.purge(ME)
    expect(parts.keys(':pam-groups:')).toHaveLength(2)
    expect(await found(ours)).toBeUndefined()
    expect(await found(theirs)).toBe('a')
    parts.advance(CONFIRM_MS)
    expect(await found(theirs)).toBeUndefined()
    for (const ref of [OTHER_USER, DIRECTORY])
      expect([await found(ours, ref), await found(theirs, ref)]).toEqual(['a', 'a'])
  })

  test('of the team, no process finds any list after a second', async () => {
    for (const ref of ALL) await put(ours, 'a', ref)
    for (const lists of [ours, theirs]) for (const ref of ALL) await find(lists, ref)
    await ours.purgeAll()
    for (const ref of ALL) expect(await found(ours, ref)).toBeUndefined()
    parts.advance(CONFIRM_MS)
    for (const ref of ALL) expect(await found(theirs, ref)).toBeUndefined()
  })

  test.each<[of: string, purge: (lists: ListStore) => Promise<unknown>]>([
    ['of the list', (lists) => lists.purge(ME)],
    ['of the team', (lists) => lists.purgeAll()],
  ])('%s, a list whose read began before is returned, and never found', async (_of, purge) => {
    const { name } = await ours.find(ME)
    await purge(theirs)
    const list = await ours.put(ME, name, pagesOf(parts.now()), LISTS.onErrorMs)
    expect(list.groups).toEqual([groupOf(1)])
    for (const afterMs of [0, CONFIRM_MS, LISTS.onErrorMs - CONFIRM_MS - 1]) {
      parts.advance(afterMs)
      expect([await find(ours), await find(theirs)]).toEqual([undefined, undefined])
    }
  })

  test('a list that was read again is found, and the purged one in memory is not', async () => {
    await put(ours, 'old')
    await theirs.purge(ME)
    await put(theirs, 'new') // it began at the same time
    parts.advance(CONFIRM_MS)
    expect(await found(ours)).toBe('new')
  })
})
