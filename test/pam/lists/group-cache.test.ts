import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { createGroupCache, type GroupCache } from '../../../src/pam/lists/group-cache.ts'
import { type ListReader, UNKNOWN_USER_MS } from '../../../src/pam/lists/list-reader.ts'
import { createListStore } from '../../../src/pam/lists/list-store.ts'
import type { ListPages } from '../../../src/pam/lists/pages.ts'
import type { ListRef } from '../../../src/pam/upstream/group.ts'
import type { CallContext } from '../../../src/pam/upstream/pam-call.ts'
import type { PamDepsOptions } from '../../../src/pam/upstream/pam-deps.ts'
import { PamFailure, type PamOutcome } from '../../../src/pam/upstream/pam-errors.ts'
import { deferred } from '../../support/deferred.ts'
import { createListParts, DIRECTORY, LISTS, type ListParts, ME, OTHER_USER, pagesOf } from './list-parts.ts'

/** At which age a list is served how (docs/conformance.md D-2.8, D-3.1 to D-3.5). */

const REFS = { me: ME, directory: DIRECTORY } as const

let parts: ListParts
let cache: GroupCache
let replica: (changes?: Partial<PamDepsOptions>) => GroupCache
/** The reads of the API, in order. */
let reads: { ref: ListRef; context: CallContext; limits: Parameters<ListReader['read']>[3] }[]
/** What a read finds. May throw its failure, and take time. */
let answer: () => Partial<ListPages> | Promise<Partial<ListPages>>

beforeEach(() => {
  parts = createListParts()
  reads = []
  counts = {}
  answer = () => ({})
  replica = (changes) => {
    const deps = parts.replica(changes)
    const lists = createListStore(deps)
    const reader: ListReader = {
      state: () => 'unknown',
      async read(ref, { name }, context, limits) {
        const beganAtMs = parts.now()
        reads.push({ ref, context, limits })
        const pages = await answer()
        const ttlMs = pages.isUnknown ? UNKNOWN_USER_MS : limits.onErrorMs
        return lists.put(ref, name, pagesOf(beganAtMs, pages), ttlMs)
      },
    }
    return createGroupCache({ ...deps, lists, reader })
  }
  cache = replica()
})

/** What a read takes until its list is stored. */
const READ_MS = 1000
const slowly = (pages: Partial<ListPages> = {}) => {
  parts.advance(READ_MS)
  return pages
}
const fail = (outcome: PamOutcome) => {
  answer = () => {
    throw new PamFailure(outcome)
  }
}
/** Reads wait until it is called. */
function hold(then: () => Partial<ListPages> = () => ({})): () => void {
  const gate = deferred()
  answer = () => gate.promise.then(then)
  return gate.resolve
}

/**
 * As which outcome a list is counted, or why there is none: the outcome of a PamFailure. Not for
 * concurrent callers.
 */
async function get(ref: ListRef, by = cache, maxAgeMs?: number): Promise<string> {
  try {
    const { list, ageMs, stale } = await by.get(ref, 'request-1', maxAgeMs)
    expect(ageMs).toBe(parts.deps.monotonic() - list.beganAt)
    const [kind, outcome = ''] = (await newlyCounted()).split(' ')
    expect(kind).toBe(ref.kind)
    if (outcome === 'miss' && stale) return 'miss, though not fresh'
    expect(stale).toBe(outcome.startsWith('stale'))
    return outcome
  } catch (error) {
    if (error instanceof PamFailure) return error.outcome
    throw error
  }
}
let counts: Record<string, number> = {}
async function newlyCounted(): Promise<string> {
  const before = counts
  counts = await parts.counted('pam_cache_requests_total')
  return Object.keys(counts).find((name) => counts[name] !== before[name]) ?? 'none'
}
/** Nothing here waits for more than promises, timers apart. */
const isIdle = () => setImmediate()
/** Reads a list that begins now, and lets it become this old. */
async function getAndWait(ref: ListRef, ageMs: number, pages?: Partial<ListPages>): Promise<void> {
  answer = () => slowly(pages)
  await get(ref)
  parts.advance(ageMs - READ_MS)
  answer = () => ({})
  reads = []
}
// shows: D-2.8, D-3.1, D-3.2, D-3.3
test.each<[kind: ListRef['kind'], pages: number, ageMs: number, served: string, afterFailure: string]>([
  ['me', 1, 60_000, 'fresh', 'fresh'],
  ['me', 1, 60_001, 'stale', 'stale'],
  ['me', 3, 60_001, 'stale', 'stale'],
  ['me', 1, 300_000, 'stale', 'stale'],
  ['me', 1, 300_001, 'miss', 'unknown_error'],
  ['directory', 1, 60_000, 'fresh', 'fresh'],
  ['directory', 1, 60_001, 'stale', 'stale'],
  // 60 s for each page, if a refresh can still end before the list is too old
  ['directory', 3, 180_000, 'fresh', 'fresh'],
  ['directory', 3, 180_001, 'stale', 'stale'],
  ['directory', 99, 570_000, 'fresh', 'fresh'],
  ['directory', 99, 570_001, 'stale', 'stale'],
  ['directory', 1, 600_000, 'stale', 'stale'],
  // from here on, the caller waits for the read
  ['directory', 1, 600_001, 'miss', 'stale_on_error'],
  ['directory', 1, 900_000, 'miss', 'stale_on_error'],
  ['directory', 1, 900_001, 'miss', 'unknown_error'],
])('%s, %i pages, at the age of %i ms: %s; if the API fails: %s', async (kind, pages, ageMs, ...expected) => {
  const served: string[] = []
  for (const failure of [undefined, 'unknown_error'] as const) {
    cache = replica({ team: `team of ${failure}` })
    await getAndWait(REFS[kind], ageMs, { asked: Array.from({ length: pages }, (_, n) => `?page=${n}`) })
    if (failure) fail(failure)
    served.push(await get(REFS[kind]))
    await isIdle()
    expect(reads).toHaveLength(served.at(-1) === 'fresh' ? 0 : 1)
  }
  expect(served).toEqual(expected)
})

