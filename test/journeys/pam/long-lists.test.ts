import { expect, test } from '@jest/globals'
import type { Group } from '../../../src/pam/upstream/group.ts'
import { type BrokerAnswer, LOGIN, type PamBroker } from '../../pam/pam-broker.ts'
import { usePamHarness } from '../../pam/pam-harness.ts'
import { useRedis } from '../../support/redis-server.ts'
import { until } from '../../support/until.ts'
import { connectStore } from './connect-store.ts'

/**
 * Two replicas on one Redis, and a team whose list has more pages than one rate-limit period
 * allows.
 */
const PAGES = 60
const PAGE_SIZE = 6
const PERIOD_MS = 10_000
const DIRECTORY = '/api/v1/pam/groups?limit=1000'

const redis = useRedis()
let replicas: PamBroker[]
const harness = usePamHarness(async ({ pam: { control }, replicaOn }) => {
  await redis.client().flushall()
  replicas = []
  for (let n = 0; n < 2; n++) replicas.push(await replicaOn(await connectStore(redis.url)))
  control.setPageSize(PAGE_SIZE)
  const living = control.groups().filter(({ deletedAt }) => deletedAt === undefined).length
  control.generateGroups(PAGES * PAGE_SIZE - living)
  control.setRateLimit({ limit: 40, periodSeconds: PERIOD_MS / 1000, parts: 1 })
})

const counts = () => harness.pam.control.counts()
const replica = (n: number): PamBroker => replicas[n % replicas.length] ?? harness.broker
const idsIn = ({ body }: BrokerAnswer) => new Set((body.list as Group[]).map(({ id }) => id)).size

/** A client that retries after each pause, on the other replica each time. */
async function readDirectory(maxPauses: number, meanwhile = async (_round: number) => {}) {
  for (let round = 0; ; round++) {
    const answer = await replica(round).get(DIRECTORY)
    await meanwhile(round)
    if (answer.status === 200 || round === maxPauses) return answer
    expect([answer.status, answer.body.errorCode]).toEqual([503, 'pam_rate_limited'])
    harness.advance(Number(answer.headers.get('retry-after')) * 1000)
  }
}

// shows: F-7.18, P-13.4, D-2.6
// sandbox shows: F-7.18
test('a list that needs several rate-limit periods is completed, and each page is read once over all replicas', async () => {
  const answer = await readDirectory(3)
  expect(answer.status).toBe(200)
  expect(idsIn(answer)).toBe(PAGES * PAGE_SIZE)
  expect(counts()).toMatchObject({ groupLists: 1, groupPages: PAGES, tokensMinted: 1 })
  expect(counts().errors).toEqual({})
})

// shows: P-14.2, D-2.7
test('users can look up their own groups during the read of a long list', async () => {
  const statuses: number[] = []
  const answer = await readDirectory(5, async (round) => {
    for (let n = 0; n < 4; n++) {
      const login = `user-${round}-${n}@example.com`
      harness.pam.control.setUserGroups(login, ['Everyone'])
      statuses.push((await replica(n).get('/api/v1/pam/me', { login })).status)
    }
  })
  expect(answer.status).toBe(200)
  expect(statuses).toEqual(statuses.map(() => 200))
})

// shows: D-2.8
test('a stale long list is served while it is refreshed in the background over several periods', async () => {
  await readDirectory(3)
  harness.advance(571_000) // as late as the list may be served stale: it has 60 pages
  const before = counts().groupPages
  const isFresh = async () => {
    const answer = await replica(0).get(DIRECTORY)
    expect(answer.status).toBe(200)
    if (!(answer.body.meta as { stale: boolean }).stale) return true
    harness.advance(100)
    return false
  }
  await until(isFresh, { everyMs: 1 })
  expect(counts().groupPages - before).toBe(PAGES)
  expect(counts().groupLists).toBe(2)
})

// shows: D-2.6
test('an interrupted read older than staleMs is not continued', async () => {
  expect((await replica(0).get(DIRECTORY)).status).toBe(503)
  const before = counts()
  harness.advance(600_001)
  const answer = await readDirectory(3)
  expect(answer.status).toBe(200)
  expect(counts().groupLists - before.groupLists).toBe(1)
  expect(counts().groupPages - before.groupPages).toBe(PAGES)
})

test('a list is as old as its first page, even after long pauses', async () => {
  await replica(0).get(DIRECTORY)
  harness.advance(400_000)
  const answer = await readDirectory(3)
  expect(Number(answer.headers.get('age'))).toBeGreaterThanOrEqual(400)
})

// shows: F-7.4
test("the read of a user's own list is continued for as long as that list may be served", async () => {
  harness.pam.control.generateGroups(PAGES * PAGE_SIZE, LOGIN)
  const me = (n: number) => replica(n).get('/api/v1/pam/me')
  const lists = () => counts().userLists[LOGIN]
  await replica(1).get('/api/v1/pam/me', { login: 'nobody@example.com' }) // now it knows PAM's time
  expect((await me(0)).status).toBe(503)
  harness.advance(PERIOD_MS)
  expect([(await me(1)).status, lists()]).toEqual([200, 1])

  harness.advance(400_000)
  expect([(await me(0)).status, lists()]).toEqual([503, 2])
  harness.advance(301_000)
  expect([(await me(1)).status, lists()]).toEqual([503, 3]) // too old to be continued
})

test('directory access is decided on pages of the last 60 s', async () => {
  harness.pam.control.generateGroups(PAGES * PAGE_SIZE, LOGIN)
  const broker = await harness.replica({ directory: { kind: 'rules', roles: ['end_user'], groups: [] } })
  const lists = () => counts().userLists[LOGIN]
  expect([(await broker.get('/api/v1/pam/me')).status, lists()]).toEqual([503, 1])
  harness.advance(61_000)
  let answer = await broker.get(DIRECTORY) // that read is continued, and its list is too old
  expect([answer.status, answer.body.errorCode, lists()]).toEqual([503, 'pam_unavailable', 1])
  for (let round = 0; answer.status !== 200 && round < 5; round++) {
    answer = await broker.get(DIRECTORY)
    harness.advance(PERIOD_MS)
  }
  expect([answer.status, lists()]).toEqual([200, 2])
})

test('pages that were read are discarded when the lookup is forbidden', async () => {
  await replica(0).get(DIRECTORY)
  harness.advance(PERIOD_MS)
  harness.pam.control.failNext({ error: 'forbidden_error', path: '/v1/teams/example-team/groups' })
  expect((await replica(1).get(DIRECTORY)).body.errorCode).toBe('pam_not_permitted')
  const before = counts().groupLists
  await readDirectory(3)
  expect(counts().groupLists - before).toBe(1)
})
