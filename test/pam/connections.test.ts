import { expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import type { PamBroker } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

const ME = '/api/v1/pam/me'
const DIRECTORY = '/api/v1/pam/groups'
const LISTS = '/v1/teams/example-team/users'
const USERS = Array.from({ length: 40 }, (_, n) => `user-${n}@example.com`)

const harness = usePamHarness(async (it) => {
  for (const login of USERS) it.pam.control.setUserGroups(login, ['Everyone'])
  await it.broker.get(ME, { login: USERS[0] }) // the token is minted
  it.advance(2000)
})

/** `maxWaitMs` is the longest time that a caller waits for a connection. */
const replica = (maxConnections: number, maxWaitMs: number): Promise<PamBroker> =>
  harness.replica({
    maxConnections,
    maxWaitMs,
  })
const calls = () => harness.pam.requestLog.entries.length

// shows: D-4.7
test('many concurrent users share few connections, and every lookup succeeds within the maximum wait', async () => {
  const broker = await replica(2, 60_000)
  await broker.get(ME, { login: USERS[1] }) // now it knows what remains of the rate limit
  const before = calls()
  const release = harness.pam.faults.hold({ path: LISTS })
  const asking = USERS.slice(2).map((login) => broker.get(ME, { login }))
  await until(() => broker.received() === asking.length + 1 && calls() - before === 2)
  release()
  const statuses = (await Promise.all(asking)).map(({ status }) => status)
  expect(statuses).toEqual(asking.map(() => 200))
})

// shows: D-4.7
test('a lookup that waits too long for a connection gets 503 with Retry-After, and nothing is sent', async () => {
  const broker = await replica(1, 20)
  const before = calls()
  const release = harness.pam.faults.hold({ path: LISTS })
  const first = broker.get(ME, { login: USERS[1] })
  await until(() => calls() - before === 1)
  const waiting = harness.timers()
  const second = broker.get(ME, { login: USERS[2] })
  await until(() => harness.timers() > waiting)
  harness.advance(20)
  const { status, body, headers } = await second
  expect([status, body.errorCode, headers.get('retry-after')]).toEqual([503, 'pam_unavailable', '1'])
  release()
  expect((await first).status).toBe(200)
  expect(calls() - before).toBe(1)
})

// shows: D-2.7
test("directories do not take the connections that are kept for users' own lookups", async () => {
  const broker = await replica(4, 60_000)
  await broker.get(ME, { login: USERS[1] })
  const release = harness.pam.faults.hold({ path: '/v1/teams/example-team/groups' })
  const before = calls()
  const directory = broker.get(DIRECTORY)
  await until(() => calls() - before === 1) // all connections that a directory may take
  for (const login of USERS.slice(2)) expect((await broker.get(ME, { login })).status).toBe(200)
  release()
  expect((await directory).status).toBe(200)
})
