import { describe, expect, test } from '@jest/globals'
import { v4 as uuid } from 'uuid'
import type { CountResult, LimitWindow } from '../../src/store/attempt-counters.ts'
import type { StoreUnderTest } from './store-contract.ts'

/** The contract of `AttemptCounters`. `tested` is called when a test runs. */
export function describeCounting(tested: () => StoreUnderTest): void {
  const store = () => tested().store
  const newKeyPrefix = () => `gatehouse:test:{${uuid()}}`
  const window = (name: string, maxAttempts: number, ttlMs = 60_000, keySuffix = ''): LimitWindow => ({
    keySuffix,
    name,
    maxAttempts,
    ttlMs,
  })
  const ttlOf = async (key: string) => (await tested().timeToLive(key)) ?? Number.NaN
  const wasCounted = ({ full }: CountResult) => full === undefined

  describe('counting', () => {
    test('a window allows its maximum of attempts; further ones are not counted and get its remaining time', async () => {
      const keyPrefix = newKeyPrefix()
      const windows = [window('a', 2)]
      const outcomes = [1, 2, 3, 4].map(async () =>
        wasCounted(await store().countAttempt({ keyPrefix, windows })),
      )
      expect((await Promise.all(outcomes)).filter(Boolean)).toHaveLength(2)
      const refused = await store().countAttempt({ keyPrefix, windows })
      expect(refused).toMatchObject({ overridden: false, full: { index: 0 }, countedWindows: [] })
      expect(refused.full?.leftMs).toBeGreaterThan(50_000)
      expect(refused.full?.leftMs).toBeLessThanOrEqual(60_000)
    })

    test('a window ends its time to live, rounded up, after its first attempt, whatever follows', async () => {
      const keyPrefix = newKeyPrefix()
      const windows = [window('a', 1, 49.5)]
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows }))).toBe(true)
      await store().countAttempt({ keyPrefix, windows })
      expect((await tested().timeToLive(keyPrefix)) ?? 0).toBeLessThanOrEqual(50)
      await tested().letPass(51, async () => Number.isNaN(await ttlOf(keyPrefix)))
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows: [window('a', 1)] }))).toBe(true)
    })

    test('a window that has ended counts nothing, even if another window keeps its key alive', async () => {
      const keyPrefix = newKeyPrefix()
      const [brief, long] = [window('brief', 1, 50), window('long', 9)]
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows: [brief, long] }))).toBe(true)
      const isOver = async () => wasCounted(await store().countAttempt({ keyPrefix, windows: [brief] }))
      await tested().letPass(51, isOver)
      expect(await ttlOf(keyPrefix)).toBeGreaterThan(50)
    })

    test('a key lives as long as its longest window; windows with another suffix have another key', async () => {
      const keyPrefix = newKeyPrefix()
      const [brief, long] = [window('a', 9, 20_000), window('b', 9, 40_000)]
      await store().countAttempt({ keyPrefix, windows: [brief, window('a', 9, 80_000, ':apart')] })
      expect(await ttlOf(keyPrefix)).toBeLessThanOrEqual(20_000)
      await store().countAttempt({ keyPrefix, windows: [long] })
      expect(await ttlOf(keyPrefix)).toBeGreaterThan(30_000)
      await store().countAttempt({ keyPrefix, windows: [window('c', 9, 20_000)] })
      expect(await ttlOf(keyPrefix)).toBeGreaterThan(30_000)
      expect(await ttlOf(`${keyPrefix}:apart`)).toBeGreaterThan(60_000)
    })

    test('several windows count together: in all of them, or in none if one is full', async () => {
      const keyPrefix = newKeyPrefix()
      const narrow = window('narrow', 1)
      const wide = window('wide', 3, 90_000)
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows: [wide, narrow] }))).toBe(true)
      for (let n = 0; n < 5; n++) {
        const { full } = await store().countAttempt({ keyPrefix, windows: [wide, narrow] })
        expect(full?.index).toBe(1)
      }
      const alone = [1, 2, 3].map(async () =>
        wasCounted(await store().countAttempt({ keyPrefix, windows: [wide] })),
      )
      expect((await Promise.all(alone)).filter(Boolean)).toHaveLength(2)
      const { full } = await store().countAttempt({ keyPrefix, windows: [narrow, wide] })
      // of the full windows, the one that ends last
      expect(full).toEqual({ index: 1, leftMs: expect.any(Number) })
    })

    test('a refunded attempt is available again, once, and the last refund removes the window', async () => {
      const keyPrefix = newKeyPrefix()
      const windows = [window('a', 2), window('b', 2)]
      const [one, other] = [
        await store().countAttempt({ keyPrefix, windows }),
        await store().countAttempt({ keyPrefix, windows }),
      ]
      await store().refundAttempt(keyPrefix, one.countedWindows)
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows }))).toBe(true)
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows }))).toBe(false)
      await store().refundAttempt(keyPrefix, one.countedWindows)
      await store().refundAttempt(keyPrefix, other.countedWindows)
      expect(await tested().timeToLive(keyPrefix)).toBeUndefined()
      await store().refundAttempt(keyPrefix, other.countedWindows)
      expect(await tested().timeToLive(keyPrefix)).toBeUndefined()
      await store().refundAttempt(keyPrefix, [])
    })

    test('an attempt of a window that has ended is not refunded to the next window', async () => {
      const keyPrefix = newKeyPrefix()
      const first = await store().countAttempt({ keyPrefix, windows: [window('a', 1)] })
      await store().clearWindows(keyPrefix, [window('a', 1), window('never', 1), window('a', 1, 1, ':other')])
      await store().clearWindows(keyPrefix, [])
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows: [window('a', 1)] }))).toBe(true)
      await store().refundAttempt(keyPrefix, first.countedWindows)
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows: [window('a', 1)] }))).toBe(false)
    })

    test('windows are cleared and the markers are set in one step, with their own time to live', async () => {
      const keyPrefix = newKeyPrefix()
      const [one, other] = [window('a', 1), window('b', 1)]
      await store().countAttempt({ keyPrefix, windows: [one, other] })
      const marks = { keys: [`${keyPrefix}:mark`, `${keyPrefix}:other-mark`], ttlMs: 20_000 }
      await store().clearWindows(keyPrefix, [one], marks)
      for (const key of marks.keys) {
        expect(await store().get(key)).toBe('1')
        expect(await ttlOf(key)).toBeGreaterThan(15_000)
        expect(await ttlOf(key)).toBeLessThanOrEqual(20_000)
      }
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows: [one] }))).toBe(true)
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows: [other] }))).toBe(false)
      await store().clearWindows(keyPrefix, [], { ...marks, ttlMs: 40_000 })
      for (const key of marks.keys) expect(await ttlOf(key)).toBeGreaterThan(35_000)
    })

    test('if the override key exists, the windows of the override count instead', async () => {
      const keyPrefix = newKeyPrefix()
      const ifKeyExists = `${keyPrefix}:mark`
      const counting = {
        keyPrefix,
        windows: [window('a', 1)],
        override: { ifKeyExists, windows: [window('b', 1)] },
      }
      expect(await store().countAttempt(counting)).toMatchObject({ overridden: false, full: undefined })
      await store().set(ifKeyExists, '1', 60_000)
      const known = await store().countAttempt(counting)
      expect(known).toMatchObject({
        overridden: true,
        full: undefined,
        countedWindows: [{ window: { name: 'b' } }],
      })
      expect(await store().countAttempt(counting)).toMatchObject({ overridden: true, full: { index: 0 } })
      await store().delete(ifKeyExists)
      expect(await store().countAttempt(counting)).toMatchObject({ overridden: false, full: { index: 0 } })
    })

    test('unless a key exists, long windows are shortened, and are fields of the key of the shorter ones', async () => {
      const keyPrefix = newKeyPrefix()
      const shorten = { unlessKeyExists: `${keyPrefix}:mark`, toTtlMs: 30_000 }
      const windows = [window('a', 9, 20_000), window('b', 2, 80_000, ':long')]
      const one = await store().countAttempt({ keyPrefix, windows, shorten })
      expect(one.countedWindows.map((counted) => counted.window)).toMatchObject([
        { name: 'a', keySuffix: '' },
        { name: 'b', keySuffix: '' },
      ])
      expect(await ttlOf(keyPrefix)).toBeGreaterThan(20_000)
      expect(await ttlOf(keyPrefix)).toBeLessThanOrEqual(30_000)
      expect(await tested().timeToLive(`${keyPrefix}:long`)).toBeUndefined()

      await store().countAttempt({ keyPrefix, windows, shorten })
      const { full } = await store().countAttempt({ keyPrefix, windows, shorten })
      expect(full).toEqual({ index: 1, leftMs: expect.any(Number) })
      expect(full?.leftMs).toBeLessThanOrEqual(30_000)
      await store().refundAttempt(keyPrefix, one.countedWindows)
      expect(wasCounted(await store().countAttempt({ keyPrefix, windows, shorten }))).toBe(true)

      await store().set(shorten.unlessKeyExists, '1', 60_000)
      const long = await store().countAttempt({ keyPrefix, windows, shorten })
      expect(long.countedWindows).toMatchObject([{}, { window: { name: 'b', keySuffix: ':long' } }])
      expect(await ttlOf(`${keyPrefix}:long`)).toBeGreaterThan(60_000)
    })

    test('the windows of an override are not shortened', async () => {
      const keyPrefix = newKeyPrefix()
      const ifKeyExists = `${keyPrefix}:known`
      await store().set(ifKeyExists, '1', 60_000)
      const { countedWindows } = await store().countAttempt({
        keyPrefix,
        windows: [window('a', 9)],
        override: { ifKeyExists, windows: [window('b', 2, 80_000, ':long')] },
        shorten: { unlessKeyExists: `${keyPrefix}:mark`, toTtlMs: 30_000 },
      })
      expect(countedWindows).toMatchObject([{ window: { name: 'b', keySuffix: ':long' } }])
    })

    test('an attempt after notAfterMs on the store’s clock is not counted and is reported as late', async () => {
      const counting = { keyPrefix: newKeyPrefix(), windows: [window('a', 1)] }
      const late = { ...counting, notAfterMs: tested().clock() - 1000 }
      const nothing = { overridden: false, full: undefined, late: true, countedWindows: [] }
      expect(await store().countAttempt(late)).toEqual(nothing)
      const inTime = await store().countAttempt({ ...counting, notAfterMs: tested().clock() + 60_000 })
      expect(inTime).toMatchObject({ full: undefined, countedWindows: [{ window: { name: 'a' } }] })
      expect(inTime.late).toBeUndefined()
      expect(await store().countAttempt(late)).toEqual(nothing) // also if the window is full
      expect(await store().countAttempt(counting)).toMatchObject({ full: { index: 0 } })
    })

    test('two hundred concurrent attempts with several key prefixes: exactly the maximum is allowed', async () => {
      const keyPrefixes = [newKeyPrefix(), newKeyPrefix(), newKeyPrefix()]
      const windows = [window('a', 50), window('b', 20)]
      const outcomes = await Promise.all(
        Array.from({ length: 600 }, async (_, n) => {
          const keyPrefix = keyPrefixes[n % keyPrefixes.length] ?? ''
          return { keyPrefix, counted: wasCounted(await store().countAttempt({ keyPrefix, windows })) }
        }),
      )
      for (const keyPrefix of keyPrefixes) {
        expect(outcomes.filter((outcome) => outcome.keyPrefix === keyPrefix && outcome.counted)).toHaveLength(
          20,
        )
        expect(await ttlOf(keyPrefix)).toBeGreaterThan(0)
      }
    })

    test('keys in different slots are refused', async () => {
      const override = { ifKeyExists: newKeyPrefix(), windows: [] }
      await expect(
        store().countAttempt({ keyPrefix: newKeyPrefix(), windows: [], override }),
      ).rejects.toThrow('hash tag')
      const shorten = { unlessKeyExists: newKeyPrefix(), toTtlMs: 1000 }
      await expect(store().countAttempt({ keyPrefix: newKeyPrefix(), windows: [], shorten })).rejects.toThrow(
        'hash tag',
      )
      const marks = { keys: [newKeyPrefix()], ttlMs: 1000 }
      await expect(store().clearWindows(newKeyPrefix(), [window('a', 1)], marks)).rejects.toThrow('hash tag')
    })
  })
}
