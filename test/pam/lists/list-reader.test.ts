import { beforeEach, describe, expect, test } from '@jest/globals'
import { createListReader, type ListReader, UNKNOWN_USER_MS } from '../../../src/pam/lists/list-reader.ts'
import { createListStore, type ListStore } from '../../../src/pam/lists/list-store.ts'
import type { ListRef } from '../../../src/pam/upstream/group.ts'
import type { PamRequest } from '../../../src/pam/upstream/pam-call.ts'
import { PamFailure, type PamOutcome } from '../../../src/pam/upstream/pam-errors.ts'
import {
  createListParts,
  DIRECTORY,
  groupOf,
  LISTS,
  type ListParts,
  ME,
  OTHER_USER,
  pagesOf,
} from './list-parts.ts'

const TEAM_DISABLED_MS = 5 * 60_000
const LIMITS = { staleMs: LISTS.staleMs, onErrorMs: LISTS.onErrorMs }
const CONTEXT = { background: false, requestId: 'request-1' }
const REFS: readonly ListRef[] = [ME, DIRECTORY]

/** One process: its lists, and its reader of them. */
interface Replica {
  readonly lists: ListStore
  readonly reader: ListReader
}

let parts: ListParts
let replica: () => Replica
let ours: Replica
let theirs: Replica
/** What is sent to the API, in order. */
let sent: PamRequest[]
/** The number of pages of its lists. */
let lastPage: number
/** Runs before a page is answered. May throw the failure of the call. */
let beforePage: (n: number, request: PamRequest) => void

beforeEach(() => {
  parts = createListParts()
  sent = []
  lastPage = 1
  beforePage = () => {}
  replica = () => {
    const deps = parts.replica()
    const lists = createListStore(deps)
    return { lists, reader: createListReader({ ...deps, lists, call }) }
  }
  ours = replica()
  theirs = replica()
})

async function call(request: PamRequest) {
  sent.push(request)
  const n = Number(request.path.split('?page=')[1] ?? 1)
  beforePage(n, request)
  const headers = n < lastPage ? { link: `<?page=${n + 1}>; rel=next` } : {}
  return { status: 200, headers, json: { list: [groupOf(n)] }, bytes: Buffer.alloc(0) }
}

function failAt(page: number, failure: Error) {
  beforePage = (n) => {
    if (n === page) throw failure
  }
}

const read = async (ref: ListRef, { lists, reader } = ours, { limits = LIMITS, context = CONTEXT } = {}) =>
  reader.read(ref, await lists.find(ref), context, limits)
const find = async (ref: ListRef, { lists } = ours) => (await lists.find(ref)).list
/** Of a read that fails. */
async function outcomeOf(reading: Promise<unknown>): Promise<PamOutcome> {
  const failure = await reading.catch((error: unknown) => error)
  if (failure instanceof PamFailure) return failure.outcome
  throw new Error('the read did not fail', { cause: failure })
}

describe('a read', () => {
  test('is of all pages; afterwards every process finds the list', async () => {
    lastPage = 2
    const list = await read(DIRECTORY)
    expect(list.groups).toEqual([groupOf(1), groupOf(2)])
    expect(await find(DIRECTORY)).toBe(list)
    expect(await find(DIRECTORY, theirs)).toEqual(list)
    expect(await parts.counted('pam_pages_fetched_total')).toEqual({ directory: 2 })
  })

  test('is stored for as long as the list may be served after an error', async () => {
    await read(ME)
    parts.advance(LIMITS.onErrorMs - 1)
    expect(await find(ME, replica())).toBeDefined()
    parts.advance(1)
    expect(await find(ME, replica())).toBeUndefined()
  })

  // shows: D-2.1, D-2.7, D-5.2
  test.each<[path: string, subject: string, lowPriority: boolean, ref: ListRef]>([
    ['users/zo%C3%AB%2Fb%40example.com/groups', 'user', false, { kind: 'me', user: 'zoë/b@example.com' }],
    ['groups', 'team', true, DIRECTORY],
  ])('requests %s, about the %s, with low priority: %j', async (path, subject, lowPriority, ref) => {
    lastPage = 2
    const context = { background: true, requestId: 'request-2' }
    await read(ref, ours, { context })
    const common = { ...context, lowPriority }
    expect(sent).toMatchObject([
      { ...common, path: `/v1/teams/example-team/${path}`, subject },
      { ...common, path: `/v1/teams/example-team/${path}?page=2`, subject: 'later_page' },
    ])
  })

  // shows: D-2.4, D-4.6
  test('has one budget for the waits of all its calls, and one time for the whole list', async () => {
    lastPage = 2
    const left: unknown[] = []
    beforePage = (_n, { budget, timeoutMs }) => {
      left.push([budget?.leftMs, timeoutMs])
      if (budget) budget.leftMs -= 500
      parts.advance(700)
    }
    await read(ME)
    const { maxWaitMs, pageLimits } = parts.deps
    expect(left).toEqual([
      [maxWaitMs, pageLimits.maxTotalMs],
      [maxWaitMs - 500, pageLimits.maxTotalMs - 700],
    ])
  })

  test('is as old as the request of its first page, by the clock of the API', async () => {
    lastPage = 2
    const began = { beganAtMs: parts.now(), beganAt: parts.deps.monotonic() }
    beforePage = () => parts.advance(700)
    expect(await read(ME)).toMatchObject(began)
  })
})