describe('a read for a caller', () => {
  test.each<[kind: ListRef['kind'], limits: { staleMs: number; onErrorMs: number }]>([
    ['me', { staleMs: LISTS.meOnErrorMs, onErrorMs: LISTS.meOnErrorMs }],
    ['directory', { staleMs: LISTS.staleMs, onErrorMs: LISTS.onErrorMs }],
  ])('is told which list it is (%s), and how long that may be served', async (kind, limits) => {
    const ref = REFS[kind]
    expect(await get(ref)).toBe('miss')
    expect(reads).toMatchObject([{ ref, context: { background: false, requestId: 'request-1' }, limits }])
  })

  test.each<[ageMs: number, maxAgeMs: number, served: string]>([
    [5000, 5000, 'fresh'],
    [5001, 5000, 'miss'],
    [200_000, 200_000, 'stale'],
    [200_001, 200_000, 'miss'],
    [300_001, 900_000, 'miss'],
  ])('of a list that is %i ms old, where at most %i ms are allowed: %s', async (ageMs, maxAgeMs, served) => {
    await getAndWait(ME, ageMs)
    expect(await get(ME, cache, maxAgeMs)).toBe(served)
    if (!served.endsWith('miss')) return
    parts.advance(ageMs)
    fail('unknown_error')
    // the old list is not served instead
    expect(await get(ME, cache, maxAgeMs)).toBe('unknown_error')
  })

  test('is marked as stale if the list is old when it is complete, such as after a rate limit', async () => {
    answer = () => {
      parts.advance(LISTS.freshMs + 1)
      return {}
    }
    expect(await get(ME)).toBe('miss, though not fresh')
  })

  // shows: D-3.3, D-6.4, D-6.5, D-6.13
  test.each<[outcome: PamOutcome, served: string]>([
    ['unknown_error', 'stale_on_error'],
    ['too_many_requests', 'stale_on_error'],
    ['unreadable', 'stale_on_error'],
    ['forbidden_error', 'forbidden_error'],
    ['disabled_team', 'disabled_team'],
    ['unknown_team', 'unknown_team'],
  ])('that fails with %s, while there is an older list: %s', async (outcome, served) => {
    await getAndWait(DIRECTORY, LISTS.staleMs + 1)
    fail(outcome)
    expect(await get(DIRECTORY)).toBe(served)
  })

  test('that fails by a fault of the broker throws that fault', async () => {
    await getAndWait(DIRECTORY, LISTS.staleMs + 1)
    const fault = new TypeError('a fault')
    answer = () => {
      throw fault
    }
    await expect(cache.get(DIRECTORY, 'request-1')).rejects.toBe(fault)
  })

  // shows: D-3.2
  test('that takes too long: all callers get the older list after 2 s, and the new one afterwards', async () => {
    await getAndWait(DIRECTORY, LISTS.staleMs + 1)
    const release = hold()
    const asking = [1, 2].map(() => cache.get(DIRECTORY, 'request-1'))
    await isIdle()
    expect(parts.timers()).toBe(2 + 1) // of the callers, and of the lock
    parts.advance(parts.deps.maxWaitMs)
    expect((await Promise.all(asking)).map(({ stale }) => stale)).toEqual([true, true])
    expect(await parts.counted('pam_cache_requests_total')).toMatchObject({ 'directory stale_on_timeout': 2 })
    release()
    await isIdle()
    expect(await cache.get(DIRECTORY, 'request-1')).toMatchObject({ stale: false })
    expect([reads.length, parts.timers()]).toEqual([1, 0])
  })

  test('that ends in time leaves no timer', async () => {
    await getAndWait(DIRECTORY, LISTS.staleMs + 1)
    expect([await get(DIRECTORY), parts.timers()]).toEqual(['miss', 0])
  })
})

