import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  type FetchPage,
  noPages,
  type PagesOptions,
  readPages as readAllPages,
} from '../../../src/pam/lists/pages.ts'
import type { Group } from '../../../src/pam/upstream/group.ts'
import { PamFailure } from '../../../src/pam/upstream/pam-errors.ts'
import type { UpstreamResponse } from '../../../src/upstream/http-api.ts'

const ORIGIN = 'https://pam.example.test'
const TEAM = 'example-team'
const PATH = `/v1/teams/${TEAM}/groups`
const LIMITS = { maxPages: 20, maxItems: 1000, maxTotalMs: 1000 }
const options = (limits: Partial<PagesOptions['pageLimits']> = {}, monotonic = () => 0): PagesOptions => ({
  origin: ORIGIN,
  team: TEAM,
  pageLimits: { ...LIMITS, ...limits },
  monotonic,
})

const readPages = async (path: string, fetchPage: FetchPage, options: PagesOptions, pages = noPages()) => {
  await readAllPages(path, fetchPage, options, pages)
  return pages.groups
}

const answerOf = (list: unknown, link?: string | string[]): UpstreamResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json', ...(link === undefined ? {} : { link }) },
  json: { list },
  bytes: Buffer.alloc(0),
})
const group = (n: number): Group => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  name: `Group ${n}`,
  roles: ['end_user'],
})

async function read(link: string | string[], limits: Partial<PagesOptions['pageLimits']> = {}) {
  const asked: string[] = []
  const fetchPage = async (path: string) => {
    asked.push(path)
    return answerOf([group(asked.length)], asked.length === 1 ? link : undefined)
  }
  return readPages(PATH, fetchPage, options(limits)).then(
    (groups) => ({ asked, groups: groups.length, reason: undefined }),
    (error: unknown) => {
      if (!(error instanceof PamFailure)) throw error
      return { asked, groups: 0, reason: error.message }
    },
  )
}

// shows: F-7.13, F-7.17, D-2.3, D-2.5, V1.3.6
test.each([
  [`<https://pam.example.test.collector.org${PATH}?o=1>; rel=next`, 'unreadable: link to another origin'],
  [`<https://evilpam.example.test${PATH}?o=1>; rel=next`, 'unreadable: link to another origin'],
  [`<https://evil.pam.example.test${PATH}?o=1>; rel=next`, 'unreadable: link to another origin'],
  [`<http://pam.example.test${PATH}?o=1>; rel=next`, 'unreadable: link to another origin'],
  [`<https://pam.example.test:444${PATH}?o=1>; rel=next`, 'unreadable: link to another origin'],
  [`<//collector.example.org${PATH}?o=1>; rel=next`, 'unreadable: link to another origin'],
  [`<javascript:alert(1)>; rel=next`, 'unreadable: link to another origin'],
  [`<https://svc:pw@pam.example.test${PATH}?o=1>; rel=next`, 'unreadable: link with user info'],
  [`<https://svc@pam.example.test${PATH}?o=1>; rel=next`, 'unreadable: link with user info'],
  [`<https://:pw@pam.example.test${PATH}?o=1>; rel=next`, 'unreadable: link with user info'],
  [`<https://pam.example.test@collector.org${PATH}?o=1>; rel=next`, 'unreadable: link to another origin'],
  [`</v1/teams/other-team/groups?o=1>; rel=next`, 'unreadable: link to another path'],
  [`</v1/Teams/example-team/groups?o=1>; rel=next`, 'unreadable: link to another path'],
  [`<${PATH}/?o=1>; rel=next`, 'unreadable: link to another path'],
  [`<${PATH}/../../other-team/groups?o=1>; rel=next`, 'unreadable: link to another path'],
  [`<${PATH}/%2e%2e/%2e%2e/other-team/groups?o=1>; rel=next`, 'unreadable: link to another path'],
  [`</v1/teams%2Fexample-team/groups?o=1>; rel=next`, 'unreadable: link to another path'],
  [`</v1/teams/%zz/groups?o=1>; rel=next`, 'unreadable: link to another path'],
  [`<${PATH}>; rel=next`, 'unreadable: loop'],
  [`<${PATH}?o=1>; rel=next, <${PATH}?o=2>; rel=next`, 'unreadable: two next pages'],
  [`<${PATH}?o=1>; rel=next; anchor="/elsewhere"`, 'unreadable: next page of something else'],
  [`<${PATH}?o=1>; rel='next'`, 'unreadable: malformed link header'],
  [`<${PATH}?o=1>`, 'unreadable: link without a relation'],
  [`<${PATH}?o=1>; next`, 'unreadable: link without a relation'],
  [`<${PATH}?o=1>; rev=next`, 'unreadable: link without a relation'],
  [[`<${PATH}?p=1>; rel=prev`, `<${PATH}?o=1>; rel='next'`], 'unreadable: malformed link header'],
  [`<http://[oops]:x/>; rel=next`, 'unreadable: not a URL'],
  [`<${PATH}?o=${'x'.repeat(9000)}>; rel=next`, 'unreadable: link header too long'],
  [`<${PATH}?o=${'x'.repeat(9000)}>; rel=prev`, 'unreadable: link header too long'],
])('a link that must not be followed fails the list: %#', async (link, reason) => {
  expect(await read(link)).toEqual({ asked: [PATH], groups: 0, reason })
})

