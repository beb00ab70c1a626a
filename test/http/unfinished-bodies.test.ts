import { expect, test } from '@jest/globals'
import {
  type BodyLimits,
  createUnfinishedBodies,
  type UnfinishedBody,
} from '../../src/http/unfinished-bodies.ts'
import { createMetrics } from '../../src/observability/metrics.ts'

function bodies(limits: BodyLimits) {
  const metrics = createMetrics({ processMetrics: false })
  let droppedBytes = 0
  const garbage = {
    noteFreed(bytes: number) {
      droppedBytes += bytes
    },
  }
  const unfinished = createUnfinishedBodies({ limits, retryAfterSeconds: 7, garbage, metrics })
  const evicted: string[] = []
  return {
    evicted,
    droppedBytes: () => droppedBytes,
    metrics,
    add(name: string, address: string, bytes: number) {
      const body: UnfinishedBody = {
        address,
        bytes,
        evict({ status, headers }) {
          evicted.push(name)
          expect([status, headers]).toEqual([503, { 'Retry-After': '7' }])
        },
      }
      unfinished.add(body)
      return {
        remove: () => unfinished.remove(body),
        resize: (to: number) => unfinished.resize(body, to),
      }
    },
  }
}
const MANY = { bodies: 1000, bytes: 1000 }

test.each([
  ['bodies', { bodies: 2, bytes: 1000 }],
  ['bytes', { bodies: 1000, bytes: 20 }],
])('of equal bodies of an address, the oldest are evicted, by number of %s', async (_name, perAddress) => {
  const { add, evicted, metrics } = bodies({ total: MANY, perAddress })
  for (const name of ['a1', 'a2', 'a3', 'a4']) add(name, 'a', 10)
  add('b1', 'b', 10)
  expect(evicted).toEqual(['a1', 'a2'])
  expect((await metrics.requestsShed.get()).values).toMatchObject([
    { labels: { kind: 'body', reason: 'address' }, value: 2 },
  ])
})

test.each([
  ['bodies', { bodies: 2, bytes: 1000 }],
  ['bytes', { bodies: 1000, bytes: 20 }],
])('of equal bodies of all addresses, the oldest are evicted, by number of %s', async (_name, total) => {
  const { add, evicted, metrics } = bodies({ total, perAddress: MANY })
  for (const name of ['a', 'b', 'c', 'd']) add(name, name, 10)
  expect(evicted).toEqual(['a', 'b'])
  expect((await metrics.requestsShed.get()).values).toMatchObject([
    { labels: { kind: 'body', reason: 'in_flight' }, value: 2 },
  ])
})

test.each([
  ['bodies', { bodies: 4, bytes: 1000 }],
  ['bytes', { bodies: 1000, bytes: 40 }],
])('by number of %s, the oldest body of the address with the largest usage is evicted', (_name, total) => {
  const { add, evicted } = bodies({ total, perAddress: MANY })
  add('only', 'honest', 10)
  for (const name of ['a1', 'a2']) add(name, 'a', 10)
  for (const name of ['b1', 'b2', 'b3']) add(name, 'b', 10)
  expect(evicted).toEqual(['a1', 'b1'])
})

test('the only body of an address stays while another address has several, however large it is', () => {
  const { add, evicted } = bodies({ total: { bodies: 10, bytes: 100 }, perAddress: MANY })
  for (const name of ['a1', 'a2', 'a3']) add(name, 'a', 30)
  add('only', 'honest', 70)
  expect(evicted).toEqual(['a1', 'a2'])
})

test('if every address has one body, a large one is evicted, but newer ones get time to arrive', () => {
  const { add, evicted, droppedBytes } = bodies({ total: { bodies: 10, bytes: 60 }, perAddress: MANY })
  add('large', 'a', 20)
  for (const name of ['b', 'c', 'd', 'e']) add(name, name, 10)
  expect(evicted).toEqual([])
  add('newest', 'f', 15)
  expect([evicted, droppedBytes()]).toEqual([['large'], 20])
  add('newer', 'g', 15)
  expect(evicted).toEqual(['large', 'b'])
})

test('a growing body counts with its current size, and can cause evictions', () => {
  const { add, evicted } = bodies({ total: { bodies: 10, bytes: 100 }, perAddress: MANY })
  const growing = add('growing', 'a', 10)
  add('other', 'b', 10)
  growing.resize(90)
  expect(evicted).toEqual([])
  growing.resize(91)
  expect(evicted).toEqual(['growing'])
  growing.resize(1000) // has been evicted
  for (const name of ['c', 'd', 'e']) add(name, name, 30)
  expect(evicted).toEqual(['growing'])
})

test('a client that declares large bodies evicts no small ones of its address', () => {
  const { add, evicted } = bodies({ total: MANY, perAddress: { bodies: 100, bytes: 100 } })
  add('small', 'a', 1)
  for (let n = 0; n < 50; n++) add('large', 'a', 60)
  expect(new Set(evicted)).toEqual(new Set(['large']))
})

test('a single body is accepted, however large it is', () => {
  const { add, evicted } = bodies({
    total: { bodies: 10, bytes: 30 },
    perAddress: { bodies: 10, bytes: 30 },
  })
  add('a', 'a', 31).remove()
  add('b', 'a', 31)
  expect(evicted).toEqual([])
})

test('a released or evicted body frees its capacity only once', () => {
  const { add, evicted } = bodies({ total: { bodies: 2, bytes: 1000 }, perAddress: MANY })
  const first = add('a', 'a', 10)
  first.remove()
  first.remove()
  const second = add('b', 'b', 10)
  add('c', 'c', 10)
  add('d', 'd', 10)
  second.remove() // already evicted
  expect(evicted).toEqual(['b'])
  add('e', 'e', 10)
  expect(evicted).toEqual(['b', 'c'])
})
