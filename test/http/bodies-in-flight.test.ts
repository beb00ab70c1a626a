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

test.each([
  ['bodies', { bodies: 4, bytes: 1000 }],
  ['bytes', { bodies: 1000, bytes: 40 }],
])('by number of %s, the oldest body of the address that holds the most is evicted', (_name, total) => {
  const { admit, evicted } = bodies({ total, perAddress: MANY })
  admit('only', 'honest', 10)
  for (const name of ['a1', 'a2']) admit(name, 'a', 10)
  for (const name of ['b1', 'b2', 'b3']) admit(name, 'b', 10)
  expect(evicted).toEqual(['a1', 'b1'])
})

test('the only body of an address stays while another address holds several, however large it is', () => {
  const { admit, evicted } = bodies({ total: { bodies: 10, bytes: 100 }, perAddress: MANY })
  for (const name of ['a1', 'a2', 'a3']) admit(name, 'a', 30)
  admit('only', 'honest', 70)
  expect(evicted).toEqual(['a1', 'a2'])
})

test('where every address has one, a large body is evicted, but a newer one gets time to arrive', () => {
  const { admit, evicted, droppedBytes } = bodies({ total: { bodies: 10, bytes: 60 }, perAddress: MANY })
  admit('large', 'a', 20)
  for (const name of ['b', 'c', 'd', 'e']) admit(name, name, 10)
  expect(evicted).toEqual([])
  admit('newest', 'f', 15)
  expect([evicted, droppedBytes()]).toEqual([['large'], 20])
  admit('newer', 'g', 15)
  expect(evicted).toEqual(['large', 'b'])
})

test('a body that grows is counted as what it is now, and evicts', () => {
  const { admit, evicted } = bodies({ total: { bodies: 10, bytes: 100 }, perAddress: MANY })
  const growing = admit('growing', 'a', 10)
  admit('other', 'b', 10)
  growing.resize(90)
  expect(evicted).toEqual([])
  growing.resize(91)
  expect(evicted).toEqual(['growing'])
  growing.resize(1000) // it is gone
  for (const name of ['c', 'd', 'e']) admit(name, name, 30)
  expect(evicted).toEqual(['growing'])
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