// shows: P-13.3, D-2.2
test.each([
  `<${PATH}?o=1>; rel=next`,
  `<https://pam.example.test:443${PATH}?o=1>; rel="next"`,
  `<HTTPS://PAM.EXAMPLE.TEST${PATH}?o=1>; rel="next"`,
  `</v1/teams/Example-TEAM/groups?o=1>; rel=next`,
  `</v1/teams/%45xample-team/groups?o=1>; rel=next`,
  `<?o=1#part>;rel=next`,
  `<?p=1>; foo, <?o=1>; rel=next`,
  `<?o=1>; type=application/json; rel=next, <?o=1>; rel=next`,
  [`<?p=1>; rel=prev`, `<?o=1>; rel=next`],
])('a valid next link is followed: %#', async (link) => {
  expect(await read(link)).toEqual({ asked: [PATH, `${PATH}?o=1`], groups: 2, reason: undefined })
})

// shows: F-7.11, P-9.6, P-13.3, D-2.2
test.each([
  `<${PATH}?o=1>; rel=prev`,
  '<?o=1>; rel=last; rel=next',
  '<?o=1>; rel="https://example.com/relations/next x.next-1"',
  '',
])('a list without a next link is complete: %j', async (link) => {
  expect(await read(link)).toEqual({ asked: [PATH], groups: 1, reason: undefined })
})

// shows: P-4.1, P-4.2, P-4.3, P-9.5, D-2.5
test.each<[json: unknown, reason: string]>([
  [{ list: {} }, 'no list'],
  [{ list: '' }, 'no list'],
  [{ list: false }, 'no list'],
  [{}, 'no list'],
  [null, 'no list'],
  [undefined, 'no list'],
  [[group(1)], 'no list'],
  [{ list: [null] }, 'group: not an object'],
  [{ list: ['group'] }, 'group: not an object'],
  [{ list: [{ ...group(1), id: 'not-a-uuid' }] }, 'group: id'],
  [{ list: [{ ...group(1), id: `x${group(1).id}` }] }, 'group: id'],
  [{ list: [{ ...group(1), id: `${group(1).id}0` }] }, 'group: id'],
  [{ list: [{ ...group(1), id: [group(1).id] }] }, 'group: id'],
  [{ list: [{ ...group(1), id: undefined }] }, 'group: id'],
  [{ list: [{ ...group(1), name: 7 }] }, 'group: name'],
  [{ list: [{ ...group(1), name: '' }] }, 'group: name'],
  [{ list: [{ ...group(1), roles: 'end_user' }] }, 'group: roles'],
  [{ list: [{ ...group(1), roles: ['end_user', null] }] }, 'group: roles'],
  [{ list: [{ ...group(1), deleted_at: 12 }] }, 'group: deleted_at'],
])('a malformed list is an error, never a shorter list: %j', async (json, reason) => {
  const fetchPage = async () => ({ ...answerOf([]), json })
  const reading = readPages(PATH, fetchPage, options())
  await expect(reading).rejects.toThrow(new PamFailure('unreadable', { reason }))
})

