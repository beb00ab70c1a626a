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
])(
  'the oldest of equal bodies of an address are evicted for its newest, by number of %s',
  async (_name, perAddress) => {
    const { admit, evicted, metrics } = bodies({ total: MANY, perAddress })
    for (const name of ['a1', 'a2', 'a3', 'a4']) admit(name, 'a', 10)
    admit('b1', 'b', 10)
    expect(evicted).toEqual(['a1', 'a2'])
    expect((await metrics.shedRequests.get()).values).toMatchObject([
      { labels: { kind: 'body', reason: 'address' }, value: 2 },
    ])
  },
)

test.each([
  ['bodies', { bodies: 2, bytes: 1000 }],
  ['bytes', { bodies: 1000, bytes: 20 }],
])('the oldest of equal bodies of all are evicted, by number of %s', async (_name, total) => {
  const { admit, evicted, metrics } = bodies({ total, perAddress: MANY })
  for (const name of ['a', 'b', 'c', 'd']) admit(name, name, 10)
  expect(evicted).toEqual(['a', 'b'])
  expect((await metrics.shedRequests.get()).values).toMatchObject([
    { labels: { kind: 'body', reason: 'in_flight' }, value: 2 },
  ])
})

test('where there are too many bytes, the largest body is evicted, be it the newest', () => {
  const { admit, evicted, droppedBytes } = bodies({ total: { bodies: 10, bytes: 30 }, perAddress: MANY })
  for (const name of ['a', 'b']) admit(name, name, 10)
  admit('large', 'c', 11)
  admit('d', 'd', 10)
  admit('larger', 'e', 15)
  expect([evicted, droppedBytes()]).toEqual([['large', 'larger'], 26])
})

test('a client that announces large bodies evicts no small one of its address, however many they are', () => {
  const { admit, evicted } = bodies({ total: MANY, perAddress: { bodies: 100, bytes: 100 } })
  admit('small', 'a', 1)
  for (let n = 0; n < 50; n++) admit('large', 'a', 60)
  expect(new Set(evicted)).toEqual(new Set(['large']))
})

test('a body that is alone is admitted, however large it is', () => {
  const { admit, evicted } = bodies({
    total: { bodies: 10, bytes: 30 },
    perAddress: { bodies: 10, bytes: 30 },
  })
  admit('a', 'a', 31).release()
  admit('b', 'a', 31)
  expect(evicted).toEqual([])
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
