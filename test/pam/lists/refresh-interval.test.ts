import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  type ObservedRateLimit,
  observeRateLimit,
  refreshIntervalMs,
} from '../../../src/pam/lists/refresh-interval.ts'
import { until } from '../../support/until.ts'
import { type PamHarness, startPamHarness } from '../pam-harness.ts'

const HOUR_MS = 3_600_000
const seen = (limit: number, used: number, resetInMs: number): ObservedRateLimit => ({
  limit,
  used,
  resetInMs,
})

describe('a full read uses at most a tenth of the rate limit', () => {
  test.each([
    ['10,000 an hour, no headers seen: 1,000 calls an hour', 100, undefined, HOUR_MS / 10],
    ['40 in 10 s, all used: 4 calls in 10 s', 60, seen(40, 40, 10_000), 150_000],
    ['1,000 a day', 100, seen(1000, 10, 24 * HOUR_MS), 24 * HOUR_MS],
    ['10,000 an hour that come back in parts, a minute each', 100, seen(10_000, 100, 60_000), HOUR_MS / 10],
    ['one page of many', 1, seen(10_000, 1, 60_000), 3600],
    ['a limit that comes back within a minute, half of it used', 30, seen(600, 300, 60_000), 60_000],
  ])('%s', (_what, pages, rate, expected) => {
    expect(refreshIntervalMs(pages, rate)).toBe(expected)
  })

  test('the latest reset and the highest use of all responses are recorded', () => {
    const at = (remaining: number, resetInMs: number) => ({
      limit: 40,
      remaining,
      untilMs: undefined,
      resetMs: 1000 + resetInMs,
    })
    const answers = [at(39, 10_000), at(5, 2000), { ...at(20, 0), resetMs: undefined }, at(30, -500)]
    const rate = answers.reduce<ObservedRateLimit | undefined>(
      (rate, one) => observeRateLimit(rate, one, 1000),
      undefined,
    )
    expect(rate).toEqual(seen(40, 35, 10_000))
    expect(observeRateLimit(rate, { ...at(99, 3000), limit: 100 }, 1000)).toEqual(seen(100, 1, 3000)) // the limit has changed
  })

  test('a response without a limit is ignored', () => {
    for (const limit of [undefined, 0])
      expect(
        observeRateLimit(undefined, { limit, remaining: 1, untilMs: undefined, resetMs: 9 }, 1),
      ).toBeUndefined()
  })
})

describe('over the wire', () => {
  const PAGES = 100
  const PAGE_SIZE = 5
  let harness: PamHarness
  beforeEach(async () => {
    harness = await startPamHarness()
    const living = harness.pam.control.groups().filter(({ deletedAt }) => deletedAt === undefined).length
    harness.pam.control.setPageSize(PAGE_SIZE)
    harness.pam.control.generateGroups(PAGES * PAGE_SIZE - living)
  })
  afterEach(() => harness.close())
  const pages = () => harness.pam.control.counts().groupPages
  const get = (broker = harness.broker) => broker.get('/api/v1/pam/groups')

  test('a directory of 100 pages, polled every 5 s on two replicas, is read once in 190 s', async () => {
    const other = await harness.replica()
    for (let elapsedMs = 0; elapsedMs <= 190_000; elapsedMs += 5000) {
      for (const broker of [harness.broker, other]) {
        const { status, body } = await get(broker)
        expect([status, body.meta]).toMatchObject([200, { stale: false }])
      }
      harness.advance(5000)
    }
    expect(pages()).toBe(PAGES)
  })

  test('it is refreshed in the background after a tenth of an hour', async () => {
    await get()
    harness.advance(HOUR_MS / 10 + 1000)
    expect((await get()).body.meta).toMatchObject({ stale: true })
    await until(async () => (await get()).headers.get('age') === '0')
    expect(pages()).toBe(2 * PAGES)
  })

  test('it is refreshed before it is too old to be served, even with a slow rate limit', async () => {
    harness.pam.control.setRateLimit({ limit: 200, periodSeconds: 3600, parts: 1 })
    await get()
    harness.advance(560_000)
    expect((await get()).body.meta).toMatchObject({ stale: false })
    harness.advance(15_000)
    expect((await get()).body.meta).toMatchObject({ stale: true })
  })

  test('a list of few pages stays fresh for a minute', async () => {
    harness.pam.control.setPageSize(null)
    await get()
    harness.advance(61_000)
    expect((await get()).body.meta).toMatchObject({ stale: true })
  })
})
