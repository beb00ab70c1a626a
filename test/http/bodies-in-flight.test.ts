import { expect, test } from '@jest/globals'
import { type BodyLimits, createBodiesInFlight } from '../../src/http/bodies-in-flight.ts'
import { createMetrics } from '../../src/observability/metrics.ts'

function bodies(limits: BodyLimits) {
  const metrics = createMetrics({ processMetrics: false })
  let droppedBytes = 0
  const garbage = {
    dropped(bytes: number) {
      droppedBytes += bytes
    },
  }
  const inFlight = createBodiesInFlight({ limits, retryAfterSeconds: 7, garbage, metrics })
  const evicted: string[] = []
  return {
    evicted,
    droppedBytes: () => droppedBytes,
    metrics,
    admit: (name: string, address: string, bytes: number) =>
      inFlight.admit({
        address,
        bytes,
        evict({ status, headers }) {
          evicted.push(name)
          expect([status, headers]).toEqual([503, { 'Retry-After': '7' }])
        },
      }),
  }
}
const MANY = { bodies: 1000, bytes: 1000 }

test.each([
  ['bodies', { bodies: 2, bytes: 1000 }],
  ['bytes', { bodies: 1000, bytes: 20 }],
])('the oldest bodies of an address make room for its newest, by number of %s', async (_name, perAddress) => {
  const { admit, evicted, metrics } = bodies({ total: MANY, perAddress })
  for (const name of ['a1', 'a2', 'a3', 'a4']) admit(name, 'a', 10)
  admit('b1', 'b', 10)
  expect(evicted).toEqual(['a1', 'a2'])
  expect((await metrics.shedRequests.get()).values).toMatchObject([
    { labels: { kind: 'body', reason: 'address' }, value: 2 },
  ])
})

test.each([
  ['bodies', { bodies: 2, bytes: 1000 }],
  ['bytes', { bodies: 1000, bytes: 20 }],
])('the oldest bodies of all make room, by number of %s', async (_name, total) => {
  const { admit, evicted, metrics } = bodies({ total, perAddress: MANY })
  for (const name of ['a', 'b', 'c', 'd']) admit(name, name, 10)
  expect(evicted).toEqual(['a', 'b'])
  expect((await metrics.shedRequests.get()).values).toMatchObject([
    { labels: { kind: 'body', reason: 'in_flight' }, value: 2 },
  ])
})

test('one large body may evict several small ones', () => {
  const { admit, evicted, droppedBytes } = bodies({ total: { bodies: 10, bytes: 30 }, perAddress: MANY })
  for (const name of ['a', 'b', 'c']) admit(name, name, 10)
  admit('large', 'd', 20)
  expect([evicted, droppedBytes()]).toEqual([['a', 'b'], 20])
})

test('a released body makes no room twice, and neither does an evicted one', () => {
  const { admit, evicted } = bodies({ total: { bodies: 2, bytes: 1000 }, perAddress: MANY })
  const first = admit('a', 'a', 10)
  first.release()
  first.release()
  const second = admit('b', 'b', 10)
  admit('c', 'c', 10)
  admit('d', 'd', 10)
  second.release() // it was evicted
  expect(evicted).toEqual(['b'])
  admit('e', 'e', 10)
  expect(evicted).toEqual(['b', 'c'])
})
