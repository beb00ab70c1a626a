import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import type { PamBroker } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

const ME = '/api/v1/pam/me'
const DIRECTORY = '/api/v1/pam/groups'
const LISTS = '/v1/teams/example-team/users'
const USERS = Array.from({ length: 40 }, (_, n) => `user-${n}@example.com`)

let harness: PamHarness
beforeEach(async () => {
  harness = await startPamHarness()
  for (const login of USERS) harness.pam.control.setUserGroups(login, ['Everyone'])
  await harness.broker.get(ME, { login: USERS[0] }) // the token is minted
  harness.advance(2000)
})
afterEach(() => harness.close())

/** `maxWaitMs` is the longest time that a caller waits for a connection. */
const replica = (maxConnections: number, maxWaitMs: number): Promise<PamBroker> =>
  harness.replica({
    maxConnections,
    tunables: (same) => ({ ...same, rateLimit: { ...same.rateLimit, maxWaitMs } }),
  })
const calls = () => harness.pam.requestLog.entries.length
const locks = () =>
  [...harness.store.entries.keys()].filter((key) => key.startsWith('gatehouse:lock:')).length

test('many concurrent users share few connections, and every lookup succeeds within the maximum wait', async () => {
  const broker = await replica(2, 60_000)
  const before = calls()
  const release = harness.pam.faults.hold({ path: LISTS })
  const asking = USERS.slice(1).map((login) => broker.get(ME, { login }))
  await until(() => broker.received() === asking.length && calls() - before === 2)
  release()
  const statuses = (await Promise.all(asking)).map(({ status }) => status)
  expect(statuses).toEqual(asking.map(() => 200))
})

test('a user may have 100 concurrent lookups; further ones get 503, and other users are not affected', async () => {
  const { broker } = harness
  const release = harness.pam.faults.hold({ path: LISTS })
  const asking = Array.from({ length: 100 }, (_, n) =>
    broker.get(ME, { login: USERS[1], headers: { 'x-test-session': `session-${n % 3}` } }),
  )
  await until(() => broker.received() === 101) // one in beforeEach
  const { status, body, headers } = await broker.get(ME, { login: USERS[1] })
  expect([status, body.errorCode, headers.get('retry-after')]).toEqual([503, 'E0000009', '1'])
  expect((await broker.get(ME, { login: USERS[0] })).status).toBe(200)
  release()
  for (const { status } of await Promise.all(asking)) expect(status).toBe(200)
  expect((await broker.get(ME, { login: USERS[1] })).status).toBe(200)
})

test('a lookup that waits too long for a connection gets 503 with Retry-After, and nothing is sent', async () => {
  const broker = await replica(1, 20)
  const before = calls()
  const release = harness.pam.faults.hold({ path: LISTS })
  const first = broker.get(ME, { login: USERS[1] })
  await until(() => calls() - before === 1)
  const { status, body, headers } = await broker.get(ME, { login: USERS[2] })
  expect([status, body.errorCode, headers.get('retry-after')]).toEqual([503, 'pam_unavailable', '1'])
  release()
  expect((await first).status).toBe(200)
  expect(calls() - before).toBe(2) // the first user's status and list
})

test("a user's own lookup gets the next free connection before a directory's", async () => {
  const broker = await replica(1, 60_000)
  const before = calls()
  const release = harness.pam.faults.hold({ path: LISTS, times: 1 })
  const asking = [broker.get(ME, { login: USERS[1] })]
  await until(() => calls() - before === 1)
  asking.push(broker.get(DIRECTORY))
  await until(() => locks() === 2) // it has started, and waits for a connection
  asking.push(broker.get(ME, { login: USERS[2] }))
  await until(() => locks() === 3)
  release()
  expect((await Promise.all(asking)).map(({ status }) => status)).toEqual([200, 200, 200])
  const paths = harness.pam.requestLog.entries.slice(before).map(({ path }) => path)
  expect(paths.map((path) => path.includes('/users/'))).toEqual([true, true, true, true, false])
})