describe('the state of the API', () => {
  test('is unknown until a read of this process has ended', async () => {
    expect(ours.reader.state()).toBe('unknown')
    await read(ME)
    expect([ours.reader.state(), theirs.reader.state()]).toEqual(['ok', 'unknown'])
  })

  const CASES: [outcome: PamOutcome, state: string][] = [
    ['unknown_user', 'ok'],
    ['unknown_error', 'failing'],
    ['no_answer', 'failing'],
    ['forbidden_error', 'failing'],
    ['unreadable', 'failing'],
    ['page_gone', 'failing'],
    // they show nothing about the API
    ['too_many_requests', 'unknown'],
    ['held_back', 'unknown'],
  ]
  test.each(CASES)('after %s is %s', async (outcome, state) => {
    failAt(1, new PamFailure(outcome))
    await read(ME).catch(() => {})
    expect(ours.reader.state()).toBe(state)
  })

  test('is that before a rate limit or an open circuit breaker', async () => {
    await read(ME)
    for (const outcome of ['too_many_requests', 'held_back'] as const) {
      failAt(1, new PamFailure(outcome))
      expect(await outcomeOf(read(ME))).toBe(outcome)
      expect(ours.reader.state()).toBe('ok')
    }
  })

  test('is not changed by a fault of the broker', async () => {
    const fault = new TypeError('a fault')
    failAt(1, fault)
    await expect(read(ME)).rejects.toBe(fault)
    expect(ours.reader.state()).toBe('unknown')
  })
})

describe('after a read that failed at its third page', () => {
  /** The numbers of the pages that a further read requests. */
  async function pagesOfNextRead(ref: ListRef, by = theirs, limits = LIMITS): Promise<number[]> {
    beforePage = () => {}
    sent = []
    expect((await read(ref, by, { limits })).groups).toEqual([groupOf(1), groupOf(2), groupOf(3)])
    return sent.map(({ path }) => Number(path.split('?page=')[1] ?? 1))
  }
  const interrupt = async (ref: ListRef, outcome: PamOutcome = 'too_many_requests') => {
    failAt(3, new PamFailure(outcome))
    expect(await outcomeOf(read(ref))).toBe(outcome)
  }
  beforeEach(() => {
    lastPage = 3
  })

  // shows: D-2.6, D-6.10
  test.each<[outcome: PamOutcome, pages: number[]]>([
    ['too_many_requests', [3]],
    ['held_back', [3]],
    ['no_answer', [3]],
    ['unknown_error', [3]],
    // the pages are not of one list, or do not lead to its end
    ['page_gone', [1, 2, 3]],
    ['unreadable', [1, 2, 3]],
    // without a right to the list, nothing of it is kept
    ['forbidden_error', [1, 2, 3]],
    ['resource_deprecated', [1, 2, 3]],
  ])('because of %s, another process reads the pages %j', async (outcome, pages) => {
    for (const ref of REFS) {
      await interrupt(ref, outcome)
      expect(await pagesOfNextRead(ref)).toEqual(pages)
    }
  })

  test.each<[outcome: PamOutcome]>([['page_gone'], ['forbidden_error']])(
    'and then because of %s, nothing of the first read is used',
    async (outcome) => {
      await interrupt(ME)
      await interrupt(ME, outcome)
      expect(await pagesOfNextRead(ME)).toEqual([1, 2, 3])
    },
  )

  test('the list is as old as the request of the first page, which the earlier read sent', async () => {
    const began = { beganAtMs: parts.now(), beganAt: parts.deps.monotonic() }
    await interrupt(ME)
    parts.advance(10_000)
    beforePage = () => {}
    expect(await read(ME, theirs)).toMatchObject({ ...began, asked: ['', '?page=2', '?page=3'] })
  })

  // shows: D-2.6
  test.each([
    ['before the list would be too old to be served during a refresh', LIMITS.staleMs - 1, [3]],
    ['then', LIMITS.staleMs, [1, 2, 3]],
  ])('%s (%i ms), a further read requests the pages %j', async (_when, afterMs, pages) => {
    await interrupt(ME)
    parts.advance(afterMs)
    expect(await pagesOfNextRead(ME)).toEqual(pages)
  })

  test('a list that is served for a shorter time is read from the first page', async () => {
    await interrupt(ME)
    parts.advance(5000)
    const limits = { ...LIMITS, staleMs: 5000 }
    expect(await pagesOfNextRead(ME, theirs, limits)).toEqual([1, 2, 3])
  })

  test('a list that was put meanwhile is newer than the pages: all are read', async () => {
    await interrupt(ME)
    const { name } = await theirs.lists.find(ME)
    await theirs.lists.put(ME, name, pagesOf(parts.now()), LIMITS.onErrorMs)
    expect(await pagesOfNextRead(ME)).toEqual([1, 2, 3])
  })

  test('the pages are of one list, and no other is made of them', async () => {
    await interrupt(ME)
    expect(await pagesOfNextRead(OTHER_USER)).toEqual([1, 2, 3])
    expect(await pagesOfNextRead(DIRECTORY)).toEqual([1, 2, 3])
  })

  test('a purge discards the pages', async () => {
    await interrupt(ME)
    await theirs.lists.purge(ME)
    expect(await pagesOfNextRead(ME)).toEqual([1, 2, 3])
  })

  test('a read that failed at its first page stores nothing', async () => {
    failAt(1, new PamFailure('too_many_requests'))
    await outcomeOf(read(ME))
    expect(parts.keys(':pam-groups:')).toEqual([])
  })
})

