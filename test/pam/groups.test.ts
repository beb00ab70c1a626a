import { expect, test } from '@jest/globals'
import { createGroups } from '../../src/pam/groups.ts'
import { noPages } from '../../src/pam/lists/pages.ts'
import { createTestSession } from './pam-broker.ts'

const SESSION = createTestSession('ada.lindqvist@example.com')
/** The number of cached pages per list. */
const PAGES = 50

test('cached pages are reused, up to the maximum number of pages', async () => {
  const list = {
    ...noPages(),
    beganAt: 0,
    groups: Array.from({ length: PAGES }, (_, n) => ({
      id: `00000000-0000-4000-8000-0000000000${String(n).padStart(2, '0')}`,
      name: `group ${n}`,
      roles: [],
    })),
  }
  const groups = createGroups({
    cache: { get: async () => ({ list, ageMs: 0, stale: false }) },
    userName: { kind: 'login' },
    directory: { kind: 'all' },
  })
  const cacheKeyOf = async (limit: number) => {
    const query = { search: undefined, role: undefined, sort: 'id' as const, cursor: undefined, limit }
    return (await groups.list(SESSION, query, 'request-id')).cacheKey
  }
  const turned = async () => {
    const kept = []
    for (let limit = 1; limit <= PAGES; limit++) kept.push(await cacheKeyOf(limit))
    return kept
  }
  const first = await turned()
  const again = await turned()
  expect(again.filter((page, at) => page !== first[at])).toEqual([])

  await cacheKeyOf(PAGES + 1) // evicts the oldest page
  expect(await cacheKeyOf(1)).not.toBe(first[0])
})
