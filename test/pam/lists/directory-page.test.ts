import { describe, expect, test } from '@jest/globals'
import {
  type PageQuery,
  parseCursor,
  type Sort,
  selectGroups,
} from '../../../src/pam/lists/directory-page.ts'
import type { GroupList } from '../../../src/pam/lists/list-store.ts'
import type { Group } from '../../../src/pam/upstream/group.ts'
import { groupOf } from './list-parts.ts'

const listOf = (groups: readonly Group[]): GroupList => ({
  version: 1,
  beganAtMs: 0,
  beganAt: 0,
  asked: [''],
  items: groups.length,
  groups: [...groups],
  roles: [],
  maximalRoles: [],
  unknownRoles: [],
})
const select = (groups: readonly Group[], query: Partial<PageQuery> = {}) =>
  selectGroups(listOf(groups), { sort: 'id', limit: 1000, ...query })
const namesOf = (groups: readonly Group[], query: Partial<PageQuery> = {}) =>
  select(groups, query).list.map(({ name }) => name)
/** The ids ascend in the given order. */
const named = (...names: string[]) => names.map((name, n) => groupOf(n, { name }))

describe('the filters', () => {
  test.each<[search: string | undefined, found: string[]]>([
    [undefined, ['Linux Admins', 'LINUX OPS', 'Zürich', 'Office ①']],
    ['', ['Linux Admins', 'LINUX OPS', 'Zürich', 'Office ①']],
    ['linux', ['Linux Admins', 'LINUX OPS']],
    ['x OP', ['LINUX OPS']],
    ['ZU\u0308RICH', ['Zürich']],
    ['ｏｆｆｉｃｅ 1', ['Office ①']],
    ['zurich', []],
    [' linux', []],
    ['x.*', []],
  ])('search=%j is a part of the name in any letter case and Unicode form', (search, found) => {
    expect(namesOf(named('Linux Admins', 'LINUX OPS', 'Zürich', 'Office ①'), { search })).toEqual(found)
  })

  test.each<[role: string | undefined, found: string[]]>([
    [undefined, ['none', 'one', 'two']],
    ['end_user', ['one', 'two']],
    ['pam_admin', ['two']],
    ['security_admin', []],
    ['admin', []],
  ])('role=%j finds the groups that grant exactly this role', (role, found) => {
    const groups = [
      groupOf(1, { name: 'none' }),
      groupOf(2, { name: 'one', roles: ['end_user'] }),
      groupOf(3, { name: 'two', roles: ['pam_admin', 'end_user'] }),
    ]
    expect(namesOf(groups, { role })).toEqual(found)
  })

  test('a group is listed if it satisfies both', () => {
    const [linux, ops] = [{ name: 'linux' }, { name: 'ops' }]
    const roles = ['end_user']
    const groups = [groupOf(1, linux), groupOf(2, { ...linux, roles }), groupOf(3, { ...ops, roles })]
    expect(select(groups, { search: 'linux', role: 'end_user' }).list).toEqual([groups[1]])
  })
})

describe('the order', () => {
  test.each<[order: string, sort: Sort, given: Group[], sorted: string[]]>([
    ['by id', 'id', [groupOf(2, { name: 'a' }), groupOf(1, { name: 'b' })], ['b', 'a']],
    ['by name', 'name', named('b', 'c', 'a'), ['a', 'b', 'c']],
    ['in any letter case', 'name', named('b', 'C', 'A', 'd'), ['A', 'b', 'C', 'd']],
    [
      'by code units in lower case',
      'name',
      named('ä', 'z', 'a-b', 'a b', '_', '10', '9'),
      ['10', '9', '_', 'a b', 'a-b', 'z', 'ä'],
    ],
    ['in any Unicode form', 'name', named('①c', '1b', '①a'), ['①a', '1b', '①c']],
    [
      'a name before its continuations',
      'name',
      named('ops!', 'ops', 'ops\u0001'),
      ['ops', 'ops\u0001', 'ops!'],
    ],
    ['equal names by id', 'name', [groupOf(2, { name: 'OPS' }), groupOf(1, { name: 'ops' })], ['ops', 'OPS']],
    [
      'only the beginning of a long name',
      'name',
      named(`${'x'.repeat(200)}b`, `${'x'.repeat(200)}a`),
      ['b', 'a'],
    ],
    ['the whole of that beginning', 'name', named(`${'x'.repeat(199)}b`, `${'x'.repeat(199)}a`), ['a', 'b']],
  ])('%s', (_order, sort, given, sorted) => {
    expect(namesOf(given, { sort }).map((name) => name.replace(/^x+/, ''))).toEqual(sorted)
  })

  test('is found once for a list and a sort, however many pages are read', () => {
    const list = listOf(named('b', 'a'))
    let reads = 0
    const counted: GroupList = Object.defineProperty({ ...list }, 'groups', {
      get() {
        reads += 1
        return list.groups
      },
    })
    for (const sort of ['name', 'name', 'id', 'id', 'name'] as const)
      expect(selectGroups(counted, { sort, limit: 1 }).list).toEqual([list.groups[sort === 'id' ? 0 : 1]])
    expect(reads).toBe(2)
  })

  test('leaves the list as it is', () => {
    const groups = named('b', 'a')
    const list = listOf(groups)
    selectGroups(list, { sort: 'name', limit: 1 })
    expect(list.groups).toEqual(groups)
  })
})

