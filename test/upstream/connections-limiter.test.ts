import { beforeEach, describe, expect, test } from '@jest/globals'
import { createConnectionLimiter } from '../../src/upstream/connections.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'

/** A fake clock: `advance` fires the timers that are due. */
let time: number
let timers: Set<{ at: number; ring: () => void }>
beforeEach(() => {
  time = 0
  timers = new Set()
})
function advance(ms: number) {
  time += ms
  for (const timer of timers) if (timer.at <= time && timers.delete(timer)) timer.ring()
}
const open = (max: number) =>
  createConnectionLimiter({
    max,
    monotonic: () => time,
    startTimer(ring, ms) {
      const timer = { at: time + ms, ring }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  })

test('a call that waits longer than its budget fails with pool_exhausted; the other calls stay in the queue', async () => {
  const slots = open(1)
  const release = await slots.acquire({ urgent: true, budget: { leftMs: 0 } }) // a free connection needs no wait
  const short = slots.acquire({ urgent: true, budget: { leftMs: 1000 } })
  const patient = slots.acquire({ urgent: true, budget: { leftMs: 2000 } })
  advance(1000)
  await expect(short).rejects.toBeInstanceOf(UpstreamFailure)
  await expect(short).rejects.toMatchObject({ outcome: 'pool_exhausted', retryAfterMs: 1000 })
  release()
  await patient
  expect(timers.size).toBe(0)
})

test('a timer that fires early leaves nothing of the budget', async () => {
  const slots = open(1)
  const budget = { leftMs: 1000 }
  await slots.acquire({ urgent: true, budget: { leftMs: 0 } })
  const waiting = slots.acquire({ urgent: true, budget })
  time = 999.5 // Node's timers and its clock differ slightly
  for (const { ring } of timers) ring()
  await expect(waiting).rejects.toMatchObject({ outcome: 'pool_exhausted' })
  expect(budget.leftMs).toBe(0)
})

test('a queue has no maximum length', async () => {
  const slots = open(1)
  let served = 0
  const release = await slots.acquire({ urgent: true, budget: { leftMs: 2000 } })
  const waiting = Array.from({ length: 1000 }, async () => {
    const done = await slots.acquire({ urgent: true, budget: { leftMs: 2000 } })
    served += 1
    done()
  })
  release()
  await Promise.all(waiting)
  expect(served).toBe(1000)
})

test('waiting reduces the budget, also if a caller waits twice', async () => {
  const slots = open(1)
  const budget = { leftMs: 2000 }
  const release = await slots.acquire({ urgent: true, budget: { leftMs: 0 } })
  const waiting = slots.acquire({ urgent: true, budget })
  advance(1500)
  release()
  const releaseAgain = await waiting
  expect(budget.leftMs).toBe(500)
  const again = slots.acquire({ urgent: true, budget })
  advance(500)
  await expect(again).rejects.toMatchObject({ outcome: 'pool_exhausted' })
  expect(budget.leftMs).toBe(0)
  await expect(slots.acquire({ urgent: true, budget })).rejects.toMatchObject({ outcome: 'pool_exhausted' })
  releaseAgain()
})

test('urgent callers get the next free connection first; calls of one kind are served in order', async () => {
  const slots = open(1)
  const order: string[] = []
  const release = await slots.acquire({ urgent: false, budget: { leftMs: 1 } })
  const calls = ['later 1', 'urgent 1', 'later 2', 'urgent 2'].map(async (name) => {
    const done = await slots.acquire({ urgent: name.startsWith('urgent'), budget: { leftMs: 1000 } })
    order.push(name)
    done()
  })
  release()
  await Promise.all(calls)
  expect(order).toEqual(['urgent 1', 'urgent 2', 'later 1', 'later 2'])
})

test('never more calls in flight than connections', async () => {
  const slots = open(3)
  let running = 0
  let most = 0
  const calls = Array.from({ length: 20 }, async () => {
    const done = await slots.acquire({ urgent: true, budget: { leftMs: 1 } })
    most = Math.max(most, ++running)
    await Promise.resolve()
    running -= 1
    done()
  })
  await Promise.all(calls)
  expect([most, running]).toEqual([3, 0])
})

describe('calls refused because too many run at once', () => {
  let changes: string[]
  beforeEach(() => {
    changes = []
  })
  const adaptive = (max: number) =>
    createConnectionLimiter({
      max,
      monotonic: () => time,
      startTimer: () => () => undefined,
      onChange: (limit, change) => changes.push(`${change} to ${limit}`),
    })
  const now = { urgent: true, budget: { leftMs: 0 } }
  const acquireAll = (slots: ReturnType<typeof adaptive>, count: number) =>
    Promise.all(Array.from({ length: count }, () => slots.acquire(now)))

  test('halve the calls in flight, once for all that were sent before; never below one', async () => {
    const slots = adaptive(20)
    for (const release of await acquireAll(slots, 20)) release('refused')
    expect(changes).toEqual(['lowered to 10'])
    for (const release of await acquireAll(slots, 4)) release('refused')
    expect(changes.slice(1)).toEqual(['lowered to 2'])
    for (const [release] of [await acquireAll(slots, 1), await acquireAll(slots, 1)]) release?.('refused')
    expect(changes.slice(2)).toEqual(['lowered to 1'])
    await acquireAll(slots, 1)
    await expect(slots.acquire(now)).rejects.toMatchObject({ outcome: 'pool_exhausted' })
  })

  test('the limit rises by one per second of answered calls, up to the maximum, and starts waiting calls', async () => {
    const slots = adaptive(4)
    const [refused, answered, ...running] = await acquireAll(slots, 4)
    refused?.('refused')
    time += 999
    answered?.('answered')
    expect(changes).toEqual(['lowered to 2'])
    const waiting = [1, 2].map(() => slots.acquire({ urgent: true, budget: { leftMs: 5000 } }))
    time += 1
    running[0]?.('answered') // one call remains in flight, and three are allowed
    await Promise.all(waiting)
    expect(changes).toEqual(['lowered to 2', 'raised to 3'])
    for (let second = 0; second < 5; second++) {
      time += 1000
      running[1]?.('answered')
      running[1] = await slots.acquire({ urgent: true, budget: { leftMs: 1 } })
    }
    expect(changes.slice(2)).toEqual(['raised to 4'])
  })

  test('calls without a response change nothing', async () => {
    const slots = adaptive(2)
    const [refused, lost] = await acquireAll(slots, 2)
    refused?.('refused')
    time += 10_000
    lost?.()
    expect(changes).toEqual(['lowered to 1'])
  })
})