test('null is an empty list, on any page (O4)', async () => {
  const fetchPage = async (path: string) =>
    path.includes('o=2')
      ? answerOf(null, '<?o=3>; rel=next')
      : answerOf(
          path.includes('o=3') ? [group(1)] : null,
          path.includes('o=') ? undefined : '<?o=2>; rel=next',
        )
  expect(await readPages(PATH, async () => answerOf(null), options())).toEqual([])
  expect(await readPages(PATH, fetchPage, options())).toEqual([group(1)])
})

test('ids are in lower case, and missing roles are an empty list', async () => {
  const id = 'ABCDEF00-0000-4000-8000-00000000000A'
  const fetchPage = async () =>
    answerOf([
      { id, name: 'A' },
      { ...group(1), roles: null },
    ])
  expect(await readPages(PATH, fetchPage, options())).toEqual([
    { ...group(1), roles: [] },
    { id: id.toLowerCase(), name: 'A', roles: [] },
  ])
})

// shows: F-7.8, P-4.4, P-7.2, D-5.1
test('deleted_at null, missing, empty or the zero time means not deleted; anything else means deleted', async () => {
  const forms: [unknown, boolean][] = [
    [null, true],
    [undefined, true],
    ['', true],
    ['0001-01-01T00:00:00Z', true],
    ['2025-11-03T09:14:27Z', false],
    ['yesterday', false],
  ]
  const list = forms.map(([deleted_at], n) => ({ ...group(n), deleted_at }))
  const groups = await readPages(PATH, async () => answerOf(list), options())
  expect(groups).toEqual(forms.flatMap(([, alive], n) => (alive ? [group(n)] : [])))
})

// shows: F-7.6, P-9.3, P-13.1, P-13.4, D-2.2
test('any list with any page size is read completely, each group once, in the order of ids', async () => {
  const property = fc.asyncProperty(
    fc.uniqueArray(fc.nat(99_999), { maxLength: 60 }),
    fc.integer({ min: 1, max: 20 }),
    async (numbers, size) => {
      const fetchPage = async (path: string) => {
        const offset = Number(new URL(path, ORIGIN).searchParams.get('offset') ?? 0)
        const next = offset + size < numbers.length ? [`<${PATH}?offset=${offset + size}>; rel=next`] : []
        return answerOf(numbers.slice(offset, offset + size).map(group), [
          ...next,
          `<${PATH}?offset=${offset - size}&prev=true>; rel="prev"`,
        ])
      }
      const groups = await readPages(PATH, fetchPage, options({ maxPages: 100 }))
      expect(groups).toEqual(numbers.sort((one, other) => one - other).map(group))
    },
  )
  await fc.assert(property, { numRuns: 300 })
})

