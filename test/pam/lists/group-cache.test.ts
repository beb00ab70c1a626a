import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { type BrokerAnswer, counted, LOGIN } from '../pam-broker.ts'
import { type Journey, startJourney } from '../pam-journey.ts'

let journey: Journey
beforeEach(async () => {
  journey = await startJourney()
  journey.pam.control.setUserGroups(LOGIN, ['Platform Admins'])
})
afterEach(() => journey.close())

const lists = () => journey.pam.control.counts()
const metaOf = (body: Record<string, unknown>) => body.meta as { fetchedAt: string; stale: boolean }

test('a list is fresh for 60 s, then served stale during one refresh, then fresh again', async () => {
  await journey.broker.get('/api/v1/pam/groups')
  journey.advance(60_000)
  expect((await journey.broker.get('/api/v1/pam/groups')).headers.get('age')).toBe('60')
  expect(lists().groupLists).toBe(1)

  journey.advance(500_000)
  const release = journey.pam.faults.hold()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => journey.broker.get('/api/v1/pam/groups')),
  )
  expect(answers.map(({ headers }) => headers.get('age'))).toEqual(Array(10).fill('560'))
  expect(answers.every(({ body }) => metaOf(body).stale)).toBe(true)
  release()
  await until(async () => !metaOf((await journey.broker.get('/api/v1/pam/groups')).body).stale)
  expect(lists().groupLists).toBe(2)
})

test('a list is fresh for exactly 60 s', async () => {
  await journey.broker.get('/api/v1/pam/groups')
  journey.advance(60_000)
  expect(metaOf((await journey.broker.get('/api/v1/pam/groups')).body).stale).toBe(false)
  journey.advance(1)
  expect(metaOf((await journey.broker.get('/api/v1/pam/groups')).body).stale).toBe(true)
})

test('after 10 min the caller waits for a new list; after an error, a list of up to 15 min is served', async () => {
  await journey.broker.get('/api/v1/pam/groups')
  journey.advance(899_000)
  journey.pam.faults.set({ kind: 'status', status: 500 })
  expect(metaOf((await journey.broker.get('/api/v1/pam/groups')).body).stale).toBe(true)
  journey.advance(2000)
  expect((await journey.broker.get('/api/v1/pam/groups')).status).toBe(502)
  journey.pam.faults.clear()
  expect(metaOf((await journey.broker.get('/api/v1/pam/groups')).body).stale).toBe(false)
})

test('a list older than 10 min is not served during a read', async () => {
  await journey.broker.get('/api/v1/pam/groups')
  journey.advance(600_001)
  const calls = journey.pam.requestLog.entries.length
  const release = journey.pam.faults.hold()
  const asking = journey.broker.get('/api/v1/pam/groups')
  await until(() => journey.pam.requestLog.entries.length > calls)
  release()
  const { headers, body } = await asking
  expect([headers.get('age'), metaOf(body).stale]).toEqual(['0', false])
})

test('stale and fresh responses for the same list have different ETags', async () => {
  const fresh = (await journey.broker.get('/api/v1/pam/groups')).headers.get('etag')
  journey.advance(100_000)
  const stale = (await journey.broker.get('/api/v1/pam/groups')).headers.get('etag')
  expect(stale).not.toBe(fresh)
})

test('a failing refresh is not repeated with every request', async () => {
  await journey.broker.get('/api/v1/pam/groups')
  journey.advance(100_000)
  journey.pam.faults.set({ kind: 'status', status: 400 })
  const before = journey.pam.requestLog.entries.length
  for (let n = 0; n < 10; n++) await journey.broker.get('/api/v1/pam/groups')
  await until(() => journey.pam.requestLog.entries.length > before)
  for (let n = 0; n < 10; n++) await journey.broker.get('/api/v1/pam/groups')
  expect(journey.pam.requestLog.entries.length).toBe(before + 1)
})

test('a list that one replica has refreshed is served by the others within a second', async () => {
  const other = await journey.replica()
  await other.get('/api/v1/pam/me')
  journey.advance(400_000)
  journey.pam.control.setUserGroups(LOGIN, ['Everyone'])
  await journey.broker.get('/api/v1/pam/me')
  expect((await other.get('/api/v1/pam/me')).body.groups).toMatchObject([{ name: 'Everyone' }])
  expect(lists().userLists).toEqual({ [LOGIN]: 2 })
})

