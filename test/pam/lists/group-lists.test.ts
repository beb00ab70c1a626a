import { expect, test } from '@jest/globals'
import { createGroupLists } from '../../../src/pam/lists/group-lists.ts'
import type { CachedList, ListRecords } from '../../../src/pam/lists/list-records.ts'
import { deferred } from '../../support/deferred.ts'
import { TUNABLES } from '../pam-broker.ts'

const LIST = { kind: 'directory' } as const
const UNPURGED = { generation: '' }
const groups = (name: string) => [{ id: '00000000-0000-4000-8000-000000000001', name, roles: [] }]

/** A store whose responses to reads can be delayed. */
function harness() {
  let delivered = Promise.resolve()
  const stored = new Map<string, CachedList>()
  const readHead = async (name: string) => {
    const list = stored.get(name)
    await delivered
    return list && { ...list, unknown: list.groups === undefined }
  }
  const records: ListRecords = {
    readHead,
    read: readHead,
    write: async (name, list) => void stored.set(name, list),
    remove: async (name) => void stored.delete(name),
  }
  const generations = new Map<string, string>()
  const replica = () =>
    createGroupLists({
      records,
      generations: {
        get: async (name) => generations.get(name),
        set: async (name, text) => generations.set(name, text).has(name),
      },
      team: { check: async () => Number.NEGATIVE_INFINITY },
      scope: 'scope',
      keptMs: { directory: 900_000, me: 300_000 },
      confirmMs: 1000,
      maxMemoryBytes: 1_000_000,
      tunables: TUNABLES,
      clock: { now: () => 0, isSet: () => true, observe: () => {} },
      monotonic: () => 0,
    })
  return {
    replica,
    holdReads() {
      const { promise, resolve } = deferred()
      delivered = promise
      return resolve
    },
  }
}

test('a running read of the store does not replace a list that was stored meanwhile', async () => {
  const { replica, holdReads } = harness()
  const [one, other] = [replica(), replica()]
  await other.put(LIST, { ...UNPURGED, groups: groups('old'), fetchedAtMs: 1 })
  for (const hasLooked of [false, true]) {
    if (hasLooked) await one.getFromStore(LIST)
    const release = holdReads()
    const looking = one.getFromStore(LIST)
    await one.put(LIST, { ...UNPURGED, groups: groups('new'), fetchedAtMs: 2 })
    release()
    expect((await looking)?.groups).toMatchObject([{ name: 'new' }])
    expect((await one.get(LIST))?.groups).toMatchObject([{ name: 'new' }])
    await other.put(LIST, { ...UNPURGED, groups: groups('old'), fetchedAtMs: 1 })
  }
})

test('a list that another replica has stored is found', async () => {
  const { replica } = harness()
  const [one, other] = [replica(), replica()]
  await one.put(LIST, { ...UNPURGED, groups: groups('old'), fetchedAtMs: 1 })
  await other.put(LIST, { ...UNPURGED, groups: groups('new'), fetchedAtMs: 2 })
  expect((await one.get(LIST))?.groups).toMatchObject([{ name: 'old' }]) // from memory, for a moment
  expect((await one.getFromStore(LIST))?.groups).toMatchObject([{ name: 'new' }])
})

test('a read that was running during a purge is invalid on every replica; its age is kept', async () => {
  const { replica } = harness()
  const [one, other] = [replica(), replica()]
  const begun = { generation: await one.getGeneration(LIST), fetchedAtMs: 5 }
  await other.purge(LIST)
  await one.put(LIST, { ...begun, groups: groups('old') })
  for (const each of [one, other, replica()]) {
    expect(await each.get(LIST)).toMatchObject({ isPurged: true, fetchedAtMs: 5 })
  }
  await one.put(LIST, { ...begun, fetchedAtMs: 6 })
  expect(await one.get(LIST)).toMatchObject({ isPurged: true, fetchedAtMs: 6 })

  await one.put(LIST, { generation: await one.getGeneration(LIST), fetchedAtMs: 5, groups: groups('new') })
  for (const each of [one, other]) expect((await each.get(LIST))?.groups).toMatchObject([{ name: 'new' }])
})

test('a removed list has no age', async () => {
  const { replica } = harness()
  const [one, other] = [replica(), replica()]
  await one.put(LIST, { ...UNPURGED, fetchedAtMs: 5, groups: groups('old') })
  await other.remove(LIST)
  expect(await other.get(LIST)).toMatchObject({ isPurged: true, fetchedAtMs: 0 })
  expect(await one.getFromStore(LIST)).toMatchObject({ isPurged: true, fetchedAtMs: 0 })
})
