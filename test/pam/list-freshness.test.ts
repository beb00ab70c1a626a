import { describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { until } from '../support/until.ts'
import { type BrokerAnswer, LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

const harness = usePamHarness(({ pam }) => pam.control.setUserGroups(LOGIN, ['Platform Admins']))

const lists = () => harness.pam.control.counts()
const metaOf = (body: Record<string, unknown>) => body.meta as { fetchedAt: string; stale: boolean }

// shows: D-3.1, D-3.2
test('a list is fresh for 60 s, then served stale during one refresh, then fresh again', async () => {
  await harness.broker.get('/api/v1/pam/groups')
  harness.advance(60_000)
  const { headers, body } = await harness.broker.get('/api/v1/pam/groups')
  expect([headers.get('age'), metaOf(body).stale]).toEqual(['60', false])

  harness.advance(1)
  const release = harness.pam.faults.hold()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => harness.broker.get('/api/v1/pam/groups')),
  )
  expect(answers.map(({ headers }) => headers.get('age'))).toEqual(Array(10).fill('60'))
  expect(answers.every(({ body }) => metaOf(body).stale)).toBe(true)
  release()
  await until(async () => !metaOf((await harness.broker.get('/api/v1/pam/groups')).body).stale)
  expect(lists().groupLists).toBe(2)
})

// shows: D-3.3
test('after 10 min the caller waits for a new list; after an error, a list of up to 15 min is served', async () => {
  await harness.broker.get('/api/v1/pam/groups')
  harness.advance(899_000)
  harness.pam.faults.set({ kind: 'status', status: 500 })
  expect(metaOf((await harness.broker.get('/api/v1/pam/groups')).body).stale).toBe(true)
  harness.advance(2000)
  expect((await harness.broker.get('/api/v1/pam/groups')).status).toBe(502)
  harness.pam.faults.clear()
  expect(metaOf((await harness.broker.get('/api/v1/pam/groups')).body).stale).toBe(false)
})

// shows: D-3.4
test('stale and fresh responses for the same list have different ETags', async () => {
  const fresh = (await harness.broker.get('/api/v1/pam/groups')).headers.get('etag')
  harness.advance(100_000)
  const stale = (await harness.broker.get('/api/v1/pam/groups')).headers.get('etag')
  expect(stale).not.toBe(fresh)
})

test('a failing refresh is not repeated with every request', async () => {
  await harness.broker.get('/api/v1/pam/groups')
  harness.advance(100_000)
  harness.pam.faults.set({ kind: 'status', status: 400 })
  const before = harness.pam.requestLog.entries.length
  for (let n = 0; n < 10; n++) await harness.broker.get('/api/v1/pam/groups')
  await until(() => harness.pam.requestLog.entries.length > before)
  for (let n = 0; n < 10; n++) await harness.broker.get('/api/v1/pam/groups')
  expect(harness.pam.requestLog.entries.length).toBe(before + 1)
})

// shows: D-3.5
test('a list that one replica has refreshed is served by the others within a second', async () => {
  const other = await harness.replica()
  await other.get('/api/v1/pam/me')
  harness.advance(400_000)
  harness.pam.control.setUserGroups(LOGIN, ['Everyone'])
  await harness.broker.get('/api/v1/pam/me')
  expect((await other.get('/api/v1/pam/me')).body.groups).toMatchObject([{ name: 'Everyone' }])
  expect(lists().userLists).toEqual({ [LOGIN]: 2 })
})

test('while the store is out of reach, lookups are 503, and nothing is sent to PAM', async () => {
  await harness.broker.get('/api/v1/pam/me')
  const calls = harness.pam.requestLog.entries.length
  harness.store.disconnect(storeUnavailable())
  harness.advance(1001) // now the store is asked about purges
  for (const path of ['me', 'groups']) {
    const { status, body } = await harness.broker.get(`/api/v1/pam/${path}`)
    expect([status, body.errorCode]).toEqual([503, 'E0000009'])
  }
  expect(harness.pam.requestLog.entries.length).toBe(calls)
  harness.store.reconnect()
  for (const path of ['me', 'groups'])
    expect((await harness.broker.get(`/api/v1/pam/${path}`)).status).toBe(200)
})

describe('a list of a user whose sessions were all ended', () => {
  test('is fetched again on every replica; a read that was running is not used', async () => {
    const other = await harness.replica()
    await harness.broker.get('/api/v1/pam/groups') // mints a token
    const [calls, received] = [harness.pam.requestLog.entries.length, harness.broker.received()]
    const release = harness.pam.faults.hold()
    const asked = harness.broker.get('/api/v1/pam/me')
    await until(() => harness.pam.requestLog.entries.length > calls)
    await other.refetch(LOGIN)
    harness.advance(8000)
    const again = harness.broker.get('/api/v1/pam/me')
    await until(() => harness.broker.received() === received + 2)
    release()
    const fetchedAt = async (asking: Promise<BrokerAnswer>) =>
      Date.parse(metaOf((await asking).body).fetchedAt)
    const [first, second] = [await fetchedAt(asked), await fetchedAt(again)]
    expect(second).toBeGreaterThan(first)
    expect(await fetchedAt(other.get('/api/v1/pam/me'))).toBe(second)
    expect(lists().userLists).toEqual({ [LOGIN]: 2 })
  })
})
