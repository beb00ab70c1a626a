import { expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import { counted } from './counted.ts'
import { LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

const DIRECTORY = '/api/v1/pam/groups'
const MAX_WAIT_MS = 2000
/** Too old to be served during a refresh, but not after an error. */
const OLD_MS = 700_000

const harness = usePamHarness(({ pam }) => pam.control.setUserGroups(LOGIN, ['Platform Admins']))

const calls = () => harness.pam.requestLog.entries.length
const isFresh = async (broker = harness.broker) =>
  ((await broker.get(DIRECTORY)).body.meta as { stale: boolean }).stale === false

test('a slow read: the cached list is served after 2 s on every replica, and the new list when the read ends', async () => {
  const other = await harness.replica()
  await harness.broker.get(DIRECTORY)
  await other.get(DIRECTORY)
  harness.advance(OLD_MS)
  const before = calls()
  const release = harness.pam.faults.hold()
  for (let round = 1; round <= 2; round++) {
    const brokers = [harness.broker, harness.broker, other]
    const waiting = harness.timers(MAX_WAIT_MS)
    const asking = brokers.map((broker) => broker.get(DIRECTORY))
    await until(() => harness.timers(MAX_WAIT_MS) - waiting === brokers.length)
    harness.advance(MAX_WAIT_MS)
    for (const { status, body } of await Promise.all(asking))
      expect([status, body.meta]).toMatchObject([200, { stale: true }])
  }
  expect(calls() - before).toBe(1)
  expect(await counted(harness.broker.metrics, 'pam_cache_requests_total')).toMatchObject({
    'directory stale_on_timeout': 4,
  })
  release()
  for (const broker of [harness.broker, other]) await until(() => isFresh(broker))
  expect(harness.pam.control.counts().groupLists).toBe(2)
})

// shows: D-3.2
test('callers wait for a response within 2 s, and no timer is left', async () => {
  await harness.broker.get(DIRECTORY)
  harness.advance(OLD_MS)
  expect(await isFresh()).toBe(true)
  expect(harness.timers()).toBe(0)
})

test('a slow read that fails after the cached list was served has no effect', async () => {
  await harness.broker.get(DIRECTORY)
  harness.advance(OLD_MS)
  const release = harness.pam.faults.hold()
  const asking = harness.broker.get(DIRECTORY)
  await until(() => harness.timers(MAX_WAIT_MS) === 1)
  harness.advance(MAX_WAIT_MS)
  expect((await asking).status).toBe(200)
  harness.pam.faults.set({ kind: 'status', status: 500 })
  release()
  await until(async () => (await counted(harness.broker.metrics, 'pam_errors_total')).unknown_error === 3)
  expect((await harness.broker.get(DIRECTORY)).body.meta).toMatchObject({ stale: true })
})

test('without a cached list, callers wait for a response that takes longer than 2 s', async () => {
  const release = harness.pam.faults.hold()
  const asking = harness.broker.get(DIRECTORY)
  await until(() => calls() === 1)
  harness.advance(MAX_WAIT_MS + 1000)
  release()
  expect((await asking).status).toBe(200)
})