// shows: D-3.2
describe('a refresh in the background', () => {
  const REFRESH_EVERY_MS = 2000

  test('does not hold up the caller; when it has ended, the new list is served', async () => {
    await getAndWait(ME, LISTS.freshMs + 1)
    const release = hold()
    expect([await get(ME), await get(ME)]).toEqual(['stale', 'stale'])
    await isIdle()
    expect(reads).toMatchObject([{ ref: ME, context: { background: true, requestId: 'request-1' } }])
    release()
    await isIdle()
    expect([await get(ME), reads.length]).toEqual(['fresh', 1])
  })

  test.each<[failure: string, outcome: PamOutcome]>([
    ['of the API', 'unknown_error'],
    ['whose policy allows no stale list', 'invalid_request'],
  ])(
    'that ends in a failure %s is tried again after 2 s, for each list by itself',
    async (_what, outcome) => {
      await getAndWait(ME, LISTS.freshMs)
      await get(OTHER_USER)
      parts.advance(LISTS.freshMs)
      reads = []
      fail(outcome)
      expect(await get(ME)).toBe('stale')
      await isIdle()
      parts.advance(REFRESH_EVERY_MS - 1)
      expect([await get(ME), await get(OTHER_USER)]).toEqual(['stale', 'stale'])
      await isIdle()
      parts.advance(1)
      expect([await get(ME), await get(OTHER_USER)]).toEqual(['stale', 'stale'])
      await isIdle()
      expect(reads.map(({ ref }) => ref)).toEqual([ME, OTHER_USER, ME])
    },
  )

  test('that fails does not fail a caller who waits for a list', async () => {
    await getAndWait(ME, LISTS.freshMs + 1)
    const release = hold(() => {
      throw new PamFailure('unknown_error')
    })
    await get(ME)
    await isIdle()
    answer = () => ({})
    const asking = get(ME, cache, 1000)
    release()
    expect(await asking).toBe('miss')
  })
})

// shows: D-6.9
describe('a user whom PAM does not know', () => {
  test('is refused for 60 s without a read, and counted as no served list', async () => {
    answer = () => slowly({ isUnknown: true, groups: [] })
    expect(await get(ME)).toBe('unknown_user')
    parts.advance(UNKNOWN_USER_MS - READ_MS)
    expect([await get(ME), await get(ME, replica()), reads.length]).toEqual([
      'unknown_user',
      'unknown_user',
      1,
    ])
    expect(await parts.counted('pam_cache_requests_total')).toEqual({})
    parts.advance(1)
    fail('unknown_error')
    expect([await get(ME), reads.length]).toEqual(['unknown_error', 2])
    answer = () => ({})
    expect(await get(ME)).toBe('miss')
  })
})

// shows: D-3.5
describe('a read that several callers need', () => {
  test('is one for the callers of a process, and one for each list', async () => {
    const release = hold()
    const asking = [ME, ME, OTHER_USER, DIRECTORY, ME].map((ref) => cache.get(ref, 'request-1'))
    await isIdle()
    release()
    const served = await Promise.all(asking)
    expect(reads.map(({ ref }) => ref)).toEqual([ME, OTHER_USER, DIRECTORY])
    expect(new Set(served.map(({ list }) => list)).size).toBe(3)
  })

  test('is one for all processes: the others wait for its list', async () => {
    const release = hold()
    const asking = get(ME)
    await isIdle()
    const waiting = replica({
      async sleep() {
        release()
        await asking
      },
    })
    expect(await get(ME, waiting)).toBe('miss')
    expect(reads).toHaveLength(1)
  })

  test.each<[kind: ListRef['kind'], ageMs: number, served: string, reads: number]>([
    ['me', LISTS.meOnErrorMs, 'miss, though not fresh', 0],
    ['me', LISTS.meOnErrorMs + 1, 'miss', 1],
    ['directory', LISTS.staleMs, 'miss, though not fresh', 0],
    ['directory', LISTS.staleMs + 1, 'miss', 1],
  ])('is left out if another process has stored one just now: %s, %i ms old: %s', async (...row) => {
    const [kind, ageMs, ...expected] = row
    const ref = REFS[kind]
    await getAndWait(ref, 500 + (ref.kind === 'me' ? LISTS.meOnErrorMs : LISTS.staleMs))
    fail('unknown_error')
    await get(ref) // now the process uses its memory for a second
    answer = () => ({})
    reads = []
    const lists = createListStore(parts.replica())
    const { name } = await lists.find(ref)
    await lists.put(ref, name, pagesOf(parts.now() - ageMs), LISTS.onErrorMs)
    expect([await get(ref), reads.length]).toEqual(expected)
  })
})