describe('a user whom PAM does not know', () => {
  // shows: D-6.9
  test('is remembered for 60 s by every process', async () => {
    failAt(1, new PamFailure('unknown_user'))
    parts.advance(3000)
    const unknown = { isUnknown: true, groups: [], beganAtMs: parts.now() }
    expect(await read(ME)).toMatchObject(unknown)
    expect(await find(ME, theirs)).toMatchObject(unknown)
    parts.advance(UNKNOWN_USER_MS - 1)
    expect(await find(ME, replica())).toMatchObject(unknown)
    parts.advance(1)
    expect(await find(ME, replica())).toBeUndefined()
  })
})

describe('a refusal', () => {
  const all = [ME, OTHER_USER, DIRECTORY]
  // shows: D-6.4, D-6.5, D-6.8
  test.each<[outcome: PamOutcome, what: string, kept: ListRef[]]>([
    ['forbidden_error', 'this list', [OTHER_USER, DIRECTORY]],
    ['authorization_error', 'this list', [OTHER_USER, DIRECTORY]],
    ['disabled_team', 'all lists', []],
    ['unknown_error', 'nothing', all],
    ['invalid_request', 'nothing', all],
  ])('%s deletes %s, for every process', async (outcome, _what, kept) => {
    for (const ref of all) await read(ref)
    failAt(1, new PamFailure(outcome))
    expect(await outcomeOf(read(ME))).toBe(outcome)
    for (const by of [ours, replica()])
      for (const ref of all)
        expect([ref, (await find(ref, by)) !== undefined]).toEqual([ref, kept.includes(ref)])
  })

  // shows: D-6.8
  test('because the team is disabled: for 5 min, no process asks for any list', async () => {
    failAt(1, new PamFailure('disabled_team'))
    await outcomeOf(read(ME))
    beforePage = () => {}
    sent = []
    parts.advance(TEAM_DISABLED_MS - 1)
    for (const by of [ours, theirs])
      for (const ref of REFS) expect(await outcomeOf(read(ref, by))).toBe('disabled_team')
    expect(sent).toEqual([])
    parts.advance(1)
    expect((await read(ME, theirs)).groups).toEqual([groupOf(1)])
  })
})

describe('the log', () => {
  const invalid = () => parts.logLines().filter(({ event }) => event === 'pam_response_invalid')

  test('names a response that cannot be read, once, and counts it', async () => {
    lastPage = 2
    failAt(2, new PamFailure('unreadable', { reason: 'no list' }))
    for (const ref of REFS) expect(await outcomeOf(read(ref))).toBe('unreadable')
    const line = { level: 'error', requestId: 'request-1', upstream: 'pam' }
    expect(invalid()).toMatchObject([
      { ...line, operation: 'me' },
      { ...line, operation: 'directory' },
    ])
    expect(await parts.counted('pam_errors_total')).toEqual({ unreadable: 2 })
  })

  test.each<[what: string, failure: Error]>([
    ['the API', new PamFailure('unknown_error')],
    ['a later page', new PamFailure('page_gone')],
    ['the broker', new TypeError('a fault')],
  ])('has no further line after a failure of %s', async (_what, failure) => {
    failAt(1, failure)
    await expect(read(ME)).rejects.toBe(failure)
    expect([invalid(), await parts.counted('pam_errors_total')]).toEqual([[], {}])
  })
})
