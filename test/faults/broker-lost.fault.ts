import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { signInCrowd } from './crowd.ts'
import { type Fleet, startFleet } from './fleet.ts'

/** Brokers that go away under load: killed without a word, and told to stop. */

const PEOPLE = 200

let redis: RedisServer
let fleet: Fleet
beforeEach(async () => {
  redis = await startRedis()
  fleet = await startFleet({ redisUrl: redis.url, brokers: 3 })
})
afterEach(async () => {
  await fleet.stop()
  await redis.stop()
})

const onTheWay = () =>
  until(() => fleet.sandbox.requestLog.authn.entries.length > PEOPLE / 4, { timeoutMs: 60_000 })

test('one of three is killed and comes back: everybody goes on at the others', async () => {
  const crowd = signInCrowd({ fleet, people: PEOPLE, withinMs: 120_000 })
  await onTheWay()
  const [victim] = fleet.brokers
  if (victim === undefined) throw new Error('no broker')
  victim.child.kill('SIGKILL')
  await victim.exited
  await fleet.restart(victim)
  const arrivals = await crowd
  expect(arrivals.filter(({ login, signedInAs }) => login !== signedInAs)).toEqual([])
  expect(arrivals.flatMap(({ statuses }) => statuses).filter((status) => status === 500)).toEqual([])
  expect(arrivals.flatMap(({ statuses }) => statuses)).toContain(0)
})

test('one of three is told to stop under load: no request of its own is lost', async () => {
  const crowd = signInCrowd({ fleet, people: PEOPLE, withinMs: 120_000 })
  await onTheWay()
  const [leaving] = fleet.brokers
  if (leaving === undefined) throw new Error('no broker')
  leaving.child.kill('SIGTERM')
  const arrivals = await crowd
  expect(await leaving.exited).toBe(0)
  expect(arrivals.filter(({ login, signedInAs }) => login !== signedInAs)).toEqual([])
  // nobody was let in any more once it had stopped listening; whoever had been let in got a whole answer
  expect(arrivals.flatMap(({ cutOff }) => cutOff)).toEqual([])
})
