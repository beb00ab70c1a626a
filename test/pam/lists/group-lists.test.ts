import { expect, test } from '@jest/globals'
import { createGroupLists } from '../../../src/pam/lists/group-lists.ts'
import type { SealedRecords } from '../../../src/pam/shared/sealed-records.ts'
import { held } from '../../support/held.ts'

const LIST = { kind: 'directory' } as const
const UNPURGED = { generation: '' }
const groups = (name: string) => [{ id: '00000000-0000-4000-8000-000000000001', name, roles: [] }]

/** A store whose answers to reads can be held on their way. */
function harness() {
  const stored = new Map<string, string>()
  let delivered = Promise.resolve()
  const records: SealedRecords = {
    async read(name, parse) {
      const text = stored.get(name)
      await delivered
      const value = text === undefined ? undefined : parse(text)
      return text === undefined || value === undefined ? undefined : { key: name, raw: text, value }
    },
    async write(name, text) {
      stored.set(name, text)
    },
    async remove(name) {
      stored.delete(name)
    },
    async removeIf({ key }) {
      stored.delete(key)
    },
    keyBeside: (prefix, name) => `${prefix}:${name}`,
  }
  const marks = new Map<string, string>()
  const generations = {
    get: async (name: string) => marks.get(name),
    set: async (name: string, text: string) => marks.set(name, text).has(name),
  }
  const replica = () =>
    createGroupLists({
      records,
      generations,
      scope: 'scope',
      keptMs: { directory: 900_000, me: 300_000 },
      unknownUserMs: 60_000,
      confirmMs: 1000,
      maxMemoryBytes: 1_000_000,
      monotonic: () => 0,
    })
  return {
    replica,
    holdReads() {
      const { gone, letGo } = held()
      delivered = gone
      return letGo
    },
  }
}

test('a look that was on its way when a new list came does not bring the old one back', async () => {
  const { replica, holdReads } = harness()
  const [one, other] = [replica(), replica()]
  await other.put(LIST, { ...UNPURGED, groups: groups('old'), fetchedAtMs: 1 })
  for (const hasLooked of [false, true]) {
    if (hasLooked) await one.lookAgain(LIST)
    const release = holdReads()
    const looking = one.lookAgain(LIST)
    await one.put(LIST, { ...UNPURGED, groups: groups('new'), fetchedAtMs: 2 })
    release()
    expect((await looking)?.groups).toMatchObject([{ name: 'new' }])
    expect((await one.look(LIST))?.groups).toMatchObject([{ name: 'new' }])
    await other.put(LIST, { ...UNPURGED, groups: groups('old'), fetchedAtMs: 1 })
  }
})

test('what another replica has stored since is found', async () => {
  const { replica } = harness()
  const [one, other] = [replica(), replica()]
  await one.put(LIST, { ...UNPURGED, groups: groups('old'), fetchedAtMs: 1 })
  await other.put(LIST, { ...UNPURGED, groups: groups('new'), fetchedAtMs: 2 })
  expect((await one.look(LIST))?.groups).toMatchObject([{ name: 'old' }]) // memory, for a moment
  expect((await one.lookAgain(LIST))?.groups).toMatchObject([{ name: 'new' }])
})

test('what was being read when the list was purged is void on every replica; its age is kept', async () => {
  const { replica } = harness()
  const [one, other] = [replica(), replica()]
  const begun = { generation: await one.generation(LIST), fetchedAtMs: 5 }
  await other.purge(LIST)
  await one.put(LIST, { ...begun, groups: groups('old') })
  for (const each of [one, other, replica()]) {
    expect(await each.look(LIST)).toMatchObject({ isPurged: true, fetchedAtMs: 5 })
  }
  await one.putUnknown(LIST, { ...begun, fetchedAtMs: 6 })
  expect(await one.look(LIST)).toMatchObject({ isPurged: true, fetchedAtMs: 6 })

  await one.put(LIST, { generation: await one.generation(LIST), fetchedAtMs: 5, groups: groups('new') })
  for (const each of [one, other]) expect((await each.look(LIST))?.groups).toMatchObject([{ name: 'new' }])
})

test('a list that is removed has no age any more', async () => {
  const { replica } = harness()
  const [one, other] = [replica(), replica()]
  await one.put(LIST, { ...UNPURGED, fetchedAtMs: 5, groups: groups('old') })
  await other.remove(LIST)
  expect(await other.look(LIST)).toMatchObject({ isPurged: true, fetchedAtMs: 0 })
  expect(await one.lookAgain(LIST)).toMatchObject({ isPurged: true, fetchedAtMs: 0 })
})
