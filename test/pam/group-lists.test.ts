import { expect, test } from '@jest/globals'
import { createGroupLists } from '../../src/pam/group-lists.ts'
import { newPageRead } from '../../src/pam/pages.ts'
import { createPausedReads } from '../../src/pam/paused-reads.ts'
import type { SealedRecords } from '../../src/pam/sealed-records.ts'
import { held } from '../support/held.ts'

const LIST = { kind: 'directory' } as const
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
  const paused = createPausedReads({ records, keptMs: 600_000 })
  const replica = () =>
    createGroupLists({
      records,
      paused,
      scope: 'scope',
      keptMs: { directory: 900_000, me: 300_000 },
      unknownUserMs: 60_000,
      confirmMs: 1000,
      maxMemoryBytes: 1_000_000,
      monotonic: () => 0,
    })
  return {
    paused,
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
  await other.put(LIST, { groups: groups('old'), fetchedAtMs: 1 })
  for (const hasLooked of [false, true]) {
    if (hasLooked) await one.lookAgain(LIST)
    const release = holdReads()
    const looking = one.lookAgain(LIST)
    await one.put(LIST, { groups: groups('new'), fetchedAtMs: 2 })
    release()
    expect((await looking)?.groups).toMatchObject([{ name: 'new' }])
    expect((await one.look(LIST))?.groups).toMatchObject([{ name: 'new' }])
    await other.put(LIST, { groups: groups('old'), fetchedAtMs: 1 })
  }
})

test('what another replica has stored since is found', async () => {
  const { replica } = harness()
  const [one, other] = [replica(), replica()]
  await one.put(LIST, { groups: groups('old'), fetchedAtMs: 1 })
  await other.put(LIST, { groups: groups('new'), fetchedAtMs: 2 })
  expect((await one.look(LIST))?.groups).toMatchObject([{ name: 'old' }]) // memory, for a moment
  expect((await one.lookAgain(LIST))?.groups).toMatchObject([{ name: 'new' }])
})

test('a list that is removed is read from its first page: an interrupted read is gone too', async () => {
  const { paused, replica } = harness()
  const [one, other] = [replica(), replica()]
  const read = { ...newPageRead(), beganAtMs: 5, next: '?offset=2', asked: [''], groups: groups('old') }
  await paused.keep(one.nameOf(LIST), read)
  expect(await paused.find(other.nameOf(LIST), 4)).toEqual(read)
  expect(await paused.find(other.nameOf(LIST), 5)).toBeUndefined() // began too long ago
  await other.remove(LIST, 6)
  expect(await paused.find(one.nameOf(LIST), 4)).toBeUndefined()
})