test('concurrent requests on several replicas share one fetch, or its failure', async () => {
  const waiting = new Set<number>()
  const brokers = await Promise.all(
    Array.from({ length: 4 }, (_, n) =>
      journey.replica({
        async sleep() {
          waiting.add(n) // for the list that another one fetches
          await nextTurn()
        },
      }),
    ),
  )
  const calls = () => journey.pam.requestLog.entries.length
  const arrived = () => brokers.reduce((sum, broker) => sum + broker.arrived(), 0)
  /** Two of each replica. The API answers when it was asked once and all others wait. */
  const ask = async () => {
    const [callsBefore, arrivedBefore] = [calls(), arrived()]
    waiting.clear()
    const letGo = journey.pam.faults.hold()
    const asking = brokers.flatMap((broker) => [broker, broker]).map((one) => one.get('/api/v1/pam/groups'))
    await until(() => calls() > callsBefore && waiting.size === 3 && arrived() - arrivedBefore === 8)
    await nextTurn() // nothing but the list is waited for
    letGo()
    return (await Promise.all(asking)).map(({ status }) => status)
  }
  await journey.broker.get('/api/v1/pam/me')
  expect(calls()).toBe(2) // the token, that person's list

  expect(await ask()).toEqual(Array(8).fill(200))
  expect([calls(), lists().groupLists]).toEqual([3, 1])

  journey.advance(901_000)
  journey.pam.faults.set({ kind: 'status', status: 400 })
  expect(await ask()).toEqual(Array(8).fill(502))
  expect(calls()).toBe(4)
})

test('while the store is out of reach, lists are served from memory or fetched', async () => {
  await journey.broker.get('/api/v1/pam/me')
  journey.store.lose(storeUnavailable())
  journey.advance(30_000)
  expect((await journey.broker.get('/api/v1/pam/me')).headers.get('age')).toBe('30')
  expect((await journey.broker.get('/api/v1/pam/groups')).status).toBe(200)
  journey.advance(400_000)
  expect((await journey.broker.get('/api/v1/pam/me')).headers.get('age')).toBe('0')
  journey.advance(299_000)
  journey.pam.faults.set({ kind: 'status', status: 500 })
  expect((await journey.broker.get('/api/v1/pam/me')).body.meta).toMatchObject({ stale: true })
  journey.advance(2000)
  expect((await journey.broker.get('/api/v1/pam/me')).status).toBe(502) // memory alone goes by the age, too
  journey.pam.faults.clear()
  journey.store.find()
  expect((await journey.broker.get('/api/v1/pam/me')).status).toBe(200)
})

test('a purge while the store is out of reach still applies when the store is back', async () => {
  await journey.broker.get('/api/v1/pam/me')
  journey.advance(290_000)
  journey.store.lose(storeUnavailable())
  journey.pam.control.failNext({
    error: 'forbidden_error',
    path: '/v1/teams/example-team/users',
    times: 'always',
  })
  for (let answer = 200; answer === 200; ) answer = (await journey.broker.get('/api/v1/pam/me')).status
  journey.store.find()
  journey.advance(1001) // looks into the store again
  expect((await journey.broker.get('/api/v1/pam/me')).body.errorCode).toBe('pam_not_permitted')
})

test('cache lookups are counted by list and outcome', async () => {
  await journey.broker.get('/api/v1/pam/me')
  await journey.broker.get('/api/v1/pam/me')
  await journey.broker.get('/api/v1/pam/groups')
  expect(await counted(journey.broker.metrics, 'pam_cache_requests_total')).toEqual({
    'me miss': 1,
    'me fresh': 1,
    'directory miss': 1,
  })
  expect(await counted(journey.broker.metrics, 'pam_pages_fetched_total')).toEqual({ me: 1, directory: 1 })
})

describe('a list of a user whose sessions were all ended', () => {
  test('is fetched again on every replica; a read that was running is not used', async () => {
    const other = await journey.replica()
    await journey.broker.get('/api/v1/pam/groups') // so that the token is there
    const [calls, arrived] = [journey.pam.requestLog.entries.length, journey.broker.arrived()]
    const release = journey.pam.faults.hold()
    const asked = journey.broker.get('/api/v1/pam/me')
    await until(() => journey.pam.requestLog.entries.length > calls)
    await other.refetch(LOGIN)
    journey.advance(4000)
    const again = journey.broker.get('/api/v1/pam/me')
    await until(() => journey.broker.arrived() === arrived + 2)
    release()
    const fetchedAt = async (asking: Promise<BrokerAnswer>) =>
      Date.parse(metaOf((await asking).body).fetchedAt)
    const [first, second] = [await fetchedAt(asked), await fetchedAt(again)]
    expect(second).toBeGreaterThan(first)
    expect(await fetchedAt(other.get('/api/v1/pam/me'))).toBe(second)
    expect(lists().userLists).toEqual({ [LOGIN]: 2 })
  })

  test('is not read more often than with maxAge', async () => {
    let reads = 0
    for (let round = 0; round < 40; round++) {
      await journey.broker.refetch(LOGIN)
      const { status, body, headers } = await journey.broker.get('/api/v1/pam/me')
      if (status === 200) reads += 1
      else
        expect([status, body.errorCode, headers.get('retry-after')]).toEqual([503, 'pam_rate_limited', '4'])
    }
    expect(reads).toBe(1)
    journey.advance(4000)
    expect((await journey.broker.get('/api/v1/pam/me')).status).toBe(200)
    expect(lists().userLists).toEqual({ [LOGIN]: 2 })
  })
})