describe('the pages', () => {
  /** The names of each page, until there is no next one. */
  function walk(query: Partial<PageQuery>, groupsOf: (page: number) => readonly Group[]): string[][] {
    const pages: string[][] = []
    for (let cursor: string | null | undefined; cursor !== null && pages.length < 20; ) {
      const { list, nextCursor } = select(groupsOf(pages.length), { ...query, cursor })
      pages.push(list.map(({ name }) => name))
      cursor = nextCursor
    }
    return pages
  }

  test.each<[limit: number, pages: string[][]]>([
    [1, [['a'], ['b'], ['c']]],
    [2, [['a', 'b'], ['c']]],
    [3, [['a', 'b', 'c']]],
    [4, [['a', 'b', 'c']]],
  ])('of %i have every group once, and only the last page has no next one', (limit, pages) => {
    for (const sort of ['id', 'name'] as const)
      expect(walk({ sort, limit }, () => named('a', 'b', 'c'))).toEqual(pages)
  })

  test.each<[query: Partial<PageQuery>]>([[{ search: 'a' }], [{ role: 'end_user' }]])(
    'of the groups that %j finds',
    (query) => {
      const found = ['a1', 'a2', 'a3'].map((name, n) => groupOf(2 * n, { name, roles: ['end_user'] }))
      const others = ['b1', 'b2'].map((name, n) => groupOf(2 * n + 1, { name }))
      expect(walk({ ...query, limit: 2 }, () => [...found, ...others])).toEqual([['a1', 'a2'], ['a3']])
    },
  )

  test.each<Sort>(['id', 'name'])(
    'by %s neither skip nor repeat a group while others come and go',
    (sort) => {
      const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name, n) => groupOf(10 + n, { name }))
      const early = groupOf(1, { name: 'A' })
      const before = [a, b, c, d, e].filter((group) => group !== undefined)
      const after = [early, ...before].filter((group) => group !== b) // the group of the cursor
      expect(walk({ sort, limit: 2 }, (page) => (page === 0 ? before : after))).toEqual([
        ['a', 'b'],
        ['c', 'd'],
        ['e'],
      ])
    },
  )

  test('are none in an empty list', () => {
    expect(select([])).toEqual({ list: [], nextCursor: null })
  })
})

describe('a cursor', () => {
  const cursorOf = (sort: Sort, name = 'a') =>
    String(select(named(name, `${name}z`), { sort, limit: 1 }).nextCursor)

  test.each<[sort: Sort, name: string]>([
    ['id', 'a'],
    ['name', 'a'],
    ['name', 'Zürich \ud83d\ude80 ?&=#'],
    ['name', 'half a surrogate pair \ud83d'],
  ])('by %s after %j continues with the next group', (sort, name) => {
    const cursor = cursorOf(sort, name)
    expect(cursor).toMatch(/^[\w-]+$/)
    expect(parseCursor(sort, cursor)).toBeDefined()
    expect(namesOf(named(name, `${name}z`), { sort, cursor })).toEqual([`${name}z`])
  })

  test('of a long name is short', () => {
    expect(cursorOf('name', 'x'.repeat(100_000)).length).toBeLessThan(1000)
  })

  test.each<[what: string, sort: Sort, cursor: () => string]>([
    ['of the other order, by id', 'name', () => cursorOf('id')],
    ['of the other order, by name', 'id', () => cursorOf('name')],
    ['with more at its end', 'name', () => `${cursorOf('name')}x`],
    ['in another encoding', 'name', () => Buffer.from('name a').toString('base64url')],
    ['that is no base64', 'id', () => '~'],
    ['that is empty', 'id', () => ''],
  ])('%s is none, and the list begins at its first page', (_what, sort, cursor) => {
    expect(parseCursor(sort, cursor())).toBeUndefined()
    expect(namesOf(named('a', 'b'), { sort, cursor: cursor() })).toEqual(['a', 'b'])
  })
})
