import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import { counted, LOGIN } from './pam-broker.ts'
import { type Journey, startJourney } from './pam-journey.ts'

const DIRECTORY = '/api/v1/pam/groups'
const MAX_WAIT_MS = 2000
/** Too old to be served while it is refreshed, and not too old to be served on an error. */
const OLD_MS = 700_000

let journey: Journey
beforeEach(async () => {
  journey = await startJourney()
  journey.pam.control.setUserGroups(LOGIN, ['Platform Admins'])
})
afterEach(() => journey.close())

const calls = () => journey.pam.requestLog.entries.length
const isFresh = async (broker = journey.broker) =>
  ((await broker.get(DIRECTORY)).body.meta as { stale: boolean }).stale === false

test('a slow read: the cached list is served after 2 s on every replica, and the new list when the read ends', async () => {
  const other = await journey.replica()
  await journey.broker.get(DIRECTORY)
  await other.get(DIRECTORY)
  journey.advance(OLD_MS)
  const before = calls()
  const letGo = journey.pam.faults.hold()
  for (let round = 1; round <= 2; round++) {
    const brokers = [journey.broker, journey.broker, other]
    const waiting = journey.timers()
    const asking = brokers.map((broker) => broker.get(DIRECTORY))
    await until(() => journey.timers() - waiting === brokers.length)
    journey.advance(MAX_WAIT_MS)
    for (const { status, body } of await Promise.all(asking))
      expect([status, body.meta]).toMatchObject([200, { stale: true }])
  }
  expect(calls() - before).toBe(1)
  expect(await counted(journey.broker.metrics, 'pam_cache_requests_total')).toMatchObject({
    'directory stale_on_timeout': 4,
  })
  letGo()
  for (const broker of [journey.broker, other]) await until(() => isFresh(broker))
  expect(journey.pam.control.counts().groupLists).toBe(2)
})

test('callers wait for a response within 2 s, and no timer is left', async () => {
  await journey.broker.get(DIRECTORY)
  journey.advance(OLD_MS)
  expect(await isFresh()).toBe(true)
  expect(journey.timers()).toBe(0)
})

test('a slow read that fails after the cached list was served has no effect', async () => {
  await journey.broker.get(DIRECTORY)
  journey.advance(OLD_MS)
  const letGo = journey.pam.faults.hold()
  const asking = journey.broker.get(DIRECTORY)
  await until(() => journey.timers() === 1)
  journey.advance(MAX_WAIT_MS)
  expect((await asking).status).toBe(200)
  journey.pam.faults.set({ kind: 'status', status: 500 })
  letGo()
  await until(async () => (await counted(journey.broker.metrics, 'pam_errors_total')).unknown_error === 3)
  expect((await journey.broker.get(DIRECTORY)).body.meta).toMatchObject({ stale: true })
})

test('without a cached list, callers wait for a response that takes longer than 2 s', async () => {
  const letGo = journey.pam.faults.hold()
  const asking = journey.broker.get(DIRECTORY)
  await until(() => calls() === 1)
  journey.advance(MAX_WAIT_MS + 1000)
  letGo()
  expect((await asking).status).toBe(200)
})