describe('reading a list page by page', () => {
  /** Page `n` has group `n`, and a link to the next page unless it is the last. */
  const pagesUpTo = (last: number, asked: unknown[][] = []) => {
    return async (path: string, timeoutMs: number) => {
      asked.push([path, timeoutMs])
      const n = Number(new URL(path, ORIGIN).searchParams.get('o') ?? 1)
      return answerOf([group(n)], n < last ? `<?o=${n + 1}>; rel=next` : undefined)
    }
  }

  test('each page is requested once, with the remaining time', async () => {
    const asked: unknown[][] = []
    let now = 500
    const groups = await readPages(
      PATH,
      pagesUpTo(3, asked),
      options({ maxTotalMs: 1000 }, () => (now += 100)),
    )
    expect(groups).toEqual([group(1), group(2), group(3)])
    expect(asked).toEqual([
      [PATH, 900],
      [`${PATH}?o=2`, 800],
      [`${PATH}?o=3`, 700],
    ])
  })

  // shows: D-2.4
  test('the limits for pages, groups and link bytes are exact', async () => {
    const link = '<?o=2>; rel=next'.padEnd(2048)
    await expect(readPages(PATH, pagesUpTo(3), options({ maxPages: 3 }))).resolves.toHaveLength(3)
    await expect(readPages(PATH, pagesUpTo(3), options({ maxPages: 2 }))).rejects.toThrow('too many pages')
    await expect(readPages(PATH, pagesUpTo(3), options({ maxItems: 3 }))).resolves.toHaveLength(3)
    await expect(readPages(PATH, pagesUpTo(3), options({ maxItems: 2 }))).rejects.toThrow('too many items')
    expect(await read([link, link])).toMatchObject({ groups: 2 })
    expect(await read([link, `${link} `])).toMatchObject({
      reason: 'unreadable: link header too long',
    })
  })

  test('deleted groups count towards maxItems', async () => {
    const deleted = async () => answerOf([1, 2, 3].map((n) => ({ ...group(n), deleted_at: '2025-11-03' })))
    await expect(readPages(PATH, deleted, options({ maxItems: 3 }))).resolves.toEqual([])
    await expect(readPages(PATH, deleted, options({ maxItems: 2 }))).rejects.toThrow('too many items')
  })

  // shows: D-2.4
  test('with no time left, the read fails and nothing is requested', async () => {
    const asked: unknown[][] = []
    let now = 0
    const late = readPages(
      PATH,
      pagesUpTo(1, asked),
      options({ maxTotalMs: 100 }, () => (now += 100)),
    )
    await expect(late).rejects.toThrow('no_answer: the list took too long')
    expect(asked).toEqual([])
  })

  test('a group that is listed twice is returned once, in its last version', async () => {
    const renamed = { ...group(1), name: 'Renamed' }
    const lists = [[group(1), group(2)], [renamed]]
    const fetchPage = async () => {
      const list = lists.shift()
      return answerOf(list, lists.length > 0 ? '<?o=2>; rel=next' : undefined)
    }
    expect(await readPages(PATH, fetchPage, options())).toEqual([renamed, group(2)])
  })

  test('after a failed page, a later call continues after the pages that were read', async () => {
    const asked: unknown[][] = []
    const pages = pagesUpTo(3, asked)
    const read = noPages()
    const failing = async (path: string, timeoutMs: number) => {
      if (path.endsWith('?o=3')) throw new PamFailure('too_many_requests')
      return pages(path, timeoutMs)
    }
    await expect(readPages(PATH, failing, options(), read)).rejects.toThrow('too_many_requests')
    expect(read).toEqual({
      version: 1,
      beganAtMs: 0,
      next: '?o=3',
      asked: ['', '?o=2'],
      items: 2,
      groups: [group(1), group(2)],
    })
    expect(await readPages(PATH, pages, options(), read)).toEqual([group(1), group(2), group(3)])
    expect(asked.map(([path]) => path)).toEqual([PATH, `${PATH}?o=2`, `${PATH}?o=3`])
  })

  // shows: P-12.9, D-6.10
  test('a later page that does not exist causes one new read from the first page', async () => {
    const asked: unknown[][] = []
    let gone = 1
    const fetchPage = async (path: string, timeoutMs: number) => {
      const answer = await pagesUpTo(3, asked)(path, timeoutMs)
      if (path.endsWith('?o=3') && gone-- > 0) throw new PamFailure('page_gone')
      return answer
    }
    expect(await readPages(PATH, fetchPage, options())).toEqual([group(1), group(2), group(3)])
    expect(asked).toHaveLength(6)

    gone = 2
    await expect(readPages(PATH, fetchPage, options())).rejects.toThrow('page_gone')
    expect(asked).toHaveLength(12)
  })

  test('other failures and errors do not cause a new read', async () => {
    let calls = 0
    for (const error of [new PamFailure('unknown_error'), new TypeError('page_gone')]) {
      const failing = async () => {
        calls += 1
        throw error
      }
      await expect(readPages(PATH, failing, options())).rejects.toBe(error)
    }
    expect(calls).toBe(2)
  })
})
