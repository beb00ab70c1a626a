import { expect, test } from '@jest/globals'
import type { Group } from '../../src/pam/upstream/group.ts'
import { usePamHarness } from './pam-harness.ts'

const harness = usePamHarness(({ pam }) => {
  for (const { name, deletedAt } of pam.control.groups())
    if (deletedAt === undefined) pam.control.deleteGroup(name)
})

const id = (n: number) => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`
/** Adds groups with these names. Their ids descend, so that the two orders differ. */
const put = (...names: string[]) => {
  for (const [n, name] of names.entries()) harness.pam.control.putGroup({ id: id(99 - n), name })
}
const get = (query: string) => harness.broker.get(`/api/v1/pam/groups?${query}`)
const list = async (query: string) => (await get(query)).body.list as Group[]

async function walk(query: string, between: () => void = () => {}): Promise<string[]> {
  const names: string[] = []
  for (let cursor: unknown = ''; cursor !== null; ) {
    const { status, body } = await get(`${query}&cursor=${cursor}`)
    expect(status).toBe(200)
    names.push(...(body.list as Group[]).map(({ name }) => name))
    cursor = body.nextCursor
    if (cursor !== null) between()
  }
  return names
}

test('sort=name sorts by name, ignoring case, independently of the locale', async () => {
  put('b', 'Zebra', 'a', 'B', 'ähnlich', 'A team', 'Äpfel', 'a-team', '10', '9')
  expect(await walk('sort=name')).toEqual([
    '10',
    '9',
    'a',
    'A team',
    'a-team',
    'B',
    'b',
    'Zebra',
    'ähnlich',
    'Äpfel',
  ])
  expect(await walk('sort=id')).toEqual(await walk(''))
})

test('groups with equal names are sorted by id', async () => {
  harness.pam.faults.set({
    kind: 'status',
    status: 200,
    path: '/v1/teams/example-team/groups',
    body: { list: [3, 1, 2].map((n) => ({ id: id(n), name: n === 1 ? 'ops' : 'OPS', roles: [] })) },
  })
  expect((await list('sort=name')).map((group) => group.id)).toEqual([id(1), id(2), id(3)])
  expect((await list('sort=name&limit=1')).map((group) => group.id)).toEqual([id(1)])
})

test.each([1, 2, 7, 100])('pages of %i contain every group once, in order', async (limit) => {
  harness.pam.control.generateGroups(30)
  put('Ünïcode / ?&=#', 'zz', 'generated', `${'long name '.repeat(100)}`)
  const all = await walk('sort=name&limit=1000')
  expect(all).toHaveLength(34)
  expect(await walk(`sort=name&limit=${limit}`)).toEqual(all)
})

test.each([
  ['name', ['a', 'b', 'c', 'd', 'e', 'f']],
  ['id', ['f', 'e', 'd', 'c', 'b', 'a']],
])(
  'paging by %s through a changing list neither skips nor repeats the groups that remain',
  async (sort, order) => {
    put('a', 'b', 'c', 'd', 'e', 'f')
    let changes = 0
    const names = await walk(`sort=${sort}&limit=2`, () => {
      changes += 1
      // the group of the cursor
      if (changes === 1) harness.pam.control.deleteGroup(String(order[1]))
      harness.pam.control.putGroup({ id: id(changes), name: `a${changes}` }) // before the cursor
      harness.advance(901_000)
    })
    expect(names).toEqual(order)
  },
)

test('a cursor of the other order, or a forged one, is refused', async () => {
  put('a', 'b', 'c')
  const ofName = (await get('sort=name&limit=1')).body.nextCursor
  const ofId = (await get('limit=1')).body.nextCursor
  for (const query of [
    `cursor=${ofName}`,
    `sort=id&cursor=${ofName}`,
    `sort=name&cursor=${ofId}`,
    'sort=name&cursor=bmFtZQ',
    `sort=name&cursor=${ofName}x`,
    'sort=name&cursor=~',
    `sort=name&cursor=${'x'.repeat(5000)}`,
  ]) {
    const { status, body } = await get(query)
    expect([status, body.errorSummary]).toEqual([400, 'Api validation failed: cursor'])
  }
})
