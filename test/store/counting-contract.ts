import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import type { Counted, CountingWindow } from '../../src/store/counting.ts'
import type { StoreUnderTest } from './store-contract.ts'

/** The part of the store contract that counts. `tested` is asked for when a test runs. */
export function describeCounting(tested: () => StoreUnderTest): void {
  const store = () => tested().store
  const somePlace = () => `gatehouse:test:{${randomUUID()}}`
  const window = (name: string, most: number, ttlMs = 60_000, keySuffix = ''): CountingWindow => ({
    keySuffix,
    name,
    most,
    ttlMs,
  })
  const ttlOf = async (key: string) => (await tested().timeToLive(key)) ?? Number.NaN
  const wasCounted = ({ full }: Counted) => full === undefined

  describe('counting', () => {
    test('a window lets in as many as it may, then says when it ends, and counts no further', async () => {
      const place = somePlace()
      const windows = [window('a', 2)]
      const outcomes = [1, 2, 3, 4].map(async () => wasCounted(await store().count({ place, windows })))
      expect((await Promise.all(outcomes)).filter(Boolean)).toHaveLength(2)
      const refused = await store().count({ place, windows })
      expect(refused).toMatchObject({ instead: false, full: { index: 0 }, countedIn: [] })
      expect(refused.full?.leftMs).toBeGreaterThan(50_000)
      expect(refused.full?.leftMs).toBeLessThanOrEqual(60_000)
    })

    test('it ends so long after its first attempt, whatever followed', async () => {
      const place = somePlace()
      const windows = [window('a', 1, 50)]
      expect(wasCounted(await store().count({ place, windows }))).toBe(true)
      await store().count({ place, windows })
      expect(await ttlOf(place)).toBeLessThanOrEqual(50)
      await tested().letPass(51, async () => Number.isNaN(await ttlOf(place)))
      expect(wasCounted(await store().count({ place, windows: [window('a', 1)] }))).toBe(true)
    })

    test('a window that has ended counts nothing, though another one keeps its key', async () => {
      const place = somePlace()
      const [brief, long] = [window('brief', 1, 50), window('long', 9)]
      expect(wasCounted(await store().count({ place, windows: [brief, long] }))).toBe(true)
      const isOver = async () => wasCounted(await store().count({ place, windows: [brief] }))
      await tested().letPass(51, isOver)
      expect(await ttlOf(place)).toBeGreaterThan(50)
    })

    test('windows of one key: it lives as long as the longest that was begun; others have keys of their own', async () => {
      const place = somePlace()
      const [brief, long] = [window('a', 9, 20_000), window('b', 9, 40_000)]
      await store().count({ place, windows: [brief, window('a', 9, 80_000, ':apart')] })
      expect(await ttlOf(place)).toBeLessThanOrEqual(20_000)
      await store().count({ place, windows: [long] })
      expect(await ttlOf(place)).toBeGreaterThan(30_000)
      await store().count({ place, windows: [window('c', 9, 20_000)] })
      expect(await ttlOf(place)).toBeGreaterThan(30_000)
      expect(await ttlOf(`${place}:apart`)).toBeGreaterThan(60_000)
    })

    test('very many windows of one key are all counted', async () => {
      const place = somePlace()
      const windows = Array.from({ length: 100 }, (_, n) => window(`w${n}`, 1))
      for (const one of windows) expect(wasCounted(await store().count({ place, windows: [one] }))).toBe(true)
      for (const one of windows)
        expect(wasCounted(await store().count({ place, windows: [one] }))).toBe(false)
    })

    test('several windows count together: in all of them, or in none when one is full', async () => {
      const place = somePlace()
      const narrow = window('narrow', 1)
      const wide = window('wide', 3, 90_000)
      expect(wasCounted(await store().count({ place, windows: [wide, narrow] }))).toBe(true)
      for (let n = 0; n < 5; n++) {
        const { full } = await store().count({ place, windows: [wide, narrow] })
        expect(full?.index).toBe(1)
      }
      const alone = [1, 2, 3].map(async () => wasCounted(await store().count({ place, windows: [wide] })))
      expect((await Promise.all(alone)).filter(Boolean)).toHaveLength(2)
      const { full } = await store().count({ place, windows: [narrow, wide] })
      expect(full).toEqual({ index: 1, leftMs: expect.any(Number) }) // the one that ends last
    })

    test('what is taken back is free again, once, and the last one takes the window with it', async () => {
      const place = somePlace()
      const windows = [window('a', 2), window('b', 2)]
      const [one, other] = [await store().count({ place, windows }), await store().count({ place, windows })]
      await store().uncount(place, one.countedIn)
      expect(wasCounted(await store().count({ place, windows }))).toBe(true)
      expect(wasCounted(await store().count({ place, windows }))).toBe(false)
      await store().uncount(place, one.countedIn)
      await store().uncount(place, other.countedIn)
      expect(await tested().timeToLive(place)).toBeUndefined()
      await store().uncount(place, other.countedIn)
      expect(await tested().timeToLive(place)).toBeUndefined()
      await store().uncount(place, [])
    })

    test('what was counted in a window that has ended is not taken from the next one', async () => {
      const place = somePlace()
      const first = await store().count({ place, windows: [window('a', 1)] })
      await store().endCounts(place, [window('a', 1), window('never', 1), window('a', 1, 1, ':other')])
      await store().endCounts(place, [])
      expect(wasCounted(await store().count({ place, windows: [window('a', 1)] }))).toBe(true)
      await store().uncount(place, first.countedIn)
      expect(wasCounted(await store().count({ place, windows: [window('a', 1)] }))).toBe(false)
    })

    test('windows end and a mark is left in one step, with a time of its own', async () => {
      const place = somePlace()
      const [one, other] = [window('a', 1), window('b', 1)]
      await store().count({ place, windows: [one, other] })
      const mark = { key: `${place}:mark`, ttlMs: 20_000 }
      await store().endCounts(place, [one], mark)
      expect(await store().get(mark.key)).toBe('1')
      expect(await ttlOf(mark.key)).toBeGreaterThan(15_000)
      expect(await ttlOf(mark.key)).toBeLessThanOrEqual(20_000)
      expect(wasCounted(await store().count({ place, windows: [one] }))).toBe(true)
      expect(wasCounted(await store().count({ place, windows: [other] }))).toBe(false)
      await store().endCounts(place, [], { ...mark, ttlMs: 40_000 })
      expect(await ttlOf(mark.key)).toBeGreaterThan(35_000)
    })

    test('where a key is there, other windows count in place of the usual ones', async () => {
      const place = somePlace()
      const ifThere = `${place}:mark`
      const counting = { place, windows: [window('a', 1)], instead: { ifThere, windows: [window('b', 1)] } }
      expect(await store().count(counting)).toMatchObject({ instead: false, full: undefined })
      await store().set(ifThere, '1', 60_000)
      const known = await store().count(counting)
      expect(known).toMatchObject({ instead: true, full: undefined, countedIn: [{ window: { name: 'b' } }] })
      expect(await store().count(counting)).toMatchObject({ instead: true, full: { index: 0 } })
      await store().delete(ifThere)
      expect(await store().count(counting)).toMatchObject({ instead: false, full: { index: 0 } })
    })

    test('what comes too late by the store’s own clock is not counted, and told', async () => {
      const counting = { place: somePlace(), windows: [window('a', 1)] }
      const late = { ...counting, notAfterMs: tested().clock() - 1000 }
      const nothing = { instead: false, full: undefined, late: true, countedIn: [] }
      expect(await store().count(late)).toEqual(nothing)
      const inTime = await store().count({ ...counting, notAfterMs: tested().clock() + 60_000 })
      expect(inTime).toMatchObject({ full: undefined, countedIn: [{ window: { name: 'a' } }] })
      expect(inTime.late).toBeUndefined()
      expect(await store().count(late)).toEqual(nothing) // whether it is full is not looked at
      expect(await store().count(counting)).toMatchObject({ full: { index: 0 } })
    })

    test('a time that was over in 1970 is too late like any other', async () => {
      const counting = { place: somePlace(), windows: [window('a', 1)], notAfterMs: 0 }
      expect(await store().count(counting)).toMatchObject({ late: true, countedIn: [] })
    })

    test.each([
      ['lets in infinitely many', { most: Number.POSITIVE_INFINITY }],
      ['lets in no number of attempts', { most: Number.NaN }],
      ['lets in nobody', { most: 0 }],
      ['lets in fewer than nobody', { most: -1 }],
      ['lets in half an attempt', { most: 2.5 }],
      ['never ends', { ttlMs: Number.POSITIVE_INFINITY }],
      ['ends at no time', { ttlMs: Number.NaN }],
    ])(
      'a window that %s is refused, also where it would not count, and nothing is counted',
      async (_what, wrong) => {
        const place = somePlace()
        const [sound, unsound] = [window('sound', 1), { ...window('unsound', 1), ...wrong }]
        const ifThere = `${place}:mark`
        for (const counting of [
          { place, windows: [sound, unsound] },
          { place, windows: [sound], instead: { ifThere, windows: [unsound] } },
        ])
          await expect(store().count(counting)).rejects.toThrow(TypeError)
        expect(await tested().timeToLive(place)).toBeUndefined()
        expect(wasCounted(await store().count({ place, windows: [sound] }))).toBe(true)
        await expect(store().count({ place, windows: [sound, unsound] })).rejects.toThrow(TypeError) // nor when one is full
      },
    )

    test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
      'too late at %s is refused, and nothing is counted',
      async (notAfterMs) => {
        const counting = { place: somePlace(), windows: [window('a', 1)] }
        await expect(store().count({ ...counting, notAfterMs })).rejects.toThrow(TypeError)
        expect(wasCounted(await store().count(counting))).toBe(true)
      },
    )

    test('without windows nothing is full', async () => {
      const counted = { instead: false, full: undefined, countedIn: [] }
      expect(await store().count({ place: somePlace(), windows: [] })).toEqual(counted)
    })

    test('two hundred at once, on several places: exactly as many as may', async () => {
      const places = [somePlace(), somePlace(), somePlace()]
      const windows = [window('a', 50), window('b', 20)]
      const outcomes = await Promise.all(
        Array.from({ length: 600 }, async (_, n) => {
          const place = places[n % places.length] ?? ''
          return { place, counted: wasCounted(await store().count({ place, windows })) }
        }),
      )
      for (const place of places) {
        expect(outcomes.filter((outcome) => outcome.place === place && outcome.counted)).toHaveLength(20)
        expect(await ttlOf(place)).toBeGreaterThan(0)
      }
    })

    test('keys of two slots are refused', async () => {
      const instead = { ifThere: somePlace(), windows: [] }
      await expect(store().count({ place: somePlace(), windows: [], instead })).rejects.toThrow('hash tag')
      const mark = { key: somePlace(), ttlMs: 1000 }
      await expect(store().endCounts(somePlace(), [window('a', 1)], mark)).rejects.toThrow('hash tag')
    })
  })
}
